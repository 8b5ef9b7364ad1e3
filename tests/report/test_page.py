import pytest

from polyfold.report import Page

figure = pytest.importorskip("matplotlib.figure")


def test_page_holds_everything_it_was_given(tmp_path):
    page = (
        Page("A & B")
        .heading("First")
        .text("x < y")
        .table(["name", "score"], [["ours", 1.5], ["theirs", 1.0]], best=[(0, 1)])
    )
    path = page.figure(figure.Figure(figsize=(1, 1)), "a caption").write(tmp_path / "deep" / "page.html")
    text = path.read_text()
    for part in (
        "<h1>A &amp; B</h1>",
        "<h2>First</h2>",
        "x &lt; y",
        "<td>ours</td>",
        "a caption",
        "data:image/png;base64,",
    ):
        assert part in text
    assert text.count('class="best"') == 1
    assert '<td class="best">1.5</td>' in text
    assert 'src="http' not in text
