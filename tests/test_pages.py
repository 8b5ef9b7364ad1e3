"""Pages written from recorded figures: nothing on them is typed by hand, and no loss is left out."""

import sys

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="the source distribution has no benchmarks")
from benchmarks._measure import measured
from benchmarks.pages import _clusters, _maps, _search, peers, reproduction
from benchmarks.pages._markdown import cells, table

SEED = {"acc": [50.0], "ari": [50.0], "cpu": [1.0], "megabytes": [1], "groups": [3]}


def run(nmi, **changes):
    return {**SEED, "nmi": [nmi], **changes}


def runs(ours, umap, plain, warned=()):
    methods = {"polyfold": run(ours), "UMAP + k-means": run(umap), "k-means": run(plain)}
    return {"iris": {**methods, "polyfold, auto": run(ours, warnings=[list(warned)])}}


def test_the_page_is_what_the_figures_say():
    assert (peers.DOCS / "peers.md").read_text() == peers.page()


def test_the_pages_of_the_papers_are_what_the_results_say():
    for path, text in reproduction.pages(reproduction.results()).items():
        assert path.read_text() == text, "run `make readme`"


def test_the_committed_results_are_of_full_size_and_keep_their_cells():
    for name, result in reproduction.results().items():
        assert all(context["commit"] for context in result["contexts"]), name
        assert not result["panels"] or (reproduction.RESULTS / f"{name}.png").exists(), name


def test_a_claim_that_fails_is_counted_and_comes_first():
    claim = {"statement": "A", "source": "Sec. 1", "verdict": "holds", "evidence": "1", "why": "", "see": ""}
    failed = {**claim, "statement": "B", "verdict": "does not hold", "why": "Noise.", "see": "mbm-figure1"}
    found = {"mbm-table2": {"claims": [claim, failed]}}
    text = reproduction.overview(found)
    assert "| 1 of 8 | 1 | 1 | 0 | 50 % |" in text
    assert text.index("| B |") < text.index("| A |")
    assert "1. Noise. (see mbm-figure1)" in text  # the experiment itself is linked in any case


def test_best_values_are_bold_and_missing_ones_a_dash():
    assert cells([1.04, None, 1.0, 0.5]) == ["**1.0**", "–", "**1.0**", "0.5"]
    assert cells([1.0, 2.0], 0, "lowest") == ["**1**", "2"]
    assert table(["a", "b"], [["x", "1"]]).splitlines() == ["| a | b |", "| --- | ---: |", "| x | 1 |"]


def test_every_method_that_is_ahead_is_named():
    lost = _clusters.losses(runs(60.0, 61.0, 70.0))
    assert "k-means +10.0, UMAP + k-means +1.0" in lost
    assert "0 of 1 lines" in lost
    assert "1 of 1 lines" in _clusters.losses(runs(70.0, 61.0, 69.0))


def test_the_summary_names_sets_far_below_k_means():
    assert "iris (-3.0)" in _clusters.summary(runs(60.0, 50.0, 63.0))
    assert "iris" not in _clusters.summary(runs(60.0, 50.0, 61.0))


@pytest.mark.parametrize(
    ("warned", "silent"), [(["GuessWarning: n_clusters"], "none"), (["ScaleWarning: rows"], "iris")]
)
def test_a_wrong_number_without_a_warning_is_said(warned, silent):
    text = _clusters.numbers(runs(60.0, 50.0, 50.0, warned), {"iris": 5})
    assert f"wrong without a warning: {silent}." in text
    assert f"| iris | 5 | {'3?' if silent == 'none' else '3'} |" in text


def test_groups_that_are_far_below_those_of_others_are_named():
    found = runs(60.0, 50.0, 50.0, ["GuessWarning: n_clusters"])
    ours = found["iris"]["polyfold, auto"]
    for other, nmi in (("UMAP + HDBSCAN", 70.0), ("Leiden, resolution 1", 75.0)):
        found["iris"][other] = {"nmi": [nmi], "groups": [4]}
    for mine, said in ((60.0, "iris (-15)"), (70.0, "none")):
        ours["nmi"] = [mine]
        text = _clusters.numbers(found, {"iris": 3})
        assert f"{mine} / 70.0 / 75.0 (sets on which defaults were chosen)" in text
        assert f"More than 10 below the best of the others: {said}." in text


def test_maps_that_are_behind_are_named():
    scores = {"accuracy": 90.0, "trustworthiness": 0.95, "cpu": 2.0}
    behind = {**scores, "accuracy": 89.5, "trustworthiness": 0.93, "cpu": 5.0}
    text = _maps.section({"usps_11000": {"rows": 5, "umap": scores, "ours": behind}, "summary": {"sets": 1}})
    assert "| usps_11000 | 1.00 | 2.50 |" in text
    assert "on 0 of 1 sets; behind on: usps_11000 (-0.5)" in text
    assert "below umap-learn's on: usps_11000 (-0.020)" in text


def test_levels_at_which_search_is_slower_are_named():
    row = {
        "query ratio": 1.2,
        "build ratio": 0.4,
        "ours": {"s": 1.2},
        "HNSW": {"s": 1.0, "M": 16, "efConstruction": 20},
    }
    text = _search.section({"target": {"queries": 1000, "rows": [{"level": "recall 95 %", **row}]}})
    assert "Slower to answer than HNSW at: recall 95 % (16, 20)." in text
    assert "More than half of its time to build at: " in text
    assert text.count("recall 95 % (16, 20)") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_peak_memory_counts_what_was_freed_again():
    seen = measured(lambda: np.ones(10_000_000).sum())
    assert seen.result == 10_000_000
    assert 70 < seen.megabytes < 200
