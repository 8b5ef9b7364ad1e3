import numpy as np

from polyfold.experiments import reeve2018


def test_table_holds_every_method_beside_the_paper(capsys, monkeypatch, rng):
    monkeypatch.setattr(reeve2018, "M", 3)
    monkeypatch.setattr(reeve2018, "H", 4)
    monkeypatch.setattr(reeve2018, "GRID", (0.0, 0.9))
    y = np.arange(240) % 3
    X = rng.standard_normal((240, 16)) + 2 * y[:, None]
    figures = reeve2018.run_set("MNIST", X, y, 200)
    assert set(figures) == {"Partition", "Bootstrap", "Random", "Monolithic", "MBM", "best λ", "curve"}
    assert figures["MBM"]["accuracy, %"] > 80
    assert "(76.6)" in capsys.readouterr().out


def test_every_set_has_its_figures_of_the_paper():
    assert set(reeve2018.SETS) == set(reeve2018.PAPER_PRECISION) == set(reeve2018.PAPER_ACCURACY)
