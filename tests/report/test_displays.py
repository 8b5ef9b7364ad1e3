"""Displays draw what they are given, in light and dark, on given axes or their own."""

import itertools
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from scipy.integrate import trapezoid
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs

import polyfold as pf
from polyfold import report
from polyfold.exceptions import MissingExtraError
from polyfold.report._display import COLORS, THEMES, colors_on, ramp_on
from polyfold.report._views import special_plane

IRIS, TARGET = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def modular():
    return pf.ModularKernelPCA(4, 2, diversity=0.9, random_state=0).fit(IRIS)


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_a_scatter_has_a_colour_and_a_name_for_every_class(rng):
    Z = rng.standard_normal((90, 3))
    y = np.repeat(["a", "b", "c"], 30)
    display = report.RepresentationDisplay.from_representation(Z, y=y, components=(2, 0))
    assert texts(display.ax_.get_legend()) == ["a", "b", "c"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("coordinate 2", "coordinate 0")
    for name, points in zip("abc", display.ax_.collections, strict=True):
        np.testing.assert_allclose(points.get_offsets(), Z[y == name][:, [2, 0]])
    assert len({tuple(c.get_facecolor()[0]) for c in display.ax_.collections}) == 3


def test_numbers_get_a_colour_bar_and_pictures_are_drawn_apart(rng):
    Z, values, images = rng.standard_normal((50, 2)), rng.uniform(size=50), rng.uniform(size=(50, 5, 5))
    display = report.RepresentationDisplay.from_representation(Z, y=values, images=images)
    assert len(display.figure_.axes) == 2
    drawn = [box.xy for box in display.ax_.artists]
    assert 5 < len(drawn) < 50
    assert {tuple(p) for p in drawn} <= {tuple(p) for p in Z}


def test_more_classes_than_colours_differ_in_shape(rng):
    y = np.arange(60) % 20
    points = report.RepresentationDisplay.from_representation(rng.standard_normal((60, 2)), y=y).ax_.collections
    looks = {(tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in points}
    assert len(looks) == 20


def test_one_coordinate_is_shown_by_densities_that_integrate_to_the_share_of_the_class():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(0, 1, 300), rng.normal(12, 1, 100)])
    display = report.RepresentationDisplay.from_representation(values[:, None], y=np.repeat([0, 1], [300, 100]))
    curves = {line.get_label(): line.get_xydata() for line in display.ax_.get_lines()}
    areas = {label: trapezoid(curve[:, 1], curve[:, 0]) for label, curve in curves.items()}
    assert areas["0"] == pytest.approx(0.75, abs=0.03)
    assert areas["1"] == pytest.approx(0.25, abs=0.03)


def test_views_have_a_panel_for_each_module_or_representation(modular):
    display = report.ViewsDisplay.from_estimator(modular, IRIS, y=TARGET)
    assert [ax.get_title() for ax in display.axes_] == ["all modules", *(f"module {m}" for m in range(4))]
    two = report.ViewsDisplay.from_representation({"a": IRIS, "b": IRIS[:, 2:]}, y=TARGET)
    np.testing.assert_allclose(two.axes_[1].collections[0].get_offsets(), IRIS[TARGET == 0, 2:])


def test_a_module_is_shown_by_what_it_shares_and_what_is_its_own():
    shared, own, other = np.random.RandomState(0).standard_normal((3, 500))
    modules = np.stack([np.column_stack([shared, own]), np.column_stack([shared, other])])
    for m, special in enumerate((own, other)):
        plane = special_plane(modules, m)
        assert abs(np.corrcoef(plane[:, 0], shared)[0, 1]) > 0.99
        assert abs(np.corrcoef(plane[:, 1], special)[0, 1]) > 0.99


def test_allocation_has_a_line_per_diversity(modular):
    display = report.AllocationDisplay.from_estimator(modular, diversities=[0.5])
    drawn = {line.get_label(): line.get_ydata() for line in display.ax_.lines}
    np.testing.assert_allclose(drawn["λ = 0.9"], modular.allocation_)
    np.testing.assert_allclose(drawn["λ = 0.5"], modular.remix(diversity=0.5).allocation_)


def test_the_loss_stays_above_its_bound_over_lambda_and_epochs(modular):
    path = report.LossDisplay.from_estimator(modular)
    slow = pf.ModularKernelPCA(4, 2, solver="mbm", max_iter=300, tol=1e-2, random_state=0).fit(IRIS)
    epochs = report.LossDisplay.from_estimator(slow)
    assert epochs.ax_.get_xlabel() == "epoch"
    for display in (path, epochs):
        loss, bound = (np.asarray(line.get_ydata()) for line in display.ax_.lines)
        assert np.all(loss >= bound * (1 - 1e-9))
    np.testing.assert_allclose(epochs.ax_.lines[0].get_ydata(), slow.loss_curve_)
    assert all(tick == round(tick) for tick in epochs.ax_.get_xticks())


