"""The page holds what the model says, in less than 5 MB, and refuses what it cannot show."""

import base64
import gzip
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import polyfold as pf
from polyfold.metrics import module_correlation
from polyfold.report import chapter, explore, write_page
from polyfold.report._images import _shrunk
from polyfold.report._steps import pack_points
from polyfold.report._views import map_plane

DIGITS = load_digits()
X, Y, IMAGES = DIGITS.data[:300], DIGITS.target[:300], DIGITS.images[:300]


@pytest.fixture(scope="module")
def model():
    return pf.ModularKernelPCA(4, 3, diversity=0.9, rank=100, random_state=0).fit(X)


class Page:
    """A page, read as a browser reads it."""

    def __init__(self, path):
        self.text = path.read_text()
        data = re.search(r'<script id="data" type="text/plain">([^<]*)</script>', self.text).group(1)
        blob = gzip.decompress(base64.b64decode(data))
        length = int.from_bytes(blob[:4], "little")
        header = json.loads(blob[4 : 4 + length])
        self.title, self.chapters, self.blob = header["title"], header["chapters"], blob[4 + length :]

    def array(self, place):
        kind = np.dtype(f"<u{place['bits'] // 8}")
        return np.frombuffer(self.blob, kind, place["size"], place["at"])

    def plane(self, step, view):
        a, b, c = self.array(step["views"][view]["points"]).astype(int).reshape(-1, 3).T
        return np.stack([(a << 4) | (b >> 4), ((b & 15) << 8) | c], axis=1)


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "deep" / "page.html"
    return Page(explore(model, X, y=Y, images=IMAGES, path=path, diversities=[0, 0.99]))


def distances(rows):
    rows = rows.astype(float)
    return np.sqrt(np.sum((rows[:, None] - rows) ** 2, axis=2)) + np.diag(np.full(len(rows), np.inf))


