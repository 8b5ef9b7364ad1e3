"""What the explorer's page tells about clusters and selections, compared with numpy."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import polyfold as pf
from polyfold.report import chapter, explore, write_page
from tests.browser.test_explorer import canvases, selected, settled

webdriver = pytest.importorskip("selenium.webdriver")
pandas = pytest.importorskip("pandas")
Keys = webdriver.Keys
N = 300
EVIL = "<img src=x onerror=window.hacked=1></script><script>window.hacked=1</script>"


@pytest.fixture(scope="module")
def table():
    """Three planted clusters: income tells the first, a plan the second, visits the third."""
    rng = np.random.RandomState(0)
    group = np.repeat([0, 1, 2], [150, 90, 60])
    return pandas.DataFrame(
        {
            "customer": [f"C{i:04d}" for i in range(N)],
            "income": np.where(group == 0, 90, 30) + rng.normal(0, 5, N).round(1),
            "visits": np.where(group == 2, 12, 3) + rng.randint(0, 3, N),
            "plan": np.where(group == 1, "gold", rng.choice(["basic", "silver"], N)),
            "noise": rng.standard_normal(N),
        }
    )


@pytest.fixture(scope="module")
def clusters(table):
    numbers = table[["income", "visits"]].assign(plan=(table["plan"] == "gold") * 30.0)
    return KMeans(3, n_init=5, random_state=0).fit(numbers), numbers


@pytest.fixture(scope="module")
def page(table, clusters, tmp_path_factory):
    model, numbers = clusters
    explanation = pf.explain(model.labels_, table.drop(columns="customer"), random_state=0)
    path = tmp_path_factory.mktemp("page") / "table.html"
    return explore(
        model, numbers, columns=table, explanation=explanation, views={"map": numbers.to_numpy()[:, :2]}, path=path
    )


def press(browser, code, *, more=False):
    event = f"new MouseEvent('click', {{bubbles: true, shiftKey: {str(more).lower()}}})"
    browser.js(f"document.querySelector('#legend [data-code=\"{code}\"]').dispatchEvent({event})")


def differences(browser):
    """Name, value here and value of the others, of every bar."""
    read = "[r.children[0].textContent, r.querySelector('b').textContent, r.children[2].lastChild.textContent.trim()]"
    return browser.js(f"[...document.querySelectorAll('.difference:not(.head)')].map(r => {read})")


def rounded(inside, outside):
    """Means are shown with two digits of their difference."""
    return pytest.approx((inside, outside), abs=0.051 * abs(inside - outside))


def visible_labels(browser):
    """Boxes of the names that are shown on the map, in order of size of their clusters."""
    return browser.js(
        "explorer.labels.labels.filter(l => l.node.style.visibility === 'visible')"
        ".map(l => (b => [b.left, b.top, b.right, b.bottom])(l.node.getBoundingClientRect()))"
    )


def test_the_page_opens_with_what_a_colleague_needs(browser, page, clusters):
    browser.open(page)
    assert "300 rows with 3 columns, grouped by similarity into 3 clusters" in browser.find("#note").text
    assert browser.find("#groups-title").text == "3 clusters"
    sizes = [int(size.text) for size in browser.all("#legend .size")]
    assert sizes == sorted(np.bincount(clusters[0].labels_).tolist(), reverse=True)
    first = browser.find("#legend button")
    assert "income high" in first.find_element("css selector", ".name").text
    assert "income" in first.find_element("css selector", ".about").text
    assert not browser.find("#figures").is_displayed()
    browser.find("#more summary").click()
    assert "not the test accuracy" in browser.js("JSON.stringify(FIGURES)")
    assert browser.find("#figures").is_displayed()
    assert browser.find(".panel figcaption").text.startswith("map")


def test_a_cluster_shows_by_which_columns_it_differs_and_typical_rows(browser, page, table, clusters):
    labels = clusters[0].labels_
    browser.open(page)
    for code in range(3):
        press(browser, code)
        inside = table[labels == code].select_dtypes("number").mean()
        outside = table[labels != code].select_dtypes("number").mean()
        found = differences(browser)
        assert found
        names = [name for name, *_ in found]
        assert "noise" not in names[:1]
        for name, here, rest in found:
            if name in inside:
                assert (float(here), float(rest)) == rounded(inside[name], outside[name])
        rows = [int(link.text) for link in browser.all("#selection td .link")]
        assert len(rows) == 6
        assert (labels[rows] == code).all()
    gold = int(labels[np.flatnonzero(table["plan"] == "gold")[0]])
    press(browser, gold)
    top = {name: (here, rest) for name, here, rest in differences(browser)}
    assert top["plan: gold"] == ("100 %", "0 %")
    browser.all("#selection td .link")[0].click()
    assert browser.find("#neighbors p").text.startswith("Row ")


def test_two_selections_are_compared(browser, page, table, clusters):
    labels = clusters[0].labels_
    browser.open(page)
    assert not browser.find("#compare").is_displayed()
    press(browser, 0)
    browser.find("#compare").click()
    assert "to compare them with" in browser.find("#selection").text
    press(browser, 1)
    assert "compared with" in browser.find("#count").text
    means = [table[labels == code][["income", "visits"]].mean() for code in (1, 0)]
    found = {name: (float(here), float(rest)) for name, here, rest in differences(browser) if name in means[0]}
    assert found
    for name, values in found.items():
        assert values == rounded(means[0][name], means[1][name])
    browser.find("#compare").click()
    rest = table[labels != 1][["income", "visits"]].mean()
    for name, here, value in differences(browser):
        if name in rest:
            assert (float(here), float(value)) == rounded(means[0][name], rest[name])


def test_classes_are_added_with_shift_and_cleared_with_escape(browser, page, clusters):
    counts = np.bincount(clusters[0].labels_)
    browser.open(page)
    press(browser, 0)
    press(browser, 2, more=True)
    assert set(selected(browser)) == {int(counts[0] + counts[2])}
    assert [b.get_attribute("aria-pressed") for b in browser.all("#legend button")].count("true") == 2
    webdriver.ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    assert set(selected(browser)) == {0}
    browser.js("document.querySelector('#legend button').focus()")
    webdriver.ActionChains(browser.driver).send_keys(Keys.ENTER).perform()
    assert max(selected(browser)) == counts.max()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Sixty labels, numbered, each a small blob."""
    rng = np.random.RandomState(0)
    y = np.repeat(np.arange(60), np.arange(60) // 6 + 5)
    X = rng.uniform(-1, 1, (60, 2))[y] + 0.03 * rng.standard_normal((len(y), 2))
    return explore(X, X, y=y, path=tmp_path_factory.mktemp("many") / "many.html"), y


def test_names_do_not_overlap_larger_come_first_and_zoom_shows_more(browser, many):
    path, y = many
    browser.open(path, width=700, height=700)
    boxes = np.array(visible_labels(browser))
    assert 5 < len(boxes) < 60
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    largest = np.argsort(-np.bincount(y), kind="stable")[0]
    shown = browser.js("explorer.labels.labels.map(l => [l.node.textContent, l.node.style.visibility])")
    assert shown[0] == [str(largest), "visible"]
    hidden = {text for text, state in shown if state == "hidden"}
    for _ in range(3):
        browser.find("[data-zoom=in]").click()
    settled(browser)
    zoomed = browser.js("explorer.labels.labels.map(l => [l.node.textContent, l.node.style.visibility])")
    assert hidden & {text for text, state in zoomed if state == "visible"}
    browser.find("#names").click()
    assert visible_labels(browser) == []


def test_more_than_forty_labels_keep_their_buttons_and_colours(browser, many):
    path, y = many
    browser.open(path)
    assert len(browser.all("#legend button")) == 60
    assert len(set(browser.js("explorer.coloring.colors"))) == 60
    press(browser, 59)
    assert selected(browser) == [int(np.sum(y == 59))]


def test_a_lasso_without_labels_is_described_by_the_columns_of_the_array(browser, tmp_path):
    rng = np.random.RandomState(0)
    X = np.column_stack([np.repeat([0.0, 5.0], N // 2), np.zeros(N), rng.standard_normal(N)])
    X[:, :2] += 0.1 * rng.standard_normal((N, 2))
    browser.open(explore(X[:, :2], X, path=tmp_path / "plain.html"))
    assert not browser.find("#groups").is_displayed()
    browser.js("explorer.choose([...Array(150).keys()], 'Selected rows')")
    ((name, here, rest),) = differences(browser)
    assert name == "x0"
    assert (float(here), float(rest)) == rounded(X[:150, 0].mean(), X[150:, 0].mean())


def test_nothing_scrolls_sideways_with_everything_open(browser, page, many):
    for path in (page, many[0]):
        for width in (1400, 1100, 390):
            browser.open(path, width=width, height=900)
            browser.js("document.querySelectorAll('details').forEach(d => { d.open = true })")
            press(browser, 0)
            settled(browser)
            assert browser.js("document.documentElement.scrollWidth") <= width


def test_a_plot_larger_than_the_window_is_drawn_whole(browser, many):
    browser.open(many[0], width=1400, height=400)
    drawn, needed = browser.js(
        "[explorer.panels.renderer.canvas.height, document.querySelector('.plot').getBoundingClientRect().height]"
    )
    assert needed > 400
    assert drawn >= needed - 1


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    digits = load_digits()
    X, y, pictures = digits.data[:N], digits.target[:N], digits.images[:N]
    axes = pf.NonRedundantEmbedding(2, kernel="rbf", random_state=0).fit(X)
    modules = pf.ModularKernelPCA(3, 2, rank=50, random_state=0).fit(X)
    frame = pandas.DataFrame(X[:, 18:24], columns=[f"pixel {j}" for j in range(6)])
    explanations = [
        pf.explain(axes, X, images=(8, 8), random_state=0),
        pf.explain(modules.transform_modules(X), frame, random_state=0),
    ]
    parts = [
        chapter(axes, X, y=y, images=pictures, explanation=explanations[0], name="Axes"),
        chapter(modules, X, y=y, images=pictures, explanation=explanations[1], name="Modules", note="Three modules."),
    ]
    path = write_page(parts, tmp_path_factory.mktemp("images") / "images.html", title="Images")
    return path, pictures, y, explanations


def test_a_selection_of_images_shows_the_mean_image(browser, images):
    path, pictures, y, _ = images
    browser.open(path)
    press(browser, 3)
    values = browser.js(
        "(c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data])"
        "(document.querySelector('#selection .mean'))"
    )
    shown = np.array(values).reshape(8, 8, 4)[..., 0]
    expected = 255 * pictures[y == 3].mean(axis=0) / pictures.max()
    assert np.abs(shown - expected).mean() < 6  # thumbnails are compressed
    rows = [
        int(b.get_attribute("aria-label").split(",")[0].removeprefix("row ")) for b in browser.all("#selection .point")
    ]
    assert (y[rows] == 3).all()


def test_axes_and_modules_carry_their_names(browser, images):
    path, _, _, (axes, modules) = images
    browser.open(path)
    ends = browser.js("[...document.querySelectorAll('.panel .end')].map(e => e.textContent)")
    assert [f"← {axes.names['axis 0 low']}", f"{axes.names['axis 0 high']} →"] == ends[:2]
    assert [f"↓ {axes.names['axis 1 low']}", f"↑ {axes.names['axis 1 high']}"] == ends[2:]
    strips = browser.all("#axes .images")
    assert [len(strip.find_elements("css selector", ".thumb")) for strip in strips] == [7, 7]
    browser.all("#tabs button")[1].click()
    browser.until("document.documentElement.dataset.ready === '1'")
    assert browser.find("#note").text == "Three modules."
    captions = browser.js(
        "[...document.querySelectorAll('.panel figcaption span:first-child')].map(c => c.textContent)"
    )
    assert captions == ["all modules", *(f"module {m}: {modules.names[f'module {m}']}" for m in range(3))]


def test_texts_are_described_by_words_and_scripts_in_them_never_run(browser, tmp_path):
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1], N // 2)
    words = [["card", "arrived", "waiting"], ["refund", "shop", "return"]]
    texts = [f"{rng.choice(words[c])} {rng.choice(words[c])} my question" for c in y]
    texts[0] += EVIL
    X = np.column_stack([9 * y, rng.standard_normal(N), rng.standard_normal(N)])
    model = KMeans(2, n_init=2, random_state=0).fit(X)
    explanation = pf.explain(model.labels_, X, texts=texts, random_state=0)
    explanation.names["cluster 0"] += EVIL
    labels = np.array([EVIL, "other"])[y]
    path = explore(
        model, X, y=labels, texts=texts, explanation=explanation, columns={EVIL: labels}, views={EVIL: X[:, :2]},
        path=tmp_path / "texts.html", title=EVIL,
    )  # fmt: skip
    browser.open(path)
    code = int(model.labels_[0])
    press(browser, code)
    bars = {name for name, *_ in differences(browser) if not name.startswith("<")}
    assert bars <= {*words[0], "img", "src", "onerror", "window", "hacked", "script"}
    assert len(bars & set(words[0])) == 3
    assert all("card" in t or "arrived" in t or "waiting" in t for t in (b.text for b in browser.all(".texts .link")))
    browser.find("#compare").click()
    press(browser, 1 - code)
    browser.find("#point").send_keys("0", Keys.ENTER)
    assert EVIL in browser.find("#neighbors").text
    assert browser.js("window.hacked === undefined")
    assert browser.js("performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length") == 0


def test_quick_changes_of_all_controls_leave_the_last_state_and_no_message(browser, tmp_path):
    digits = load_digits()
    X, y = digits.data[:N], digits.target[:N]
    modules = pf.ModularKernelPCA(3, 2, rank=50, random_state=0).fit(X)
    clusters = pf.KernelClustering(kernel="laplacian_eigenmaps", random_state=0).fit(X)
    parts = [chapter(modules, X, y=y, name="Modules"), chapter(clusters, X, y=y, name="Clusters")]
    browser.open(write_page(parts, tmp_path / "quick.html", title="Quick"), motion=True)
    browser.js(
        """(() => {
          const send = (id, value) => Object.assign(get(id), { value }).dispatchEvent(new Event("input"));
          for (let k = 0; k < 30; k++) send("slider", k % 7);
          document.querySelectorAll("#tabs button")[1].click();
          get("theme").click();
          document.querySelectorAll("#tabs button")[0].click();
          send("slider", 2);
          document.querySelectorAll("#tabs button")[1].click();
          for (let k = 0; k < 30; k++) send("level", k % explorer.chapter.levels.length);
        })()"""
    )
    settled(browser, 1500)
    browser.until("!explorer.panels.running")
    assert browser.find("#clusters").text == browser.js(
        "explorer.chapter.levels[29 % explorer.chapter.levels.length].name"
    )
    assert len(canvases(browser)) == 1
    assert browser.errors() == []