def test_scores_over_lambda_stand_beside_rivals(modular):
    rival = pf.baselines.RandomKernelPCA(4, 2, random_state=0).fit(IRIS)
    display = report.DiversityDisplay.from_estimator(
        modular, IRIS, y=TARGET, diversities=[0], baselines={"random": rival}
    )
    assert [ax.get_ylabel() for ax in display.axes_] == ["precision at 10", "vote accuracy", "module correlation"]
    assert texts(display.figure_.legends[0]) == ["modular", "random"]
    assert display.axes_[2].lines[0].get_ydata()[0] == pytest.approx(1, abs=1e-6)


def test_panels_may_hold_several_named_curves():
    scores = {"error": {"single": [1, 2], "ensemble": [1, 0]}, "correlation": [1, 0.5]}
    display = report.DiversityDisplay([0, 0.9], scores).plot()
    assert texts(display.axes_[0].get_legend()) == ["single", "ensemble"]
    np.testing.assert_allclose(display.axes_[0].lines[1].get_ydata(), [1, 0])


def test_redundancy_bars_of_coordinates_and_modules(modular):
    Z = pf.NonRedundantEmbedding(2, kernel="rbf", random_state=0).fit(IRIS)
    coordinates = report.RedundancyDisplay.from_estimator(Z, IRIS)
    assert [t.get_text() for t in coordinates.ax_.get_yticklabels()] == ["coordinate 0", "coordinate 1"]
    modules = modular.transform_modules(IRIS)
    widths = [bar.get_width() for bar in report.RedundancyDisplay.from_representation(modules).ax_.patches]
    assert np.mean(widths) == pytest.approx(pf.metrics.module_correlation(modules), abs=1e-6)


def test_the_scree_plot_shows_the_scores_and_marks_the_number():
    model = pf.NonRedundantEmbedding("auto", kernel="rbf", random_state=0).fit(IRIS)
    display = report.ScreeDisplay.from_estimator(model)
    scores, permuted, marked = display.ax_.lines
    np.testing.assert_allclose(scores.get_ydata(), model.component_scores_)
    np.testing.assert_allclose(permuted.get_ydata(), model.permuted_scores_)
    assert marked.get_xdata()[0] == model.n_components_
    with pytest.raises(ValueError, match="NonRedundantEmbedding"):
        report.ScreeDisplay.from_estimator(pf.KernelEmbedding(2).fit(IRIS))


def test_clusters_lie_below_the_one_that_holds_them():
    X, _ = make_blobs(200, n_features=8, centers=4, random_state=0)
    model = pf.KernelClustering(kernel="laplacian_eigenmaps", random_state=0).fit(X)
    display = report.ClusterTreeDisplay.from_estimator(model)
    rows = {depth: [] for depth in range(len(model.levels_))}
    for bar in display.ax_.patches:
        rows[round(bar.get_y() + bar.get_height() / 2)].append((bar.get_x(), bar.get_x() + bar.get_width()))
    for bars, labels in zip(rows.values(), model.levels_, strict=True):
        assert sorted(right - left for left, right in bars) == pytest.approx(np.sort(np.bincount(labels)) / 200)
    for above, below in itertools.pairwise(rows.values()):
        borders = np.array([right for _, right in below])
        assert all(np.abs(borders - right).min() < 1e-9 for _, right in above)
    ticks = display.ax_.get_yticklabels()
    assert [int(tick.get_text().split()[0]) for tick in ticks] == list(model.level_scores_)
    bold = [tick.get_text() for tick in ticks if tick.get_fontweight() == "bold"]
    assert bold == [f"{model.n_clusters_} ({model.level_scores_[model.n_clusters_]:.2f})"]


def test_clusters_are_coloured_by_their_stability():
    X, _ = make_blobs(200, n_features=8, centers=4, random_state=0)
    model = pf.KernelClustering(kernel="laplacian_eigenmaps", random_state=0).fit(X)
    display = report.ClusterTreeDisplay.from_estimator(model)
    members = np.zeros((len(model.tree_), model.cluster_tree_.n_small), dtype=bool)
    for child, parent in zip(model.tree_["child"], model.tree_["parent"], strict=True):
        members[child] |= np.arange(members.shape[1]) == child
        if parent < len(members):
            members[parent] |= members[child]
    for number, found in zip(model.level_scores_, display.stability, strict=True):
        labels = model.cluster_tree_.cut(number)
        for cluster, stability in enumerate(found):
            node = np.flatnonzero((members == (labels == cluster)).all(axis=1))
            assert stability in model.tree_["stability"][node]


