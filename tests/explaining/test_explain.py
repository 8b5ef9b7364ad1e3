import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polyfold as pf
from polyfold._threads import using_threads
from polyfold.exceptions import MissingExtraError
from polyfold.explaining import _strengths as strengths
from polyfold.explaining._features import distinct_names, relative_ranks
from tests.catalog import ONE_EACH

SKIPPED = ("ModularRegressor",)  # it predicts values, and has nothing to explain


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def blobs(rng, n=90):
    """Three clusters: the first is high in column 0, the second low in column 1, the third has neither."""
    labels = np.arange(n) % 3
    X = rng.randn(n, 4)
    X[labels == 0, 0] += 4
    X[labels == 1, 1] -= 4
    return X, labels


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, marks=pytest.mark.torch if entry.needs_torch else ())
        for entry in ONE_EACH
        if type(entry.estimator).__name__ not in SKIPPED
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_of_the_library_is_explained(entry, rng):
    X, _ = blobs(rng)
    given = entry.given(X)
    model = entry.new().fit(given, entry.y(len(X)))
    explanation = pf.explain(model, given, n_top=2, random_state=0)
    assert len(explanation.tables) == 1
    (table,) = explanation.tables.values()
    assert {type(value) for value in explanation.names.values()} == {str}
    assert len(table["feature"]) >= given.shape[1]
    for lists in explanation.prototypes.values():
        assert all((rows >= 0).all() and (rows < len(X)).all() for rows in lists.values())
    again = pf.explain(model, given, n_top=2, random_state=0)
    assert again.names == explanation.names


def test_clusters_are_named_by_what_sets_them_apart(rng):
    X, labels = blobs(rng)
    names = ["income", "visits", "age", "noise"]
    explanation = pf.explain(labels, X, feature_names=names, random_state=0)
    assert explanation.names["cluster 0"].startswith("income high")
    assert explanation.names["cluster 1"].startswith("visits low")
    assert len(set(explanation.names.values())) == 3
    table = explanation.clusters
    first = table[(table.cluster == 0) & (table["rank"] == 1)].iloc[0]
    assert (first.feature, first["size"]) == ("income", 30)
    assert first.low < first.effect < first.high
    np.testing.assert_allclose(first.inside, X[labels == 0, 0].mean())


def test_model_and_array_of_its_results_give_the_same(rng):
    X, _ = blobs(rng)
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    assert pf.explain(model, X, random_state=0).names == pf.explain(model.labels_, X, random_state=0).names
    embedding = pf.KernelEmbedding(2, random_state=0).fit(X)
    one, other = (pf.explain(given, X, random_state=0) for given in (embedding, embedding.transform(X)))
    np.testing.assert_allclose(one.tables["axes"]["strength"], other.tables["axes"]["strength"])


class Hierarchy(BaseEstimator):
    """A clusterer with levels, as far as `explain` uses it: column 4 is 1 in one cluster, column 5 in another."""

    def fit(self, X, y=None):
        self.levels_ = [self.predict(X, 2), self.predict(X, 3)]
        self.labels_ = self.levels_[1]
        return self

    def predict(self, X, n_clusters=None):
        return (X[:, 4] + (0 if n_clusters == 2 else 2 * X[:, 5])).astype(int)


def test_a_cluster_of_one_row_and_names_left_out_are_written_as_such(rng, tmp_path):
    X = rng.randn(60, 3)
    few, many = pf.explain(np.arange(60) == 0, X), pf.explain(np.arange(60) % 12, X)
    few.to_html(tmp_path / "e.html")
    page = (tmp_path / "e.html").read_text(encoding="utf-8")
    assert ", 1 row<" in page
    assert ", 59 rows<" in page
    assert "…" not in repr(few)
    assert repr(many).endswith("… (12 in all))")


