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


def test_only_the_best_figures_are_set_off():
    rivals = {"one": dict(zip(demo.COLUMNS, (90.0, 60.0, 98.01), strict=True))}
    modular = dict(zip(demo.COLUMNS, (89.0, 80.0, 98.04), strict=True))
    assert demo.best_cells(rivals, modular) == [(0, 1), (0, 3), (1, 2), (1, 3)]