def test_every_lambda_is_a_station_with_its_loss_bound_allocation_and_correlation(page, model):
    (one,) = page.chapters
    assert [s["diversity"] for s in one["steps"]] == [0, 0.9, 0.99]
    assert one["start"] == 1
    for step in one["steps"]:
        remixed = model.remix(diversity=step["diversity"])
        figures = dict(step["figures"])
        assert figures["loss"] == pytest.approx(remixed.loss_, rel=1e-5)
        assert figures["lower bound"] == pytest.approx(remixed.loss_bound_, rel=1e-5)
        np.testing.assert_allclose(step["allocation"], remixed.allocation_, rtol=1e-3)
        correlation = module_correlation(remixed.transform_modules(X))
        assert figures["module correlation"] == pytest.approx(correlation, abs=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_iterative_solvers_run_again_only_where_stations_are_asked_for(tmp_path, monkeypatch):
    slow = pf.ModularKernelPCA(2, 2, diversity=0.9, solver="mbm", max_iter=2, rank=20, random_state=0).fit(X[:40])
    asked = []
    monkeypatch.setattr(type(slow), "diversity_path", lambda self, grid: asked.extend(grid) or [])
    for diversities, expected in ((None, []), ([0.5], [0.5])):
        explore(slow, X[:40], path=tmp_path / "p.html", diversities=diversities)
        assert asked == expected


def test_precision_and_vote_are_those_of_neighbours_other_than_the_point(page, model):
    figures = dict(page.chapters[0]["steps"][1]["figures"])

    def lists(rows, k):
        return np.argsort(distances(rows), axis=1)[:, :k]

    truth, found = lists(X, 10), lists(model.transform(X), 10)
    shares = [len(set(a) & set(b)) / 10 for a, b in zip(truth, found, strict=True)]
    assert figures["precision at 10"] == pytest.approx(np.mean(shares), abs=2e-3)
    votes = np.array([[np.bincount(Y[row]).argmax() for row in lists(Z, 5)] for Z in model.transform_modules(X)])
    joint = np.array([np.bincount(column).argmax() for column in votes.T])
    assert figures["vote accuracy"] == pytest.approx(np.mean(joint == Y), abs=0.01)
    assert figures["single modules"] == pytest.approx(np.mean(votes == Y), abs=0.01)


def test_views_are_projections_of_the_modules_up_to_a_pixel(page, model):
    step = page.chapters[0]["steps"][1]
    assert [v["name"] for v in step["views"]] == ["all modules", *(f"module {m}" for m in range(4))]
    for m, Z in enumerate(model.transform_modules(X)):
        plane = page.plane(step, m + 1).astype(float)
        plane -= plane.mean(axis=0)
        centred = Z - Z.mean(axis=0)
        rebuilt = centred @ np.linalg.lstsq(centred, plane, rcond=None)[0]
        assert np.abs(rebuilt - plane).max() < 2  # of 4096 steps


def test_neighbours_are_those_in_all_dimensions(page, model):
    step = page.chapters[0]["steps"][1]
    parts = [model.transform(X), *model.transform_modules(X)]
    for (_, place), Z in zip(step["neighbors"], parts, strict=True):
        found = page.array(place).reshape(300, 6).astype(int)
        true = distances(Z)
        near = np.take_along_axis(true, found, axis=1)
        np.testing.assert_allclose(near, np.sort(true, axis=1)[:, :6], rtol=1e-4)


def test_the_page_needs_nothing_but_itself(page):
    frame = re.sub(r"<script.*?</script>", "", page.text, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="(?!data:)[^"]*"', frame) == []
    assert "@import" not in frame
    assert "<noscript>" in frame
    for name in ("regl-scatterplot 1.16.0", "Permission is hereby granted, free of charge", "ISC License"):
        assert name in page.text


def test_the_same_model_gives_the_same_file(page, model, tmp_path):
    again = explore(model, X, y=Y, images=IMAGES, path=tmp_path / "again.html", diversities=[0, 0.99])
    assert again.read_text() == page.text


def test_text_of_users_cannot_become_markup(model, tmp_path):
    evil = "</script><img src=x onerror=alert(1)>"
    columns = {evil: [evil] * 300}
    text = explore(model, X, columns=columns, title=evil, path=tmp_path / "p.html", diversities=[]).read_text()
    assert evil not in text


@pytest.mark.slow
def test_ten_thousand_points_with_pictures_stay_below_five_megabytes(tmp_path, monkeypatch):
    rng = np.random.RandomState(0)
    n = 10_000
    monkeypatch.setattr("polyfold.report._scores._QUERIES", 50)  # their number does not change the size
    # No true neighbours take more bytes than those drawn at random.
    monkeypatch.setattr("polyfold.report._steps.nearest", lambda rows, asked, k: rng.randint(n, size=(len(asked), k)))
    sources = DIGITS.images[rng.randint(len(DIGITS.images), size=n)]
    images = np.kron(sources, np.ones((1, 3, 3))) + rng.normal(0, 1.5, (n, 24, 24))
    rows = images.reshape(n, -1)[:, ::29]
    model = pf.ModularKernelPCA(5, 2, rank=10, random_state=0).fit(rows[:500])
    columns = {f"column {i}": rng.standard_normal(n) for i in range(40)} | {"text": [f"row {i}" for i in range(n)]}
    words = np.array(["".join(rng.choice(list("abcdefghij"), 6)) for _ in range(3000)])
    texts = [" ".join(line) for line in words[rng.randint(3000, size=(n, 15))]]
    path = explore(
        model, rows, y=rng.randint(10, size=n), images=images, columns=columns, texts=texts, path=tmp_path / "p.html"
    )
    (one,) = Page(path).chapters
    assert path.stat().st_size < 5_000_000
    assert len(one["steps"]) >= 4
    assert one["steps"][one["start"]]["neighbors"]


def test_more_points_than_asked_for_are_drawn_and_said(model, tmp_path):
    (one,) = Page(explore(model, X, y=Y, max_points=50, path=tmp_path / "p.html", diversities=[])).chapters
    assert (one["n"], one["total"], len(one["rows"])) == (50, 300, 50)
    labels = one["columns"][0]
    assert [labels["classes"][c] for c in labels["values"]] == [str(v) for v in Y[one["rows"]]]


def test_libraries_below_have_one_thread_each_while_a_page_is_made(tmp_path):
    seen = []

    class Model(PCA):
        def transform(self, X):
            seen.extend(library["num_threads"] for library in threadpool_info())
            return super().transform(X)

    with threadpool_limits(2):
        explore(Model(2).fit(X), X, path=tmp_path / "p.html")
    assert set(seen) == {1}


def names(chapter):
    return [view["name"] for view in chapter["steps"][0]["views"]]


def test_models_of_every_kind_have_views(tmp_path):
    iris, target = load_iris(return_X_y=True)
    network = pf.MultilayerBootstrapNetwork(2, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0)
    for fitted, expected in (
        (PCA(4).fit(iris), ["coordinates 0 and 1", "coordinates 1 and 2", "coordinates 2 and 3"]),
        (PCA(1).fit(iris), ["coordinate 0"]),
        (pf.NonRedundantEmbedding(2, kernel="rbf", random_state=0).fit(iris), ["coordinates 0 and 1"]),
        (network.fit(iris), [f"layer {i} ({k} centres)" for i, k in ((1, 74), (2, 37), (3, 18), (4, 9))]),
        (pf.BootstrapClustering(3, network=network, random_state=0).fit(iris), ["map"]),
        (make_pipeline(StandardScaler(), pf.ModularAutoencoder(3, 2, random_state=0)).fit(iris), 4),
        (FrozenEstimator(pf.ModularKernelPCA(3, 2, random_state=0).fit(iris)), 4),
        (pf.ModularClassifier(pf.ModularKernelPCA(3, 2, random_state=0)).fit(iris, target), 4),
        (pf.ModularNeighbors(pf.ModularKernelPCA(3, 2, random_state=0), n_neighbors=3).fit(iris), 4),
        (iris[:, :3], ["coordinates 0 and 1", "coordinates 1 and 2"]),
    ):
        (one,) = Page(explore(fitted, iris, y=target, path=tmp_path / "p.html", diversities=[0.5])).chapters
        shown = names(one)
        assert (len(shown) if isinstance(expected, int) else shown) == expected, fitted


def test_clusters_and_rival_views_come_with_the_points(tmp_path):
    network = pf.MultilayerBootstrapNetwork(3, n_classes=3, n_clusterings=20, feature_fraction=0.5, random_state=0)
    iris = load_iris().data
    model = pf.BootstrapClustering(3, network=network, random_state=0).fit(iris)
    (one,) = Page(explore(model, iris, views={"raw": iris[:, :2]}, path=tmp_path / "p.html")).chapters
    assert one["columns"][one["color"]]["name"] == "cluster"
    assert one["columns"][0]["values"] == model.labels_.tolist()
    assert names(one) == ["map", "raw"]


def test_autoencoders_show_what_they_rebuild(tmp_path):
    model = pf.ModularAutoencoder(3, 4, random_state=0).fit(X)
    (one,) = Page(explore(model, X, images=IMAGES, path=tmp_path / "p.html", diversities=[])).chapters
    error = np.sqrt(np.mean((model.inverse_transform(model.transform(X)) - X) ** 2, axis=1))
    assert one["rebuilt"]["url"].startswith("data:image/webp")
    np.testing.assert_allclose(one["columns"][-1]["values"], error, rtol=1e-4)


def test_tables_and_sparse_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 20], "b": X[:, 30], "c": X[:, 40]})
    fitted = pf.KernelEmbedding(2, random_state=0).fit(frame)
    (one,) = Page(explore(fitted, frame, path=tmp_path / "p.html")).chapters
    assert [c["name"] for c in one["columns"]] == ["a", "b", "c"]
    fitted = pf.KernelEmbedding(2, random_state=0).fit(X)
    dense, sparse = (
        dict(Page(explore(fitted, rows, path=tmp_path / "p.html")).chapters[0]["steps"][0]["figures"])
        for rows in (X, sp.csr_array(X))
    )
    assert dense == pytest.approx(sparse, abs=1e-3)