def test_every_level_of_clusters_is_explained_and_equal_clusters_share_a_name(rng):
    X, labels = blobs(rng)
    X = np.column_stack([X, labels == 0, labels == 1])
    model = Hierarchy().fit(X)
    alone = pf.explain(model, X, random_state=0).names
    assert set(alone) == {"cluster 0", "cluster 1", "cluster 2"}
    explanation = pf.explain(model, X, levels=True, random_state=0)
    assert {f"level 1 {key}": name for key, name in alone.items()}.items() <= explanation.names.items()
    assert set(explanation.tables["clusters"]["level"]) == {0, 1}
    assert explanation.names["level 0 cluster 1"] == explanation.names["level 1 cluster 1"]
    different = [explanation.names[key] for key in ("level 0 cluster 0", "level 1 cluster 0", "level 1 cluster 2")]
    assert len(set(different)) == 3
    new = pf.explain(model, X[:60], levels=True, random_state=0)  # predicted
    assert set(new.names) == set(explanation.names)


def test_pca_loadings_order_the_strengths(rng):
    X = StandardScaler().fit_transform(rng.randn(1000, 6) @ rng.randn(6, 6))
    pca = PCA(3).fit(X)
    model = pf.KernelEmbedding(3, kernel="linear", random_state=0).fit(X)
    strength = pf.explain(model, X, random_state=0).axes.pivot(index="axis", columns="feature", values="strength")
    loadings = pca.components_**2 * pca.explained_variance_[:, None]
    np.testing.assert_allclose(strength, loadings, atol=0.02)
    assert (np.argsort(strength.to_numpy(), axis=1)[:, -3:] == np.argsort(loadings, axis=1)[:, -3:]).all()


def test_features_that_repeat_others_share_their_rank(rng):
    x, noise = rng.randn(2, 300)
    X = np.column_stack([x, x + 0.05 * rng.randn(300), noise, rng.randn(300)])
    table = pf.explain(x + 0.5 * noise, X, feature_names=["a", "copy", "b", "c"], random_state=0).axes
    rows = table.set_index("feature")
    leader, copy = ("a", "copy") if rows.repeats["copy"] == "a" else ("copy", "a")
    assert rows.repeats[copy] == leader
    assert rows["rank"][copy] == rows["rank"][leader] == 1
    assert rows["rank"]["b"] == 2
    assert rows.joint["b"] > 0.95


def test_axes_have_shapes_and_ends(rng):
    x, y = rng.randn(2, 400)
    X = np.column_stack([x, y, rng.randn(400)])
    explanation = pf.explain(np.column_stack([-2 * x, y**2]), X, feature_names=["x", "y", "z"], random_state=0)
    table = explanation.axes.set_index(["axis", "feature"])
    assert table["shape"][0, "x"] == "falling"
    assert table["shape"][1, "y"] == "mixed"
    assert explanation.names["axis 0 low"] == "x high"
    assert explanation.names["axis 0 high"] == "x low"
    assert explanation.names["axis 1 low"] == "y medium"
    assert explanation.names["axis 1 high"] == "y extreme"


def test_an_axis_that_no_feature_explains_has_no_invented_name(rng):
    explanation = pf.explain(rng.randn(200, 1), rng.randn(200, 3), random_state=3)
    assert explanation.names["axis 0 low"].startswith("no feature explains it")
    assert not np.isfinite(explanation.tables["axes"]["joint"]).any()


