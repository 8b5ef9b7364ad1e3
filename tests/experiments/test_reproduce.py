"""Every experiment at tiny size, from the command to the files."""

import json

import pytest

from polyfold.experiments import listing, reproduce
from polyfold.experiments._registry import experiments, papers
from polyfold.experiments._report import FAILS, HOLDS, UNTESTED


@pytest.mark.parametrize("name", experiments())
def test_runs_at_tiny_size_and_writes_its_files(name, data, tmp_path):
    (result,) = reproduce([name], size="tiny", data=data, out=tmp_path, show=None)
    written = json.loads((tmp_path / f"{name}.tiny.json").read_text())
    assert written == result
    assert result["missing"] == []
    assert result["tables"] or result["panels"]
    assert {claim["verdict"] for claim in result["claims"]} <= {HOLDS, FAILS, UNTESTED}
    text = (tmp_path / f"{name}.tiny.md").read_text()
    assert text.startswith(f"# {result['title']}")
    for kind in ("png", "svg"):
        assert (tmp_path / f"{name}.tiny.{kind}").exists() == bool(result["panels"])


def test_the_list_names_every_experiment():
    text = listing()
    assert all(name in text for name in experiments())
    assert all(paper.key in text for paper in papers().values())