def test_missing_values_in_columns_are_shown_as_such(tmp_path):
    values = np.where(np.arange(300) % 2, np.nan, 1.5)
    words = np.array([None, "a"] * 150, dtype=object)
    (one,) = Page(explore(X[:, 2:4], X, columns={"v": values, "n": words}, path=tmp_path / "p.html")).chapters
    assert one["columns"][0]["values"][:2] == [1.5, None]
    assert one["columns"][1]["classes"] == ["a", "missing"]


@pytest.mark.parametrize("scale", [2.0**-400, 1.0, 2.0**400])
def test_places_do_not_depend_on_the_unit(scale, rng):
    plane = rng.standard_normal((200, 2))
    np.testing.assert_array_equal(pack_points(plane)[0], pack_points(scale * plane)[0])


@pytest.mark.parametrize("shape", [(30, 21), (21, 30, 3)])
def test_thumbnails_are_means_of_areas(shape, rng):
    images = rng.randint(256, size=(3, *shape)).astype(np.uint8)
    small = _shrunk(images, 16)
    height, width = (round(16 * length / 30) for length in shape[:2])
    rows = np.repeat(images.astype(float), height, axis=1).reshape(3, height, shape[0], *shape[1:]).mean(axis=2)
    expected = np.repeat(rows, width, axis=2).reshape(3, height, width, shape[1], *shape[2:]).mean(axis=3)
    assert small.dtype == np.uint8
    assert np.abs(small - expected).max() <= 0.51


