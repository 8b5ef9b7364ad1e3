import pytest

from polyfold.experiments import demo

pytest.importorskip("matplotlib")


def test_demo_prints_a_table_and_writes_a_report(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(demo, "M", 3)
    monkeypatch.setattr(demo, "RANK", 60)
    monkeypatch.setattr(demo, "GRID", (0.0, 0.8, 0.99))
    path = demo.run_demo(tmp_path)
    printed = capsys.readouterr().out
    for method in ("Partition", "Bootstrap", "Random", "Monolithic", "Modular"):
        assert method in printed
    assert path.read_text().count("<img") == 4
