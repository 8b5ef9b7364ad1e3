"""Cells are computed once, shared, and survive an interruption; a missing set costs its own cells only."""

import gzip
import json

import pytest

from papers.cells import Cells, CellStore, grid, key_of, portable
from papers.run import Run

CALLS = []


def square(data, *, x, seed):
    CALLS.append(x)
    if x == 3:
        raise FileNotFoundError("three.npz must be in the folder.")
    if x == 4:
        raise KeyboardInterrupt
    return {"square": x * x + seed}


@pytest.fixture
def run(tmp_path):
    CALLS.clear()

    def make(**options):
        store = CellStore(tmp_path, {"commit": "abc"}, **options)
        return Run({"draws": 2}, seed=5, data=None, store=store)

    return make


def test_a_known_cell_is_not_computed_again(run):
    first = run().cells(grid(square, x=(1, 2), seed=0))
    second = run().cells(grid(square, x=(2, 1), seed=0))
    assert CALLS == [1, 2]
    assert first.values("square", x=2) == second.values("square", x=2) == [4]


def test_other_parameters_are_another_cell(run):
    run().cells(grid(square, x=1, seed=0))
    assert run().cells(grid(square, x=1, seed=1)).values("square") == [2]
    assert CALLS == [1, 1]


def test_fresh_computes_again_but_once(run):
    run().cells(grid(square, x=1, seed=0))
    again = run(fresh=True)
    again.cells(grid(square, x=1, seed=0))
    again.cells(grid(square, x=1, seed=0))
    assert CALLS == [1, 1]


def test_what_was_finished_before_an_interruption_is_kept(run):
    with pytest.raises(KeyboardInterrupt):
        run().cells(grid(square, x=(1, 2, 4), seed=0))
    CALLS.clear()
    run().cells(grid(square, x=(1, 2), seed=0))
    assert CALLS == []


def test_a_missing_set_is_told_and_the_rest_runs(run):
    here = run()
    found = here.cells(grid(square, x=(3, 1, 3, 2), seed=0))
    assert found.values("square") == [1, 4]
    assert here.missing == ["three.npz must be in the folder."]


def test_a_cell_tells_its_commit_and_cost(run, tmp_path):
    here = run()
    here.cells(grid(square, x=1, seed=0))
    (path,) = (tmp_path / "cells").iterdir()
    content = json.loads(gzip.decompress(path.read_bytes()))
    (cell,) = content["cells"].values()
    assert content["contexts"][cell["context"]] == {"commit": "abc"}
    assert cell["seconds"] >= 0
    assert list(here.store.contexts(here.tasks)) == [{"commit": "abc"}]


def test_seeds_follow_from_the_first_one(run):
    assert run().seeds == [5, 6]


def test_cells_are_chosen_by_function_and_parameters(run):
    found = run().cells(grid(square, x=(1, 2), seed=(0, 1)))
    assert found.values("square", x=2) == [4, 5]
    assert found.of(square).where(x=1, seed=1).values("square") == [2]
    assert len(found.of(dict)) == len(Cells([])) == 0


def test_what_json_cannot_hold_is_none():
    assert portable({"a": float("inf"), "b": (1, 2.0)}) == {"a": None, "b": [1, 2.0]}
    assert key_of({"b": 1, "a": (2,)}) == '{"a": [2], "b": 1}'


# A gzip header holds the time: it must not become part of a test's name.
@pytest.mark.parametrize("content", [b"", b"{", *(gzip.compress(text, mtime=0) for text in (b"", b"{", b"[]", b"{}"))])
def test_damaged_cells_are_named(run, tmp_path, content):
    run().cells(grid(square, x=2, seed=0))
    (path,) = (tmp_path / "cells").iterdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path.name} is damaged. Remove it"):
        run().cells(grid(square, x=2, seed=0))
    assert path.read_bytes() == content


def test_a_file_that_is_cut_short_is_damaged(run, tmp_path):
    run().cells(grid(square, x=2, seed=0))
    (path,) = (tmp_path / "cells").iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="is damaged"):
        run().cells(grid(square, x=2, seed=0))