def test_constant_coordinates_and_far_points_are_drawn(rng):
    packed, beyond = pack_points(np.zeros((5, 2)))
    assert beyond == 0
    assert len(np.unique(packed, axis=0)) == 1
    plane = np.vstack([rng.standard_normal((500, 2)), [[1e9, 0]]])
    packed, beyond = pack_points(plane)
    assert beyond == 1
    assert len(np.unique(packed[:500], axis=0)) > 400


def test_a_label_that_is_a_column_has_its_name(tmp_path):
    columns = {"digit": Y, "first": X[:, 2]}
    (one,) = Page(explore(X[:, 2:4], X, y=Y, columns=columns, path=tmp_path / "p.html")).chapters
    assert [column["name"] for column in one["columns"]] == ["digit", "first"]
    assert one["color"] == 0


def test_it_is_said_how_many_parts_are_shown(tmp_path):
    few = X[:60]
    for model, parts, shown in (
        (pf.ModularKernelPCA(9, 2, rank=40, random_state=0).fit(few), 9, 5),
        (PCA(30).fit(few), 30, 12),
        (PCA(7).fit(few), 7, 7),
    ):
        (one,) = Page(explore(model, few, path=tmp_path / "p.html", diversities=[])).chapters
        assert (one["parts"], one["shown"]) == (parts, shown)


def test_several_models_make_one_page(model, tmp_path):
    parts = [chapter(model, X, name=name, note="Look.", table=[["a", "b"], [1, 2]], diversities=[]) for name in "xy"]
    page = Page(write_page(parts, tmp_path / "p.html", title="Both"))
    assert page.title == "Both"
    assert [(c["name"], c["table"][1]) for c in page.chapters] == [("x", ["1", "2"]), ("y", ["1", "2"])]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"y": [1, 2]}, ValueError, "y must have 300 values"),
        ({"images": np.zeros((2, 8, 8))}, ValueError, "images must have shape \\(300, height, width\\)"),
        ({"images": np.zeros((300, 8, 8, 7))}, ValueError, "images must have shape"),
        ({"columns": {"a": [1]}}, ValueError, "columns\\['a'\\] must have 300 values"),
        ({"columns": [1, 2]}, TypeError, "columns must be a mapping"),
        ({"max_points": 1}, ValueError, "max_points must be an integer >= 3"),
        ({"views": {"v": np.zeros((2, 2))}}, ValueError, "one row for each of the 300 rows"),
        ({"diversities": [2.0]}, ValueError, "diversity must be"),
    ],
)
def test_bad_input_is_named_and_leaves_no_file(model, tmp_path, change, error, message):
    with pytest.raises(error, match=message):
        explore(model, X, path=tmp_path / "p.html", **change)
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_representation_is_refused(tmp_path):
    path = tmp_path / "p.html"
    with pytest.raises(TypeError, match="model must be a fitted representation"):
        explore(LogisticRegression(), X, path=path)
    with pytest.raises(NotFittedError):
        explore(pf.ModularKernelPCA(), X, path=path)
    with pytest.raises(ValueError, match="at least 3 rows"):
        explore(X[:2], X[:2], path=path)
    with pytest.raises(ValueError, match="finite"):
        explore(np.full((300, 2), np.nan), X, path=path)


