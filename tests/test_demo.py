import pytest
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from polyfold import demo

pytest.importorskip("PIL")


def test_demo_prints_four_tables_and_writes_one_page(tmp_path, capsys, monkeypatch):
    small = {"M": 3, "H": 4, "RANK": 60, "GRID": (0.0, 0.8), "CHOICES": (0.9,), "CLUSTERINGS": 20, "ROLL": 400}
    digits = load_digits()
    few = Bunch(**{name: digits[name][:300] for name in ("data", "target", "images")})
    for name, value in {**small, "load_digits": lambda: few}.items():
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
