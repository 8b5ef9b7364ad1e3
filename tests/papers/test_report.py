"""Tables beside the paper's, verdicts, figures."""

import pytest

from papers.figures import draw
from papers.markdown import beside_paper, claims_table
from papers.report import FAILS, HOLDS, UNTESTED, Panel, ahead, entry, level, line, observed, points


def shown(*entries, digits=1):
    return beside_paper({"title": "t", "digits": digits, "entries": [vars(one) for one in entries]})


def test_a_cell_is_paper_ours_difference():
    text = shown(
        entry("MNIST", "A", ours=[1.0, 3.0], paper=1.5),
        entry("MNIST", "B", ours=[], paper=7.0),
        entry("USPS", "A", ours=4.0),
    )
    assert "| MNIST | 1.5 / 2.0 ± 1.0 / +0.5 | 7.0 / – / – |" in text
    assert "| USPS | – / 4.0 / – |  |" in text


@pytest.mark.parametrize(
    ("better", "worse", "options", "verdict"),
    [
        ([2.0, 3.0], [1.0, 2.0], {}, HOLDS),
        ([1.0], [2.0], {}, FAILS),
        ([1.0], [2.0], {"slack": 1.5}, HOLDS),
        ([2.0, 2.0, 5.0], [1.0, 3.0, 1.0], {"errors": 2}, FAILS),  # ahead on average, by less than two errors
        ([2.0, 2.1, 2.2], [1.0, 1.1, 1.1], {"errors": 2}, HOLDS),
        ([], [1.0], {}, UNTESTED),
    ],
)
def test_a_claim_follows_from_the_draws(better, worse, options, verdict):
    assert ahead("A beats B", better, worse, source="Table 1", **options).verdict == verdict


def test_reasons_are_given_only_where_a_claim_fails():
    for holds, count in ((True, 0), (False, 1)):
        claim = observed("A beats B", holds, "1 > 0", source="Sec. 2", why="Because.", see="toy-table1")
        assert claims_table([vars(claim)]).count("Because. (see toy-table1)") == count


def test_all_kinds_of_panels_are_drawn(tmp_path):
    curves = [line("a", {0.0: [1.0, 2.0], 1.0: [2.0, 3.0], 2.0: []}), level("b", [1.5])]
    panels = [
        Panel("lines", "x", "y", curves, xscale="even"),
        Panel("bars", curves=[line("a", {"u": 1.0, "v": 2.0}, style="bar")], xscale="even"),
        Panel("cloud", curves=[points("", [[0.0, 1.0], [1.0, 0.0]], [0, 1])]),
        Panel("image", image=[[0.0, 1.0], [1.0, 0.0]]),
    ]
    plain = [{**vars(panel), "curves": [vars(curve) for curve in panel.curves]} for panel in panels]
    draw(plain, tmp_path / "toy.png")
    assert (tmp_path / "toy.png").read_bytes()[:4] == b"\x89PNG"
    assert curves[0].x == [0.0, 1.0]