@pytest.mark.filterwarnings("ignore::polyfold.exceptions.GuessWarning")  # of a small network
def test_the_levels_of_a_clusterer_are_in_the_page(tmp_path):
    network = pf.MultilayerBootstrapNetwork(2, n_clusterings=20, random_state=0)
    model = pf.BootstrapClustering(network=network, random_state=0).fit(X[:200])
    (content,) = Page(explore(model, X, path=tmp_path / "levels.html")).chapters
    numbers = list(model.level_scores_)
    assert [level["name"] for level in content["levels"]] == [f"{number} clusters" for number in numbers]
    assert [number for number, level in zip(numbers, content["levels"], strict=True) if level["chosen"]] == [
        model.n_clusters_
    ]
    clusters = (
        f"into {model.n_clusters_} clusters; the slider shows {numbers[0]} to {numbers[-1]} (BootstrapClustering)."
    )
    assert content["note"].endswith(clusters)
    for number, level in zip(numbers, content["levels"], strict=True):
        assert level["kind"] == "class"
        shown = [int(level["classes"][code]) for code in level["values"]]
        np.testing.assert_array_equal(shown, model.predict(X, n_clusters=number))


def test_models_without_levels_have_none_in_the_page(page):
    assert page.chapters[0]["levels"] == []


def test_clusters_axes_and_modules_have_the_names_of_the_explanation(model, tmp_path):
    clusterer = pf.KernelClustering(kernel="laplacian_eigenmaps", random_state=0).fit(X)
    explanation = pf.explain(clusterer, X, images=(8, 8), levels=True, random_state=0)
    (one,) = Page(explore(clusterer, X, images=IMAGES, explanation=explanation, path=tmp_path / "p.html")).chapters
    for number, level in enumerate(one["levels"]):
        assert level["names"] == [explanation.names[f"level {number} cluster {label}"] for label in level["classes"]]
    labels = pf.explain(clusterer, X, images=(8, 8), random_state=0)
    (one,) = Page(explore(clusterer, X, images=IMAGES, explanation=labels, path=tmp_path / "p.html")).chapters
    assert one["columns"][0]["names"] == [labels.names[f"cluster {label}"] for label in one["columns"][0]["classes"]]
    assert [("names" in level) for level in one["levels"]] == [level["chosen"] for level in one["levels"]]
    modules = pf.explain(model, X, random_state=0)
    (one,) = Page(explore(model, X, explanation=modules, path=tmp_path / "p.html", diversities=[])).chapters
    about = [view["about"] for view in one["steps"][0]["views"]]
    assert about == ["", *(modules.names[f"module {m}"] for m in range(4))]


def test_axes_have_strips_or_features(tmp_path):
    Z = PCA(3).fit_transform(X)
    explanation = pf.explain(Z, X, images=(8, 8), random_state=0)
    other = {"raw": pf.explain(X[:, 2:4], X, images=(8, 8), random_state=0)}
    page = write_page([chapter(Z, X, explanation=explanation, compared=other)], tmp_path / "p.html", title="t")
    (one,) = Page(page).chapters
    assert [axis["name"] for axis in one["axes"]] == [
        "axis 0", "axis 1", "axis 2", "raw, axis 0", "raw, axis 1",
    ]  # fmt: skip
    assert {axis["strip"]["count"] for axis in one["axes"]} == {7}
    assert one["steps"][0]["views"][1]["axes"] == [
        [explanation.names[f"axis {k} {end}"] for end in ("low", "high")] for k in (1, 2)
    ]
    plain = pf.explain(Z, X[:, 20:24], feature_names=list("abcd"), random_state=0)
    (one,) = Page(explore(Z, X, explanation=plain, path=tmp_path / "p.html")).chapters
    table = plain.tables["axes"]
    for k, axis in enumerate(one["axes"]):
        for name, strength, _ in axis["features"]:
            (i,) = np.flatnonzero((table["axis"] == k) & (table["feature"] == name))
            assert strength == pytest.approx(table["strength"][i], rel=0.01)
            assert strength > table["null"][i]


