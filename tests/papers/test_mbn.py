"""What the experiments of the bootstrap paper are given: layers as printed, equally many digits, whole topics."""

import numpy as np

from papers.cells import Cell, Cells, name_of
from papers.mbn.digits import best_rival, rival
from papers.mbn.sets import TABLE_7, TABLE_8, load_set
from papers.mbn.settings import LAST, draw_digits, halved, network, shown
from papers.mbn.text import REUTERS, load_text, text_layers


def test_layers_are_those_that_the_paper_prints():
    assert text_layers(500) == [500, 250, 125]
    assert text_layers(2000) == [2000, 1000, 500, 250, 125]
    assert halved(8000, LAST) == [8000, 4000, 2000, 1000, 500, 250, 125, 62, 31, 15]


def test_a_network_leaves_no_choice_to_the_library():
    assert "auto" not in [network(2, 10).get_params()[name] for name in ("n_clusterings", "feature_fraction", "metric")]


def test_digits_are_drawn_evenly_and_tests_are_others(data):
    (X, y), (Q, y_test) = draw_digits(data, 80, 30, seed=0)
    assert np.bincount(y).tolist() == [20, 20, 20, 20]
    assert len(Q) == len(y_test) == 30
    assert not {row.tobytes() for row in X} & {row.tobytes() for row in Q}


def test_documents_have_norm_one_and_at_most_so_many_terms(data):
    X, y = load_text(data, REUTERS, 10)
    assert X.shape == (len(y), 10)
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1.0)


def test_missing_ages_take_a_value(data):
    X, _ = load_set(data, "Dermatology", seed=0)
    assert np.isfinite(X).all()


def test_both_tables_name_the_same_sets_and_gaps():
    assert list(TABLE_7) == list(TABLE_8)
    assert all(
        (a is None) == (b is None) for name in TABLE_7 for a, b in zip(TABLE_7[name], TABLE_8[name], strict=True)
    )


def test_share_within_classes_is_zero_where_classes_are_points():
    y = np.array([0, 0, 1, 1])
    assert shown(np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0], [2.0, 0.0]]), y)["within"] == 0
    assert shown(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [2.0, 0.0]]), y)["within"] == 100


def test_a_rival_takes_its_best_parameter():
    cells = [
        Cell(name_of(rival), {"method": "LLE", "parameter": p, "seed": s}, {"nmi": [10.0 * p + s]}, 0.0, 0.0)
        for p in (1, 2)
        for s in (0, 1)
    ]
    assert best_rival(Cells(cells), "LLE", 0) == [20.0, 21.0]
    assert best_rival(Cells(cells), "Isomap", 0) == []
