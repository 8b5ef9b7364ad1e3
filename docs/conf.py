"""How `make docs` builds the pages: Markdown guides, numpydoc API pages, an executed gallery, nothing from outside."""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from gallery import gallery_conf  # noqa: E402
from mathml import FONT  # noqa: E402

project = "polyfold"
author = "The polyfold developers"
copyright = author

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # our own, in _ext
    "gallery",
    "mathml",
    "bibliography",
    "public_api",
    "docstrings",
    "flow",
]
exclude_patterns = [
    "_ext",
    "_templates",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/README.rst",
]
templates_path = ["_templates"]
nitpicky = True  # a reference that leads nowhere is an error
nitpick_ignore_regex = [("py:.*", r"(sklearn|numpy|scipy|torch|matplotlib)\..*")]  # other projects are not asked
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which cannot be cached

myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False

sphinx_gallery_conf = gallery_conf(HERE)
warnings.filterwarnings("error")  # an example that warns is an example that needs work
warnings.filterwarnings("default", category=DeprecationWarning)
warnings.filterwarnings("default", category=PendingDeprecationWarning)
warnings.filterwarnings("default", category=ImportWarning)
warnings.filterwarnings("default", category=ResourceWarning)

html_theme = "pydata_sphinx_theme"
html_title = "polyfold"
html_static_path = ["_static", str(FONT)]
html_css_files = ["polyfold.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": "polyfold"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "choose": [], "changelog": []}
# Examples draw with a fixed style; a headless machine must do.
os.environ.setdefault("MPLBACKEND", "agg")
