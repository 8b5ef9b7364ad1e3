import pytest

from polyfold.experiments import demo

pytest.importorskip("PIL")


def test_demo_prints_four_tables_and_writes_one_page(tmp_path, capsys, monkeypatch):
    small = {"M": 3, "H": 4, "RANK": 60, "GRID": (0.0, 0.8), "CHOICES": (0.9,), "CLUSTERINGS": 20, "ROLL": 400}
    for name, value in small.items():
        monkeypatch.setattr(demo, name, value)
    path = demo.run_demo(tmp_path)
    printed = capsys.readouterr().out
    for method in (
        *demo.BASELINES,
        "Modular",
        "k-means",
        "bootstrap",
        "plain",
        "non-redundant",
        "PCA",
        "3 modules of 4",
    ):
        assert method in printed
    assert path.stat().st_size < 5_000_000