def test_tables_have_categories_dates_and_missing_values(rng):
    pd = pytest.importorskip("pandas")
    n = 200
    group = rng.randint(2, size=n)
    frame = pd.DataFrame(
        {
            "plan": np.where(group == 0, "basic", "gold"),
            "income": rng.randn(n),
            "since": pd.date_range("2020-01-01", periods=n),
            "note": [None, "x"] * (n // 2),
            "count": pd.array([None, 3] * (n // 2), dtype="Int64"),
        }
    )
    frame.loc[::7, "income"] = np.nan
    explanation = pf.explain(group, frame, random_state=0)
    assert explanation.names["cluster 1"].startswith("plan gold")
    table = explanation.clusters.set_index(["cluster", "feature", "value"])
    np.testing.assert_allclose(table["lift"][1, "plan", "gold"], n / group.sum())
    assert set(explanation.clusters.feature) == {"plan", "income", "since", "note", "count"}
    assert np.isfinite(table["effect"]).all()
    axes = pf.explain(group + 0.1 * rng.randn(n), frame, random_state=0).axes
    assert axes.feature[0] == "plan"
    assert axes.strength[0] > 0.9


def test_texts_give_words_and_pairs_of_words(rng):
    questions = ["my card has not arrived", "the exchange rate of the dollar", "don't change my pin code"]
    texts = [f"{questions[i % 3]} {'please help' if rng.rand() < 0.5 else ''}" for i in range(150)]
    labels = np.arange(150) % 3
    explanation = pf.explain(labels, rng.randn(150, 8), texts=texts, random_state=0)
    assert set(explanation.names["cluster 0"].split(", ")) & {"card", "arrived", "card arrived"}
    assert set(explanation.clusters.kind) == {"word"}
    assert "my" not in set(explanation.clusters.feature)
    assert "exchange rate" in set(explanation.clusters.feature)
    assert explanation.examples["cluster 2"][0].startswith("don't change my pin code")
    counts, words = sp.csr_array([[2, 0, 1], [0, 3, 1]] * 20), ["card", "rate", "help"]
    sparse = pf.explain(np.arange(40) % 2, counts, feature_names=words, random_state=0)
    assert sparse.names["cluster 0"].startswith("card")
    axes = pf.explain(counts[:, 0].toarray() + 0.01 * rng.randn(40), counts, feature_names=words, random_state=0)
    assert axes.axes.feature[0] in ("card", "rate")


def test_images_have_walks_and_names_of_regions(rng):
    light = rng.uniform(-1, 1, 150)
    images = 0.5 + 0.4 * light[:, None, None] * np.linspace(-1, 1, 8)[None, None, :] + 0.02 * rng.randn(150, 8, 8)
    explanation = pf.explain(light[:, None], images.reshape(150, -1), images=(8, 8), random_state=0)
    assert explanation.walk.shape == explanation.strips.shape == (1, 7, 64)
    np.testing.assert_array_equal(
        explanation.strips[0], images.reshape(150, -1)[explanation.prototypes["axis 0"]["along"]]
    )
    assert "right bright" in explanation.names["axis 0 high"]
    assert "left bright" in explanation.names["axis 0 low"]
    np.testing.assert_array_less(explanation.walk[0, 0].reshape(8, 8)[:, 7], explanation.walk[0, 6].reshape(8, 8)[:, 7])
    assert explanation.tables["axes"]["feature"][0].startswith("pixel (")
    with pytest.raises(ValueError, match="height and width"):
        pf.explain(light[:, None], images.reshape(150, -1), images=(8, 9))


def test_modules_hold_features_directions_and_pairs(rng):
    X = rng.randn(120, 6)
    modules = np.stack([X[:, :2], X[:, 2:4]])
    explanation = pf.explain(modules, X, feature_names=list("abcdef"), random_state=0)
    table = explanation.modules
    assert set(explanation.names["module 0"].split(", ")) == {"a", "b"}
    assert "direction" in set(table.kind)
    own = table[(table.module == 1) & (table.feature == "c")].iloc[0]
    assert own.strength > 0.99
    assert own.advantage > 0.9
    i, j = explanation.prototypes["module 0"]["separated pairs"][0]
    assert np.linalg.norm(X[i, :2] - X[j, :2]) > 2 * np.linalg.norm(X[i, 2:4] - X[j, 2:4])


def test_sampled_rows_keep_their_numbers(rng):
    X, labels = blobs(rng, 3000)
    explanation = pf.explain(labels, X, max_rows=300, random_state=0)
    assert len(explanation.rows) == 300
    for c in range(3):
        assert (labels[explanation.prototypes[f"cluster {c}"]["typical"]] == c).all()
    assert explanation.names["cluster 0"].startswith("x0 high")


@pytest.mark.parametrize("max_rows", [100, 5000])
def test_rows_in_blocks_give_what_the_array_gives(rng, max_rows):
    X, labels = blobs(rng, 300)
    blocks = [X[:70], X[70:71], X[71:]]
    clusterer = pf.BootstrapClustering(3, random_state=0).fit(X)
    for model in (labels, pf.KernelEmbedding(2, random_state=0).fit(X), clusterer):
        whole, parts = (pf.explain(model, rows, max_rows=max_rows, random_state=0) for rows in (X, blocks))
        assert parts.names == whole.names
        np.testing.assert_array_equal(parts.rows, whole.rows)
        for key, lists in whole.prototypes.items():
            for kind, found in lists.items():
                np.testing.assert_array_equal(parts.prototypes[key][kind], found)
    with pytest.raises(TypeError, match="iterated again"):
        pf.explain(labels, iter(blocks))


def test_columns_of_stored_tables_keep_their_names(rng, tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    pd = pytest.importorskip("pandas")
    X, labels = blobs(rng)
    pd.DataFrame(X, columns=["income", "visits", "age", "noise"]).to_parquet(tmp_path / "rows.parquet")
    explanation = pf.explain(labels, dataset.dataset(tmp_path / "rows.parquet"), random_state=0)
    assert explanation.names["cluster 0"].startswith("income high")


def test_pipelines_are_explained_by_the_columns_they_take(rng):
    pytest.importorskip("pandas")
    frame = load_iris(as_frame=True).data
    model = make_pipeline(StandardScaler(), pf.KernelEmbedding(2, random_state=0)).fit(frame)
    assert set(pf.explain(model, frame, random_state=0).axes.feature) == set(frame.columns)


def test_result_does_not_depend_on_threads(rng):
    X = rng.randn(200, 100)
    Y = strengths.centred(X[:, :2] ** 2)
    found = []
    for count in (1, 2):
        with using_threads(count):
            found.append(strengths.number_strengths(X, relative_ranks(X), Y).fraction)
    np.testing.assert_array_equal(*found)


def test_arrays_are_there_without_pandas(rng, monkeypatch):
    X, labels = blobs(rng)
    explanation = pf.explain(labels, X, random_state=0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert len(explanation.tables["clusters"]["effect"]) == 12
    with pytest.raises(MissingExtraError, match="pip install"):
        _ = explanation.clusters


def test_labels_and_coordinates_may_be_lists_series_and_frames(rng):
    pd = pytest.importorskip("pandas")
    X, labels = blobs(rng)
    expected = pf.explain(labels, X, random_state=0).names
    for given in (labels.tolist(), pd.Series(labels), pd.Series(labels.astype(float))):
        assert pf.explain(given, X, random_state=0).names == expected
    frame = pd.DataFrame(X[:, :2])
    assert pf.explain(frame, X, random_state=0).names == pf.explain(X[:, :2], X, random_state=0).names


@pytest.mark.parametrize(
    ("model", "X", "options", "message"),
    [
        (np.zeros(5), np.zeros((6, 2)), {}, "labels (n,), coordinates"),
        (np.zeros((6, 2)), np.zeros(6), {}, "two dimensions"),
        (np.arange(6), np.zeros((6, 2)), {}, "labels must repeat"),
        (np.full((6, 2), np.nan), np.zeros((6, 2)), {}, "finite numbers"),
        (np.zeros(6), np.zeros((6, 2)), {"feature_names": ["a"]}, "one name for each of the 2 columns"),
        (np.zeros(6), np.zeros((6, 2)), {"texts": ["a"] * 5}, "one entry for each of the 6 rows"),
        (np.zeros(6), np.zeros((6, 2)), {"texts": ["the", "of"] * 3}, "words other than stop words"),
        (np.zeros(6), np.zeros((6, 2)), {"max_rows": 2}, "max_rows must be"),
    ],
)
def test_bad_input_is_refused(model, X, options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        pf.explain(model, X, **options)


def test_unfitted_and_unsuited_models_are_refused(rng):
    with pytest.raises(NotFittedError):
        pf.explain(pf.KernelEmbedding(), rng.randn(20, 2))
    with pytest.raises(TypeError, match="neither transform nor embedding_"):
        pf.explain(StandardScalerWithoutTransform().fit(rng.randn(20, 2)), rng.randn(20, 2))


class StandardScalerWithoutTransform(BaseEstimator):
    """An estimator that gives nothing to rows."""

    def fit(self, X):
        self.n_features_in_ = X.shape[1]
        return self

    def __sklearn_is_fitted__(self):
        return True


def test_constant_columns_and_tiny_data_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = np.column_stack([np.ones(12), np.arange(12.0)])
        pf.explain(np.arange(12) % 2, X, random_state=0)
        pf.explain(np.arange(12.0)[:, None] * 1.5, X, random_state=0)
        pf.explain(np.zeros(12, dtype=int), X, random_state=0)
        pf.explain(np.ones((12, 2)), X, random_state=0)


def test_plots_frames_and_pages(rng, tmp_path):
    pytest.importorskip("matplotlib")
    digits = load_digits()
    X, y = digits.data[:200], digits.target[:200]
    clusters = pf.explain(y, X, images=(8, 8), random_state=0)
    axes = pf.explain(PCA(2).fit_transform(X), X, random_state=0)
    shown = pf.explain(PCA(2).fit_transform(X), X, images=(8, 8), random_state=0)
    assert len(clusters.plot().axes_.ravel()) == 12
    assert axes.plot("axes").axes_.shape == axes.plot("walk").axes_.shape == (1, 2)
    assert shown.plot("walk").axes_.shape == (2, 7)
    with pytest.raises(ValueError, match="needs clusters"):
        axes.plot("clusters")
    frame = clusters.to_frame()
    assert frame.part.iloc[0] == "cluster 0"
    assert set(frame.name) == set(clusters.names.values())
    page = axes.to_html(tmp_path / "page.html", title="<Digits>")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert "&lt;Digits&gt;" in page
    assert "<script" not in page
    assert "http" not in page.replace("data:", "")
    assert "data:image/png" in clusters.to_html()


def test_a_page_writes_large_means_out(rng):
    labels = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 2)) + np.column_stack([1085.4 + 5000 * labels, labels])
    page = pf.explain(labels, X, feature_names=["pay", "age"], random_state=0).to_html()
    assert ">1,085<" in page or ">1,086<" in page
    assert "e+0" not in page


def test_text_that_never_repeats_is_not_a_category():
    pd = pytest.importorskip("pandas")
    labels = np.repeat([0, 1], 20)
    frame = pd.DataFrame({"x": labels + np.linspace(0, 0.5, 40), "note": [f"note {i}" for i in range(40)]})
    explanation = pf.explain(labels, frame.assign(site=np.where(labels, "a", "b")), random_state=0)
    assert set(explanation.clusters["feature"]) == {"x", "site"}


def test_categories_written_as_numbers_are_categories():
    pd = pytest.importorskip("pandas")
    labels = np.arange(300) % 5
    table = pd.DataFrame({"zip": pd.Categorical(labels), "noise": np.random.default_rng(0).standard_normal(300)})
    names = pf.explain(labels, table, random_state=0).names
    assert [names[f"cluster {label}"] for label in range(5)] == [f"zip {label}" for label in range(5)]


def test_the_names_of_walks_are_inside_a_tight_box():
    pytest.importorskip("matplotlib").use("Agg")
    X = load_digits().data[:200]
    figure = pf.explain(X[:, [20, 28]], X, images=(8, 8), random_state=0).plot("walk").figure_
    figure.canvas.draw()
    box, dpi = figure.get_tightbbox(figure.canvas.get_renderer()), figure.dpi
    titles = [text for ax in figure.axes for text in ax.texts]
    assert len(titles) == 2
    assert all(text.get_window_extent().y1 <= dpi * box.y1 + 1 for text in titles)


@pytest.mark.parametrize("names", [["a", "a", "c"], ["b", "a", "a"], ["a", "a", "a"], ["a", "a (2)", "a"]])
def test_repeated_names_get_numbers(rng, names):
    pd = pytest.importorskip("pandas")
    labels = np.arange(120) % 2
    X = rng.standard_normal((120, 3))
    X[:, 1] += 6 * labels
    expected = [*names[:2], f"{names[2]} (3)"] if names[1] == "a (2)" else distinct_names(names)
    for given, options in ((pd.DataFrame(X, columns=names), {}), (X, {"feature_names": names})):
        found = pf.explain(labels, given, random_state=0, **options)
        assert found.feature_names == expected
        assert all(expected[1] in name for name in found.names.values())


def test_names_are_numbered_in_their_order():
    assert distinct_names(["a", "b", "a", 1, "1", "a"]) == ["a", "b", "a (2)", "1", "1 (2)", "a (3)"]