def test_names_of_clusters_are_written_where_they_fit():
    levels = [np.repeat([0, 1, -1], [80, 10, 10]), np.repeat([0, 1, 2, -1], [50, 30, 10, 10])]
    display = report.ClusterTreeDisplay(levels, names={2: ["animals", "a name that is far too long"]}).plot()
    assert [text.get_text() for text in display.ax_.texts] == ["animals", "0", "1", "2"]
    assert [bar.get_width() for bar in display.ax_.patches[2:]] == pytest.approx([5 / 9, 3 / 9, 1 / 9])
    with pytest.raises(ValueError, match=r"levels with \[2, 3\] clusters, got some for 4"):
        report.ClusterTreeDisplay(levels, names={4: ["a", "b", "c", "d"]}).plot()
    with pytest.raises(ValueError, match="must hold 2 names for 2 clusters, got 1"):
        report.ClusterTreeDisplay(levels, names={2: ["a"]}).plot()
    with pytest.raises(ValueError, match="at least one partition"):
        report.ClusterTreeDisplay([]).plot()
    with pytest.raises(TypeError, match="needs a clusterer with levels"):
        report.ClusterTreeDisplay.from_estimator(KMeans(2, n_init=1).fit(IRIS))


def test_strips_frame_true_neighbours():
    digits = load_digits()
    X, noise = digits.data[:100], np.random.RandomState(0).standard_normal((100, 3))
    options = {"images": digits.images[:100], "X": X, "queries": [3], "n_neighbors": 5}
    display = report.RetrievalDisplay.from_representation({"data": X, "noise": noise}, **options)
    widths = [[ax.spines["top"].get_linewidth() for ax in row] for row in display.axes_]
    assert all(w > 2 for w in widths[0][1:])
    assert sum(w > 2 for w in widths[1][1:]) < 3
    assert 3 not in display.found["data"]


@pytest.mark.parametrize("theme", ["light", "dark", None])
def test_light_and_dark_are_legible_and_leave_settings_alone(theme, modular):
    before = dict(plt.rcParams)
    for display in (
        report.RepresentationDisplay.from_estimator(modular, IRIS, y=TARGET, theme=theme),
        report.ViewsDisplay.from_estimator(modular, IRIS, y=TARGET, theme=theme),
        report.AllocationDisplay.from_estimator(modular, theme=theme),
        report.LossDisplay.from_estimator(modular, theme=theme),
        report.RedundancyDisplay.from_estimator(modular, IRIS, theme=theme),
    ):
        paper = np.mean(to_rgb(display.figure_.get_facecolor()))
        ink = np.mean(to_rgb(display.ax_.xaxis.label.get_color()))
        assert abs(paper - ink) > 0.6
        if theme is not None:
            assert (paper > 0.5) == (theme == "light")
    assert dict(plt.rcParams) == before
    with pytest.raises(ValueError, match="theme must be one of 'light', 'dark'"):
        report.LossDisplay.from_estimator(modular, theme="blue")


def luminance(color):
    values = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(color)]
    return float(np.dot(values, (0.2126, 0.7152, 0.0722)))


# How colours look without one kind of cone, in linear light (Machado, Oliveira and Fernandes).
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_the_first_colours_remain_apart_for_colour_blind_readers(kind):
    seen = np.clip(np.array([to_rgb(c) for c in COLORS[:8]]) @ np.array(BLIND[kind]).T, 0, 1)
    apart = np.linalg.norm(seen[:, None] - seen, axis=2) + np.eye(8)
    assert apart.min() > 0.1


@pytest.mark.parametrize(("theme", "least"), [("light", 1.2), ("dark", 2.5)])
def test_colours_stand_out_from_the_paper(theme, least):
    with plt.rc_context(THEMES[theme]):
        _, ax = plt.subplots()
    paper = luminance(ax.get_facecolor())
    for colors in (colors_on(ax), ramp_on(ax).colors[::51]):
        contrasts = [(max(luminance(c), paper) + 0.05) / (min(luminance(c), paper) + 0.05) for c in colors]
        assert min(contrasts) > least


def test_draws_on_the_axes_it_is_given(modular):
    _, ax = plt.subplots()
    assert report.AllocationDisplay.from_estimator(modular, ax=ax).ax_ is ax


def test_models_without_a_path_are_told_so():
    with pytest.raises(TypeError, match="diversity_path"):
        report.LossDisplay.from_estimator(pf.KernelEmbedding(2).fit(IRIS))


def test_missing_matplotlib_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'; run: pip install "matplotlib>=[\d.]+"'):
        report.ClusterTreeDisplay([[0, 1]]).plot()