def test_a_clusterer_in_a_pipeline_shows_its_clusters_on_a_map(tmp_path):
    iris = load_iris().data
    inner = pf.KernelClustering(3, kernel="laplacian_eigenmaps", random_state=0)
    model = make_pipeline(StandardScaler(), inner).fit(iris)
    (one,) = Page(explore(model, iris, path=tmp_path / "p.html")).chapters
    assert names(one) == ["map"]
    assert [one["columns"][0]["classes"][code] for code in one["columns"][0]["values"]] == [
        str(label) for label in model[-1].labels_
    ]
    assert one["note"].startswith("150 rows with 4 columns, grouped by similarity into 3 clusters")
    mine = np.arange(300.0).reshape(150, 2)
    (one,) = Page(explore(model, iris, views={"other": iris[:, :2], "map": mine}, path=tmp_path / "p.html")).chapters
    assert names(one) == ["map", "other"]


def test_a_clusterer_without_coordinates_shows_its_labels_and_noise(tmp_path):
    model = DBSCAN(eps=18).fit(X)
    assert -1 in model.labels_
    (one,) = Page(explore(model, X, max_points=200, path=tmp_path / "p.html")).chapters
    assert names(one) == ["map"]
    shown = [int(one["columns"][0]["classes"][code]) for code in one["columns"][0]["values"]]
    np.testing.assert_array_equal(shown, model.labels_[one["rows"]])
    with pytest.raises(ValueError, match="cannot label new rows"):
        explore(model, X[:100], path=tmp_path / "new.html")


def test_a_map_named_by_the_user_comes_first(model, tmp_path):
    views = {"PCA": X[:, 2:4], "map": X[:, 20:22]}
    (one,) = Page(explore(model, X, views=views, path=tmp_path / "p.html", diversities=[0, 0.99])).chapters
    assert names(one) == ["map", "all modules", *(f"module {m}" for m in range(4)), "PCA"]


def test_rows_of_a_long_table_go_next_to_their_neighbours_on_the_map(monkeypatch, rng):
    monkeypatch.setattr("polyfold.report._views._PLACED", 60)
    rows = np.repeat(np.eye(3), 50, axis=0) * 20 + rng.standard_normal((150, 3))
    plane = map_plane(rows, rng)
    assert plane.shape == (150, 2)
    centres = plane.reshape(3, 50, 2).mean(axis=1)
    away = np.linalg.norm(plane[:, None] - centres, axis=2)
    assert (np.argmin(away, axis=1) == np.repeat([0, 1, 2], 50)).mean() > 0.95


@pytest.mark.parametrize("sparse", [False, True])
def test_of_many_columns_those_that_the_representation_explains_are_kept(tmp_path, sparse, rng):
    Z = rng.standard_normal((4000, 2))
    noise = rng.standard_normal((4000, 200))
    noise[:, 150:153] = Z @ rng.standard_normal((2, 3)) + 0.1 * noise[:, 150:153]
    rows = sp.csr_array(noise) if sparse else noise
    (one,) = Page(explore(Z, rows, path=tmp_path / "p.html")).chapters
    kept = [column["name"] for column in one["columns"]]
    assert len(kept) == 75  # 300,000 values
    assert {"x150", "x151", "x152"} <= set(kept)
    np.testing.assert_allclose(one["columns"][kept.index("x151")]["values"], noise[:, 151], rtol=1e-4, atol=1e-5)


def test_labels_beyond_forty_are_classes_unless_nearly_all_differ(tmp_path):
    for y, kind in ((np.arange(300) // 4, "class"), (np.arange(300), "number"), (np.arange(300) / 7, "number")):
        (one,) = Page(explore(X[:, 2:4], X, y=y, path=tmp_path / "p.html")).chapters
        assert (one["columns"][0]["kind"], one["columns"][0]["role"]) == (kind, "label")


def test_texts_are_stored_for_the_rows_shown(tmp_path):
    texts = [f"text {i} " + 400 * "a" for i in range(300)]
    (one,) = Page(explore(X[:, 2:4], X, texts=texts, max_points=50, path=tmp_path / "p.html")).chapters
    assert [text.split()[1] for text in one["texts"]] == [str(row) for row in one["rows"]]
    assert {len(text) for text in one["texts"]} == {300}
    assert "the" in one["stop"]
    with pytest.raises(ValueError, match="texts must have 300 entries"):
        explore(X[:, 2:4], X, texts=["a"], path=tmp_path / "p.html")
