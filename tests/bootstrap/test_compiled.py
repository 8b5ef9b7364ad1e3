"""What a first fit of few rows compiles: every kernel is a good part of a second."""

import numpy as np

from polyfold.bootstrap import _matching, _output, _shared, choose_bottom, fit_network
from polyfold.bootstrap._matching import is_small, match
from polyfold.bootstrap._output import fit_output


def test_codes_of_one_and_of_two_bytes_are_listed_by_one_kernel():
    rng = np.random.default_rng(0)
    chosen = np.arange(3, dtype=np.int32)
    match(rng.integers(0, 300, (3, 50)).astype(np.uint16), chosen, np.zeros((3, 9), np.uint16), 300, lanes=False)
    before = set(_matching._match_lists.signatures)
    match(rng.integers(0, 30, (3, 50)).astype(np.uint8), chosen, np.zeros((3, 9), np.uint8), 30, lanes=False)
    assert set(_matching._match_lists.signatures) == before


def test_a_small_fit_needs_neither_lanes_nor_shared_lists(monkeypatch):
    def refuse(*arrays):
        raise AssertionError("compiled for a few rows")

    monkeypatch.setattr(_matching, "_match_lanes", refuse)
    monkeypatch.setattr(_shared, "_match_shared", refuse)
    X = np.random.default_rng(0).standard_normal((1797, 8))
    sizes = [898, 224, 28]
    bottom = choose_bottom(X, metric="euclidean", neighbors="auto", n_centers=sizes[0], reconstruction=0.0, seed=0)
    options = {"n_clusterings": 4, "feature_fraction": 0.5, "reconstruction": 0.0, "seed": 0}
    assert fit_network(X, bottom, sizes, **options).codes[-1].max() < 28
    assert is_small(1797, 25)
    assert not is_small(60_000, 25)


def test_directions_of_any_layout_are_scattered_by_one_kernel():
    codes = np.random.default_rng(0).integers(0, 5, (4, 60)).astype(np.uint8)
    fit_output(codes, 5, 2, seed=0)
    layouts = {signature[1].layout for signature in _output._scatter.signatures}
    assert layouts == {"C"}
