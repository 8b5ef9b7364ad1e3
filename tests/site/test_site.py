"""What `make docs` built: formulas drawn, links alive, nothing fetched from elsewhere, every public name there.

The folder comes in POLYFOLD_SITE; without it there is nothing to test.
"""

import os
import re
import sys
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("POLYFOLD_SITE", "")).resolve()
HAVE_SITE = bool(os.environ.get("POLYFOLD_SITE"))
pytestmark = pytest.mark.skipif(not HAVE_SITE, reason="POLYFOLD_SITE names no built site; `make docs` builds one")

# Markup that should have become something else: TeX, roles and directives of reST, references of numpydoc.
RAW = re.compile(r"\\(?:frac|sum|lambda|bar|varphi|\(|\[)|\$\$|:math:|:(?:class|func|mod|ref|meth):`|\.\. math::|\]_\b")
FETCHES = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """What a page shows, fetches, links to, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.formulas = 0
        self._code = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        have = {name: value or "" for name, value in attrs}
        self.anchors.add(have.get("id", ""))
        self._code += tag in ("pre", "code", "script", "style")
        self.formulas += tag == "math"
        if tag in FETCHES and FETCHES[tag] in have and have.get("rel") not in ("canonical", "index", "next", "prev"):
            self.fetched.append(have[FETCHES[tag]])
        if tag == "a" and "href" in have:
            self.links.append(have["href"])

    def handle_endtag(self, tag):
        self._code -= tag in ("pre", "code", "script", "style")

    def handle_data(self, data):
        if not self._code:
            self.shown.append(data)


@cache
def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def pages() -> list[Path]:
    return [path for path in sorted(SITE.rglob("*.html")) if "_static" not in path.parts]


def raw(page: Page) -> list[str]:
    return RAW.findall(" ".join(page.shown))


def broken(path: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return True
    fragment = unquote(parts.fragment)
    return bool(fragment) and target.suffix == ".html" and fragment not in read(target).anchors


def test_there_are_pages_of_every_kind():
    names = {str(path.relative_to(SITE)) for path in pages()}
    assert {"index.html", "choose.html", "api/index.html", "gallery/index.html", "guide/modular.html"} <= names
    assert sum(read(path).formulas for path in pages()) > 100


def test_no_formula_is_left_raw():
    assert {str(path): found for path in pages() if (found := raw(read(path)))} == {}


def test_docstrings_have_their_formulas():
    assert read(SITE / "api/polyfold.ModularKernelPCA.html").formulas >= 3


def test_nothing_is_fetched_from_another_host():
    external = {str(path): [x for x in read(path).fetched if urlsplit(x).netloc] for path in pages()}
    assert {path: found for path, found in external.items() if found} == {}
    in_styles = {
        str(path): re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)'\"]+", path.read_text(encoding="utf-8"))
        for path in [*SITE.rglob("*.css"), *pages()]
    }
    assert {path: found for path, found in in_styles.items() if found} == {}


def test_no_internal_link_is_broken():
    dead = {str(path): [x for x in {*read(path).links, *read(path).fetched} if broken(path, x)] for path in pages()}
    assert {path: found for path, found in dead.items() if found} == {}


def test_every_public_name_has_a_page_and_nothing_else_has():
    sys.path.insert(0, str(ROOT / "docs/_ext"))
    try:
        from public_api import public_names
    finally:
        sys.path.pop(0)
    wanted = {f"{package}.{name}.html" for package, names in public_names().items() for name in names}
    sections = {"index.html", *(f"{package}.html" for package in public_names())}
    assert {path.name for path in SITE.glob("api/*.html")} - sections == wanted
    assert wanted >= {
        "polyfold.show_progress.html",
        "polyfold.networks.MLP.html",
        "polyfold.kernels.SharedCenters.html",
    }
    assert "polyfold.exceptions.MissingExtraError.html" in wanted


def test_inherited_methods_are_on_the_page_of_a_class():
    anchors = read(SITE / "api/polyfold.ModularKernelPCA.html").anchors
    methods = ("fit", "remix", "transform_modules", "set_output", "get_params")
    assert {f"polyfold.ModularKernelPCA.{method}" for method in methods} <= anchors


def test_the_gallery_has_its_pages_and_plots():
    examples = sorted((ROOT / "examples").rglob("plot_*.py"))
    pages = {e: (SITE / "gallery" / e.relative_to(ROOT / "examples")).with_suffix(".html") for e in examples}
    assert [example.stem for example, page in pages.items() if not page.exists()] == []
    plain = [example for example in examples if not list((SITE / "_images").glob(f"sphx_glr_{example.stem}_[0-9]*"))]
    # Without PyTorch, its examples are shown but not run, and their pages say so.
    if find_spec("torch") is None:
        assert all(
            "PyTorch was not installed" in pages[e].read_text() for e in plain if "import torch" in e.read_text()
        )
        plain = [example for example in plain if "import torch" not in example.read_text()]
    assert [example.stem for example in plain] == []


@pytest.mark.parametrize(
    "text",
    [r"<p>\(\lambda\)</p>", "<p>:math:`x`</p>", "<p>$$x$$</p>", "<p>see :class:`A`</p>", "<p>[Reeve2018]_ x</p>"],
)
def test_the_tests_see_raw_markup(text):
    assert raw(Page(text))


def test_the_tests_let_code_be():
    assert not raw(Page(r"<pre>:math:`\frac`</pre><p>A <code>$$</code> b</p>"))
