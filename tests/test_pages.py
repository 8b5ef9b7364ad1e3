"""Pages written from recorded figures: nothing on them is typed by hand, and no loss is left out."""

import sys

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="the source distribution has no benchmarks")
from benchmarks._measure import measured
from benchmarks.pages import _clusterings, _coordinates, _maps, _search, peers, reproduction
from benchmarks.pages._markdown import cells, table


def test_the_page_is_what_the_figures_say():
    assert (peers.DOCS / "peers.md").read_text() == peers.page(), "run `make readme`"
    assert (peers.DOCS / "peers-numbers.md").read_text() == peers.appendix(), "run `make readme`"


def test_the_pages_of_the_papers_are_what_the_results_say():
    for path, text in reproduction.pages(reproduction.results()).items():
        assert path.read_text() == text, "run `make readme`"


def test_the_committed_results_are_of_full_size_and_keep_their_cells():
    for name, result in reproduction.results().items():
        assert all(context["commit"] for context in result["contexts"]), name
        assert not result["panels"] or (reproduction.RESULTS / f"{name}.png").exists(), name


def test_a_claim_that_fails_is_counted_and_listed():
    claim = {"statement": "A", "source": "Sec. 1", "verdict": "holds", "evidence": "1", "why": "", "see": ""}
    found = {"mbm-table2": {"claims": [claim, {**claim, "statement": "B", "verdict": "does not hold"}]}}
    text = reproduction.overview(found)
    assert "| 1 of 8 | 1 | 1 | 0 | 50 % |" in text
    assert "| B | 1 | [Sec. 1](reproduction/mbm.md#mbm-table2) |" in text
    assert "| A |" not in text


def test_best_values_are_bold_and_missing_ones_a_dash():
    assert cells([1.04, None, 1.0, 0.5]) == ["**1.0**", "–", "**1.0**", "0.5"]
    assert cells([1.0, 2.0], 0, "lowest") == ["**1**", "2"]
    assert table(["a", "b"], [["x", "1"]]).splitlines() == ["| a | b |", "| --- | ---: |", "| x | 1 |"]


def clustering(nmi):
    return {"0": {"labels": [3, nmi, 50.0, 0.0], "cpu": 1.0}}


def test_means_of_clusterings_show_held_out_sets_first_and_count_missing_ones():
    runs = {
        "iris": {"k-means, 1 run": clustering(40.0), "UMAP + k-means": clustering(60.0)},
        "orl_32": {"k-means, 1 run": clustering(80.0)},
        "wine": {},
        "digits": {"Leiden": clustering(70.0)},
    }
    text = _clusterings.summary({"rivals": runs, "sets": {}})
    assert "|  | held out (1) | other labelled (3) | embeddings (0) | CPU s, held out |" in text
    assert "| k-means, 1 run | 80.0 | – | – | 1.0 |" in text
    assert "UMAP + k-means" not in text  # it misses more than one set of every group


def test_maps_are_averaged_over_held_out_sets_first():
    scores = {"accuracy": 90.0, "trustworthiness": 0.95, "cpu": 2.0, "megabytes": 1.0}
    behind = {**scores, "accuracy": 89.5, "cpu": 5.0}
    figures = {"usps_11000": {"umap": scores, "ours": behind}, "digits": {"umap": scores, "ours": scores}}
    lines = _maps.summary(figures).splitlines()
    assert lines[0].startswith("|  | Accuracy, %: held out (1) | Accuracy, %: others (1) |")
    assert lines[2:] == [
        "| umap-learn | **90.0** | **90.0** | **0.950** | **0.950** | 1.00 | 1.00 |",
        "| BootstrapMap | 89.5 | **90.0** | **0.950** | **0.950** | 2.50 | 1.00 |",
    ]


def test_search_is_compared_with_one_setting_of_the_peer():
    row = {"level": "recall 95 %", "query ratio": 1.2, "build ratio": 0.4}
    rows = [{**row, "HNSW": {"M": 16, "efConstruction": 40}}, {**row, "HNSW": {"M": 8, "efConstruction": 40}}]
    assert _search.summary({"rows": rows}).splitlines()[2:] == ["| recall 95 % | 1.20 | 0.40 |"]


def test_unseen_shapes_show_the_best_single_kernel():
    figures = {"cone, 2": {"every kernel": {"lle": 0.7, "isomap": 0.9}, "R²": 0.8, "number": 3}}
    assert "| cone, 2 | 0.800 | 0.900 (isomap) | 3 of 2 |" in _coordinates.unseen(figures)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_peak_memory_counts_what_was_freed_again():
    seen = measured(lambda: np.ones(10_000_000).sum())
    assert seen.result == 10_000_000
    assert 70 < seen.megabytes < 200
