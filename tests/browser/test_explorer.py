"""The explorer's page in a real browser: what a person does, and what changes."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import polyfold as pf
from polyfold.report import explore

webdriver = pytest.importorskip("selenium.webdriver")
Image = pytest.importorskip("PIL.Image")
ActionChains, Keys = webdriver.ActionChains, webdriver.Keys
TimeoutException = pytest.importorskip("selenium.common.exceptions").TimeoutException
N = 400


@pytest.fixture(scope="module")
def digits():
    digits = load_digits()
    model = pf.ModularKernelPCA(4, 4, diversity=0.9, rank=100, random_state=0).fit(digits.data)
    return model, digits.data[:N], digits.target[:N], digits.images[:N]


@pytest.fixture(scope="module")
def page(digits, tmp_path_factory):
    model, X, y, images = digits
    columns = {"ink": X.sum(axis=1), "name": [f"digit <{i}>" for i in range(N)]}
    path = tmp_path_factory.mktemp("page") / "digits & co.html"
    return explore(
        model, X, y=y, images=images, columns=columns, path=path, diversities=[0, 0.5, 0.99], title="A <b> & C"
    )


@pytest.fixture
def shots(tmp_path_factory):
    """Folder of the screenshots: POLYFOLD_SCREENSHOTS, to look at them, or a temporary one."""
    folder = Path(os.environ.get("POLYFOLD_SCREENSHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def pixels(browser, path):
    for attempt in range(6):  # the driver gives a picture ten seconds, which a busy machine may not have
        try:
            shot = browser.driver.get_screenshot_as_png()
            break
        except TimeoutException:
            if attempt == 5:
                raise
    path.write_bytes(shot)
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


def canvases(browser):
    return browser.js("[...document.querySelectorAll('.plot > canvas')].map(c => c.toDataURL())")


def settled(browser, milliseconds=0):
    """Wait until everything is drawn: two frames, and as long as points move."""
    frames = "requestAnimationFrame(() => requestAnimationFrame(done))"
    browser.js(f"new Promise(done => setTimeout(() => {frames}, {milliseconds}))")


def selected(browser):
    return [int(panel.get_attribute("data-selected")) for panel in browser.all(".panel")]


def place(browser, view, i):
    return browser.js("explorer.panels.place(explorer.panels.panels[arguments[0]], arguments[1])", view, i)


def lonely(browser, view):
    """Number of a point of a view with no other near it, which a mouse can hit."""
    x, y = (np.array(browser.js(f"[...explorer.panels.panels[{view}].plane.{axis}]")) for axis in "xy")
    distances = np.hypot(x[:, None] - x, y[:, None] - y) + 9 * np.eye(len(x))
    inside = (np.abs(x) < 0.9) & (np.abs(y) < 0.9)
    return int(np.argmax(np.where(inside, distances.min(axis=1), -1)))


def test_a_page_opens_whole_and_asks_nothing_of_the_network(browser, page):
    browser.open(page)
    assert browser.driver.title == "A <b> & C"
    assert [c.text for c in browser.all(".panel figcaption span:first-child")] == [
        "all modules",
        *(f"module {m}" for m in range(4)),
    ]
    assert len(set(canvases(browser))) == 5
    assert browser.js("performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length") == 0
    assert browser.find("#lambda").text == "λ = 0.9"
    assert not browser.find("#message").is_displayed()


def test_the_slider_changes_loss_allocation_precision_and_views(browser, page, digits):
    browser.open(page, motion=True)
    browser.find("#more summary").click()
    before = {k: browser.js(f"document.getElementById('{k}').innerHTML") for k in ("figures", "allocation", "bars")}
    drawn = canvases(browser)
    browser.find("#slider").send_keys(Keys.ARROW_RIGHT)
    settled(browser, 600)
    assert browser.find("#lambda").text == "λ = 0.99"
    for part, html in before.items():
        assert browser.js(f"document.getElementById('{part}').innerHTML") != html
    assert all(a != b for a, b in zip(drawn[1:], canvases(browser)[1:], strict=True))
    loss = digits[0].remix(diversity=0.99).loss_
    shown = browser.find("[data-figure='loss'] dd").text
    assert float(shown) == pytest.approx(loss, rel=1e-3)
    browser.find("#slider").send_keys(Keys.HOME)
    settled(browser, 600)
    assert browser.find("#lambda").text == "λ = 0"
    assert float(browser.find("[data-figure='module correlation'] dd").text) == pytest.approx(1, abs=1e-3)


def test_a_lasso_in_one_view_highlights_the_same_points_in_all(browser, page):
    browser.open(page)
    drawn = canvases(browser)
    browser.find("[data-mode=lasso]").click()
    plot = browser.all(".plot")[1]
    browser.js("arguments[0].scrollIntoView({block: 'center'})", plot)
    chain = ActionChains(browser.driver, duration=30).move_to_element_with_offset(plot, -60, -60).click_and_hold()
    for x, y in ((60, -60), (60, 60), (0, 75), (-60, 60), (-60, -55)):
        chain = chain.move_to_element_with_offset(plot, x, y)
    chain.release().perform()
    browser.until("document.getElementById('count') !== null")
    count = int(browser.find("#count").text.split()[0])
    assert 1 < count < N
    assert selected(browser) == 5 * [count]
    inside = browser.js("explorer.chosen.rows.map(i => explorer.panels.place(explorer.panels.panels[1], i))")
    box = plot.rect
    top = browser.js("arguments[0].getBoundingClientRect().top", plot)
    centre = np.array([box["x"] + box["width"] / 2, top + box["height"] / 2])
    assert np.abs(np.array(inside) - centre).max() <= 78
    settled(browser)
    assert all(a != b for a, b in zip(drawn, canvases(browser), strict=True))
    assert browser.find("#selection h3").text == "Selected rows"
    assert len(browser.all("#selection .mean")) == 2
    assert len(browser.all("#selection .point")) == min(count, 6)
    browser.find("#clear").click()
    assert selected(browser) == 5 * [0]


def test_a_click_shows_the_neighbours_in_every_view_and_in_all(browser, page, digits):
    model, X, *_ = digits
    browser.open(page)
    i = lonely(browser, 0)
    x, y = place(browser, 0, i)
    chain = ActionChains(browser.driver)
    chain.w3c_actions.pointer_action.move_to_location(round(x), round(y)).click()
    chain.perform()
    browser.until("document.querySelectorAll('#neighbors .strip').length > 0")
    assert browser.find("#neighbors p").text == f"Row {i}"
    strips = browser.all("#neighbors .strip")
    assert [s.find_element("css selector", "h3").text for s in strips] == [
        "in all modules",
        *(f"in module {m}" for m in range(4)),
    ]
    parts = [model.transform(X), *model.transform_modules(X)]
    for strip, Z in zip(strips, parts, strict=True):
        names = [b.get_attribute("aria-label") for b in strip.find_elements("css selector", "button")]
        found = [int(name.split(",")[0].removeprefix("row ")) for name in names]
        truth = np.argsort(np.sum((Z - Z[i]) ** 2, axis=1), kind="stable")
        assert found == [j for j in truth if j != i][:6]
    assert selected(browser) == 5 * [7]
    strips[2].find_elements("css selector", "button")[0].click()  # and on to a neighbour
    assert browser.find("#neighbors p").text != f"Row {i}"


def test_hovering_shows_a_thumbnail_and_the_columns(browser, page):
    browser.open(page)
    i = lonely(browser, 1)
    browser.js("explorer.panels.panels[1].plot.scrollIntoView({block: 'center'})")
    x, y = place(browser, 1, i)
    chain = ActionChains(browser.driver)
    chain.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    chain.perform()
    browser.until("!document.getElementById('tip').hidden")
    tip = browser.find("#tip")
    assert f"row {i}" in tip.text
    assert f"digit <{i}>" in tip.text
    assert tip.find_element("css selector", ".thumb").size["height"] == 64
    assert "url(" in tip.find_element("css selector", ".thumb").value_of_css_property("background-image")


def test_all_can_be_done_with_the_keyboard(browser, page):
    browser.open(page)
    browser.js("(window.reached = [], 0)")
    browser.js(
        "document.addEventListener('focusin', ({ target: t }) => reached.push(t.id || t.className || t.tagName))"
    )
    ActionChains(browser.driver).send_keys(60 * Keys.TAB).perform()
    assert {"theme", "slider", "color", "names", "point", "clear", "plot", "SUMMARY"} <= set(browser.js("reached"))
    browser.js("document.querySelectorAll('.plot')[2].focus()")
    ActionChains(browser.driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER).perform()
    assert browser.find("#neighbors p").text.startswith("Row ")
    assert selected(browser) == 5 * [7]
    before = canvases(browser)[2]
    ActionChains(browser.driver).send_keys("+").perform()
    settled(browser)
    assert canvases(browser)[2] != before
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    assert selected(browser) == 5 * [0]
    browser.find("#point").send_keys("7", Keys.ENTER)
    assert browser.find("#neighbors p").text == "Row 7"


def test_the_wheel_zooms_a_view_that_was_clicked(browser, page):
    browser.open(page)
    plot = browser.all(".plot")[1]

    def distance():
        return browser.js("explorer.panels.panels[1].scatter.get('cameraDistance')")

    def turn():
        origin = webdriver.common.actions.wheel_input.ScrollOrigin.from_element(plot)
        ActionChains(browser.driver).scroll_from_origin(origin, 0, -120).perform()
        settled(browser)

    turn()
    assert distance() == 1
    browser.js("arguments[0].focus()", plot)
    turn()
    assert distance() < 1
    browser.find("[data-zoom=all]").click()
    assert distance() == 1


def test_a_class_selects_its_points_and_colours_change(browser, page, digits):
    browser.open(page)
    browser.all("#legend button")[3].click()
    assert selected(browser) == 5 * [int(np.sum(digits[2] == 3))]
    drawn = canvases(browser)
    browser.js("(s => { s.value = 1; s.dispatchEvent(new Event('change')) })(document.getElementById('color'))")
    settled(browser)
    assert "ink" in browser.find("#legend").text
    assert canvases(browser) != drawn


def test_a_slider_over_the_levels_colours_all_views(browser, tmp_path, digits):
    model = pf.KernelClustering(kernel="laplacian_eigenmaps", random_state=0).fit(digits[1])
    browser.open(pf.report.explore(model, digits[1], y=digits[2], path=tmp_path / "levels.html"))
    drawn, numbers = canvases(browser), list(model.level_scores_)
    assert max(numbers) > 48
    slider = browser.find("#level")
    assert int(slider.get_attribute("value")) == numbers.index(model.n_clusters_)
    slider.send_keys(Keys.END)
    settled(browser)
    assert browser.find("#clusters").text == f"{numbers[-1]} clusters"
    assert all(now != before for now, before in zip(canvases(browser), drawn, strict=True))
    assert len(set(browser.js("explorer.coloring.colors"))) == numbers[-1]
    buttons = browser.all("#legend button")
    assert len(buttons) == numbers[-1]
    sizes = [int(b.find_element("css selector", ".size").text) for b in buttons]
    assert sizes == sorted(sizes, reverse=True)
    browser.js("document.querySelector('#legend [data-code=\"0\"]').click()")
    assert set(selected(browser)) == {int(np.sum(model.levels_[-1] == 0))}
    browser.js("(s => { s.value = 1; s.dispatchEvent(new Event('change')) })(document.getElementById('color'))")
    assert len(browser.all("#legend button")) == len(set(digits[2]))
    assert browser.errors() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_classes_and_what_is_missing_have_colours_of_their_own(browser, page, scheme):
    browser.open(page, scheme=scheme)
    classes = browser.js("coloring({kind: 'class', classes: [...Array(40).keys()], values: [0]}).colors")
    assert len(set(classes)) == 40
    numbers = browser.js("coloring({kind: 'number', values: [1, null, 3, '∞']})")
    drawn = [numbers["colors"][int(63 * value)] for value in numbers["values"]]
    assert drawn[1] == drawn[3]
    assert len(set(drawn)) == 3
    paper = {"light": 255, "dark": 27}[scheme]
    for color in [*classes[:12], *numbers["colors"][:48]]:
        assert abs(np.dot([int(color[k : k + 2], 16) for k in (1, 3, 5)], [0.3, 0.59, 0.11]) - paper) > 40


@pytest.mark.parametrize(("scheme", "low", "high"), [("light", 235, 256), ("dark", 0, 45)])
@pytest.mark.parametrize(("size", "width", "height"), [("desktop", 1400, 1000), ("phone", 390, 844)])
def test_light_and_dark_at_the_desk_and_in_the_hand(browser, page, shots, scheme, low, high, size, width, height):
    browser.open(page, width=width, height=height, scheme=scheme)
    browser.all("#legend button")[1].click()
    settled(browser)
    shot = pixels(browser, shots / f"{size}-{scheme}.png")
    assert low <= np.median(shot) < high
    assert browser.js("document.documentElement.scrollWidth") <= width
    assert len(np.unique(shot @ [1 << 16, 1 << 8, 1])) > 500  # points of many colours
    per_row = len({round(panel.rect["x"]) for panel in browser.all(".panel")})
    assert per_row == (2 if size == "phone" else 3)
    browser.find("#theme").click()
    settled(browser)
    other = browser.js("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, other[4:-1].split(","))) > 384) == (scheme == "dark")


def test_a_finger_draws_a_lasso(browser, page):
    browser.open(page, width=390, height=844)
    browser.find("[data-mode=lasso]").click()
    browser.js("document.querySelectorAll('.plot')[0].scrollIntoView({block: 'center'})")
    x, y, w = browser.js("(b => [b.left, b.top, b.width])(document.querySelector('.plot').getBoundingClientRect())")
    way = [(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8), (0.2, 0.3)]
    touch = [{"x": x + u * w, "y": y + v * w} for u, v in way]
    tell = browser.driver.execute_cdp_cmd
    tell("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch[0]]})
    for point in touch[1:]:
        tell("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    tell("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    browser.until("document.getElementById('count') !== null", 10)
    assert len(set(selected(browser))) == 1
    assert selected(browser)[0] > 1


def test_without_scripts_there_is_a_message(browser, page):
    browser.open(page, scripts=False)
    assert "JavaScript" in browser.find("noscript").text or "JavaScript" in browser.find("body").text


def test_without_webgl_the_views_are_still_pictures(browser_without_gl, page, digits):
    browser = browser_without_gl.open(page)
    assert "no WebGL" in browser.find("#message").text
    drawn = canvases(browser)
    assert len(set(drawn)) == 5
    browser.all("#legend button")[3].click()
    assert selected(browser) == 5 * [int(np.sum(digits[2] == 3))]
    assert canvases(browser) != drawn
    browser.find("#slider").send_keys(Keys.ARROW_RIGHT)
    assert browser.find("#lambda").text == "λ = 0.99"


def test_every_offered_column_can_colour_the_points(browser, tmp_path):
    rng = np.random.default_rng(0)
    Z, days = rng.standard_normal((90, 2)), np.datetime64("2024-01-01") + np.arange(90)
    columns = {
        "id": [f"C{i}" for i in range(90)],
        "price": [f"${i}.50" for i in range(90)],
        "day": days.astype(str),
        "since": days,
        "city": rng.choice(["Berlin", "Hamburg"], 90),
        "age": rng.normal(40, 9, 90),
    }
    names = np.array([f"name {i}" for i in range(90)])
    browser.open(explore(Z, Z, y=names, columns=columns, path=tmp_path / "p.html"))
    assert browser.errors() == []
    assert [option.text for option in browser.all("#color option")] == ["one colour", "since", "city", "age"]
    assert browser.js("document.getElementById('color').selectedOptions[0].textContent") == "one colour"
    titles = []
    for option in browser.all("#color option"):
        option.click()
        settled(browser)
        titles.append(browser.js("document.getElementById('groups').hidden || get('groups-title').textContent"))
    assert titles == [True, "since", "city: 2 classes", "age"]
    browser.all("#color option")[1].click()
    assert browser.find("#legend").text.split() == ["since", "2024-01-01", "2024-03-30"]
    assert browser.js("roundedPair(-1e-16, 14)") == ["0", "14"]
    browser.js("explorer.choose([...Array(30).keys()], 'Selected rows')")
    assert browser.find(".difference:not(.head)").text.split() == ["since", "2024-01-15", "2024-02-29"]
