"""A real browser: Debian's chromium, driven by selenium; without either, the tests of this folder are skipped."""

import shutil
import time

import pytest

selenium = pytest.importorskip("selenium", reason="selenium is not installed; run: make test-browser")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
SOFTWARE_GL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


class Browser:
    """Chromium with a page in it."""

    def __init__(self, *arguments: str):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", *arguments):
            options.add_argument(argument)
        options.binary_location = CHROMIUM
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))

    def open(self, path, *, width=1400, height=1000, scheme="light", scripts=True, motion=False):
        tell = self.driver.execute_cdp_cmd
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        tell("Emulation.setDeviceMetricsOverride", size)
        tell("Emulation.setTouchEmulationEnabled", {"enabled": width < 600})
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "no-preference" if motion else "reduce"}
        tell("Emulation.setEmulatedMedia", {"features": [{"name": k, "value": v} for k, v in wishes.items()]})
        tell("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.driver.get_log("browser")
        self.driver.get(path.as_uri())
        if scripts:
            self.until("document.documentElement.dataset.ready !== undefined")
        return self

    def js(self, code, *arguments):
        return self.driver.execute_script(f"return {code}", *arguments)

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not self.js(condition):
            assert time.monotonic() < end, f"not within {seconds} s: {condition}; {self.errors()}"
            time.sleep(0.05)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def errors(self):
        """Errors and warnings of the page; how fast a graphics driver works is not the page's."""
        entries = [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        return [
            entry["message"] for entry in entries if "GL Driver Message (OpenGL, Performance" not in entry["message"]
        ]


def start(*arguments):
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and chromedriver are not installed; run: apt-get install chromium chromium-driver")
    return Browser(*arguments)


@pytest.fixture(scope="session")
def browser():
    browser = start(*SOFTWARE_GL)
    yield browser
    browser.driver.quit()


@pytest.fixture(scope="session")
def browser_without_gl():
    browser = start("--disable-3d-apis", "--disable-gpu")
    yield browser
    browser.driver.quit()


@pytest.fixture(autouse=True)
def quiet(request):
    """Nothing may be written to the console, whatever a test does."""
    yield
    for name in {"browser", "browser_without_gl"} & set(request.fixturenames):
        assert request.getfixturevalue(name).errors() == []
