"""Every experiment at tiny size, from the command to the files."""

import json

import pytest

from papers.__main__ import main
from papers.registry import SECTIONS, Paper, described, experiments, listing, papers
from papers.report import FAILS, HOLDS, UNTESTED, Report
from papers.runner import reproduce, without_clouds


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    """One folder for all experiments, so that they share their cells."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize("name", experiments())
def test_runs_at_tiny_size_and_writes_its_files(name, data, out):
    (result,) = reproduce([name], size="tiny", data=data, out=out, show=None)
    assert json.loads((out / f"{name}.tiny.json").read_text()) == without_clouds(result)
    assert result["missing"] == []
    assert result["tables"] or result["panels"]
    assert {claim["verdict"] for claim in result["claims"]} <= {HOLDS, FAILS, UNTESTED}
    assert (out / f"{name}.tiny.md").read_text().startswith(f"# {result['title']}")
    assert (out / f"{name}.tiny.png").exists() == bool(result["panels"])


def test_the_command_lists_runs_and_refuses(tmp_path, capsys):
    assert main(["list"]) == 0
    assert "mbm-table2" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["mbm-table9", "--out", str(tmp_path)])
    assert "no experiment called mbm-table9" in capsys.readouterr().err
    assert main(["mbm-figure1", "--fast", "--seed", "3", "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "mbm-figure1.fast.json").read_text())["seeds"] == [3, 4, 5]
    shown = capsys.readouterr()
    assert "(paper / ours / difference)" in shown.out
    assert "*This run.* Size 'fast'. Settings: " in shown.out
    assert "1/" in shown.err


def test_the_exit_code_is_one_if_no_data_set_is_there(tmp_path):
    assert main(["nrs-figure6", "--fast", "--data", str(tmp_path), "--out", str(tmp_path)]) == 1


def test_the_list_names_every_experiment():
    text = listing()
    assert all(name in text for name in experiments())
    assert all(paper.key in text for paper in papers().values())


@pytest.fixture
def paper():
    paper = Paper("toy", "Nobody2000", "Toys", "made up")

    @paper.experiment("table1", full={"rows": 10, "rank": 3}, fast={"rows": 5}, tiny={"rows": 1})
    def table1(run):
        """Table 1: toys.

        Question: Is it
        a toy?

        Setting: One: two.

        Expected: Yes.
        """
        return Report(remarks=[str(run["rows"])])

    return paper


def test_sizes_change_what_they_name(paper):
    sizes = paper.experiments["toy-table1"].sizes
    assert sizes["fast"] == {"rows": 5, "rank": 3}
    assert sizes["full"] == {"rows": 10, "rank": 3}


def test_the_docstring_is_what_people_read(paper):
    one = paper.experiments["toy-table1"]
    assert (one.title, one.question, one.setting, one.expected) == (
        "Table 1: toys",
        "Is it a toy?",
        "One: two.",
        "Yes.",
    )


def test_an_experiment_without_a_question_is_refused():
    def bare(run):
        """Table 2: no more."""

    with pytest.raises(ValueError, match=f"bare needs a paragraph for each of {', '.join(SECTIONS)}"):
        described(bare)


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no experiment called mbm-table9"):
        reproduce(["mbm-table9"], out=tmp_path, show=None)


def test_a_second_run_computes_nothing_and_says_the_same(data, tmp_path, monkeypatch):
    first = reproduce(["mbm-figure1"], size="tiny", data=data, out=tmp_path, show=None)
    monkeypatch.setattr("papers.mbm.modules.drop_loss", None)
    said = []
    assert reproduce(["mbm-figure1"], size="tiny", data=data, out=tmp_path, show=said.append) == first
    assert "**does not hold**" in said[0]


def test_a_folder_that_is_a_file_is_refused_before_anything_is_computed(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ValueError, match="out must be a folder, got the file .*taken"):
        reproduce(["mae-figure3"], size="tiny", out=tmp_path / "taken", show=None)


def test_a_seed_out_of_range_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"seed must be from 0 to .*, got -1"):
        reproduce(["mbm-figure1"], seed=-1, out=tmp_path, show=None)
