"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REPOSITORY = Path(__file__).parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "scripts")]

project = "devctl"
version = release = version_of("devctl")
html_title = f"devctl {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
myst_heading_anchors = 4
nitpicky = True
# Types of Python's and of modules that the reference leaves out.
nitpick_ignore_regex = [("py:.*", ".*")]
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

html_theme = "furo"
html_static_path: list[str] = []
html_show_sphinx = False
html_show_copyright = False
copybutton_prompt_text = "$ "


def _generate(_app: Sphinx) -> None:
    from reference.site import write  # noqa: PLC0415 - found by the path above

    write(REPOSITORY, REPOSITORY / "docs/reference")


def setup(app: Sphinx) -> None:
    """Make the reference before pages are read."""
    app.connect("builder-inited", _generate)
