"""Take the pictures of the explorer's guide again: the page in chromium, and all displays on one sheet.

Run with ``python docs/screenshots.py``, or with ``page`` for the page alone; needs the extra ``test`` and chromium, as
`make test-browser` does.
"""

import base64
import io
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import pandas as pd
from PIL import Image
from sklearn.datasets import load_digits, make_swiss_roll

import polyfold as pf
from polyfold import report

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from tests.browser.conftest import SOFTWARE_GL, Browser  # noqa: E402

WIDTH = 1400  # of the sheet of displays
DIGITS = load_digits()
X, Y, IMAGES = DIGITS.data, DIGITS.target, DIGITS.images


def page(folder: Path) -> Path:
    """Write the page of the guide's first example."""
    model = pf.KernelClustering(kernel="laplacian_eigenmaps", random_state=0).fit(X)
    explanation = pf.explain(model, X, images=(8, 8), levels=True, random_state=0)
    return report.explore(
        model,
        X,
        y=pd.Series(Y, name="digit"),
        images=IMAGES,
        explanation=explanation,
        title="Handwritten digits",
        path=folder / "page.html",
    )


def screenshots(path: Path) -> None:
    """Keep the page on a desk with a class selected, and in the hand with a point."""
    browser = Browser(*SOFTWARE_GL)
    try:
        for name, (width, height), scheme, action in (
            ("explorer-light", (1400, 1120), "light", "document.querySelectorAll('#legend button')[2].click()"),
            ("explorer-phone-dark", (390, 1300), "dark", "explorer.showLevel(1)"),
        ):
            browser.open(path, width=width, height=height, scheme=scheme)
            browser.js(action)
            browser.js("new Promise(done => setTimeout(done, 1000))")
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            shot = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
            keep(Image.open(io.BytesIO(base64.b64decode(shot["data"]))), name)
    finally:
        browser.driver.quit()


def displays(model) -> None:
    """Keep all displays on one sheet."""
    embedding = pf.KernelEmbedding(2, random_state=0).fit(X)
    roll, along = make_swiss_roll(800, random_state=0)
    roll[:, 1] *= 0.5
    axes = pf.NonRedundantEmbedding(3, random_state=0).fit(roll)
    clusters = pf.BootstrapClustering(random_state=0).fit(X)
    rival = pf.baselines.RandomKernelPCA(6, 6, random_state=0).fit(X)
    shown = [
        [
            report.RepresentationDisplay.from_estimator(embedding, X, y=Y, images=IMAGES, theme="light"),
            report.RepresentationDisplay.from_estimator(axes, roll, y=along, theme="light"),
            report.ScreeDisplay.from_estimator(axes, theme="light"),
        ],
        [report.DiversityDisplay.from_estimator(model, X, y=Y, baselines={"random": rival}, theme="light")],
        [
            report.AllocationDisplay.from_estimator(model, diversities=[0, 0.5, 0.9], theme="light"),
            report.LossDisplay.from_estimator(model, theme="light"),
            report.ClusterTreeDisplay.from_estimator(clusters, theme="light"),
        ],
        [
            report.ViewsDisplay.from_estimator(model, X, y=Y, theme="light"),
            report.RetrievalDisplay.from_estimator(model, X, images=IMAGES, queries=[1, 3], theme="light"),
        ],
        [
            report.RedundancyDisplay.from_estimator(axes, roll, theme="light"),
            report.RedundancyDisplay.from_estimator(model, X, theme="light"),
        ],
    ]
    rows = [in_a_row([picture(display) for display in row]) for row in shown]
    sheet = Image.new("RGB", (WIDTH, sum(row.height for row in rows)), "white")
    for i, row in enumerate(rows):
        sheet.paste(row, (0, sum(above.height for above in rows[:i])))
    keep(sheet, "displays")


def picture(display) -> Image.Image:
    """Return a figure as pixels."""
    buffer = io.BytesIO()
    display.figure_.savefig(buffer, dpi=110)
    plt.close(display.figure_)
    return Image.open(buffer).convert("RGB")


def in_a_row(pictures: list[Image.Image]) -> Image.Image:
    """Bring pictures to one height, such that they fill the width of the sheet, and none is enlarged."""
    height = min(WIDTH / sum(p.width / p.height for p in pictures), *(p.height for p in pictures))
    row, x = Image.new("RGB", (WIDTH, round(height)), "white"), 0.0
    for p in pictures:
        width = p.width / p.height * height
        row.paste(p.resize((round(width), round(height)), Image.Resampling.LANCZOS), (round(x), 0))
        x += width
    return row


def keep(image: Image.Image, name: str) -> None:
    """Write a picture of the guide."""
    image.convert("RGB").save(HERE / "images" / f"{name}.webp", quality=85, method=6)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        screenshots(page(Path(place)))
    if sys.argv[1:] != ["page"]:
        displays(pf.ModularKernelPCA(6, 6, random_state=0).fit(X))
