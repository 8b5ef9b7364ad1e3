"""Draw ``images/axes.png``, the first picture of the README: axes of rendered heads, each with its strip and its name.

Run with ``python docs/axes_picture.py``. The model gets images of 32 × 32 pixels and no angles. The heads of the strips
are drawn again at a higher resolution. The true angles are used only to write what each axis follows.
"""

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch
from scipy.stats import spearmanr

import polyfold as pf
from polyfold.datasets import make_rendered_object
from polyfold.datasets._rendered import _render, _surface

PATH = Path(__file__).parent / "images" / "axes.png"
N, SIZE, SHARP = 4000, 32, 256
MEANINGS = ("The head turns", "The head nods", "The light moves")
# Inches: the README shows the picture at half its size of 1,800 × 1,300 pixels.
WIDTH, HEIGHT, DPI = 9.0, 6.5, 200
CARD, TEXT, QUIET, ACCENT = "#10151f", "#ffffff", "#a9b8cc", "#5cc8ff"
LEFT, STRIP, STEP = 0.045, 0.29, 0.0965  # of the text, of the images, and from image to image


def main() -> None:
    """Fit, explain and draw."""
    X, angles = make_rendered_object(N, size=SIZE, random_state=0)
    ours = pf.NonRedundantEmbedding(3, random_state=0).fit(X)
    plain = pf.KernelEmbedding(3, kernel="laplacian_eigenmaps", random_state=0).fit(X)
    found, other = (pf.explain(model, X, images=(SIZE, SIZE), random_state=0) for model in (ours, plain))
    repeated = abs(spearmanr(plain.transform(X)[:, 1], np.abs(angles[:, 0])).statistic)
    if repeated < 0.9:
        raise RuntimeError(f"The second axis of Laplacian eigenmaps does not repeat the turn: {repeated:.2f}.")
    figure = new_card()
    figure.text(LEFT, 0.918, f"{N:,} images, no labels, three axes", color=TEXT, fontsize=19, weight="bold")
    subtitle = "Names by polyfold.explain. Correlations with the true angles, which the model does not get."
    figure.text(LEFT, 0.868, subtitle, color=QUIET, fontsize=9.5)
    for k in range(3):
        bottom = 0.665 - 0.197 * k
        meaning, r = follows(ours.embedding_[:, k], angles)
        low, high = (found.names[f"axis {k} {end}"] for end in ("low", "high"))
        figure.text(LEFT, bottom + 0.125, meaning, color=TEXT, fontsize=13.5, weight="bold")
        figure.text(LEFT, bottom + 0.055, f"{low} →\n{high}", color=ACCENT, fontsize=10.5, linespacing=1.25)
        figure.text(LEFT, bottom + 0.02, f"correlation {r:.2f}", color=QUIET, fontsize=8.5)
        draw_strip(figure, angles[found.prototypes[f"axis {k}"]["along"]], bottom)

    figure.add_artist(plt.Line2D((LEFT, 0.955), (0.253, 0.253), color=QUIET, alpha=0.35, linewidth=0.8))
    figure.text(LEFT, 0.175, "For comparison:", color=QUIET, fontsize=10.5)
    figure.text(LEFT, 0.105, "the second axis of\nLaplacian eigenmaps", color=QUIET, fontsize=10.5, linespacing=1.25)
    figure.text(LEFT, 0.065, "shows the turn again", color=QUIET, fontsize=10.5)
    draw_strip(figure, angles[other.prototypes["axis 1"]["along"]], 0.055, alpha=0.8)
    figure.savefig(PATH, transparent=True)


def new_card() -> plt.Figure:
    """Return a transparent figure with a dark card, which is legible on light and dark pages."""
    figure = plt.figure(figsize=(WIDTH, HEIGHT), dpi=DPI)
    card = FancyBboxPatch((0.005, 0.007), 0.99, 0.986, boxstyle="round,pad=0,rounding_size=0.02")
    card.set(facecolor=CARD, edgecolor="none", transform=figure.transFigure, mutation_aspect=WIDTH / HEIGHT, zorder=-1)
    figure.add_artist(card)
    return figure


def follows(z: np.ndarray, angles: np.ndarray) -> tuple[str, float]:
    """Return what the axis `z` (n,) follows most, and the rank correlation with it."""
    r = np.abs([spearmanr(z, angle).statistic for angle in angles.T])
    return MEANINGS[int(r.argmax())], float(r.max())


def draw_strip(figure: plt.Figure, angles: np.ndarray, bottom: float, alpha: float = 1.0) -> None:
    """Draw heads at some angles (steps, 3) side by side, without their dark background."""
    surface, height = _surface(3 * SHARP), 0.18
    width = height * HEIGHT / WIDTH
    for i, (pan, tilt, light) in enumerate(np.deg2rad(angles)):
        image = _render(surface, pan, tilt, light, SHARP)
        ax = figure.add_axes((STRIP + (i + 0.5) * STEP - width / 2, bottom, width, height))
        ax.imshow(np.dstack([image] * 3 + [alpha * (image > 0)]), interpolation="antialiased")
        ax.set_axis_off()


if __name__ == "__main__":
    main()
