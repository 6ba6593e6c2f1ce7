"""How the documentation becomes a site: `make docs`. Nothing it writes asks another machine for anything."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "site"))

import pages  # noqa: E402 - beside this file

from replical import __version__  # noqa: E402

project, author, release = "replical", "the authors of replical", __version__
project_copyright = "Apache-2.0"
root_doc = "index"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["site/*"]

# Markdown: headings are targets for links, as they are where the same files are read without a site.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"  # notebooks are kept with their outputs; a test runs them and compares

# Reference: signatures as they are written, parameters from the docstrings.
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"replical {release}"
html_static_path = ["site/static"]
html_css_files = ["replical.css"]
html_show_sourcelink = False
html_copy_source = False
pygments_dark_style = "a11y-high-contrast-dark"  # the twin of the light one
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}


def plain_bars(app: object, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """|C| in a docstring is the size of C."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def not_ours(app: object, what: str, name: str, thing: object, skip: bool, options: object) -> bool | None:
    """scikit-learn writes methods of its own into every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def breaks(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Long names in code may be broken after a mark, so that tables of them are not wider than a screen; options may not.

    A picture is a link to itself.
    """

    def alone(found: re.Match[str]) -> str:
        return found[0] if found[1] else f'<a class="picture" href="{found[3]}">{found[2]}</a>'

    def marked(found: re.Match[str]) -> str:
        return found[1] + re.sub(r"(::|[/:._])(?=[^\W_])", r"\1<wbr>", found[2]) + found[3]

    if "body" in context:
        text = re.sub(r'<span class="pre">(--[\w-]{1,24})</span>', r'<span class="pre flag">\1</span>', context["body"])
        text = re.sub(r'(<a [^>]*>)?(<img [^>]*?src="([^"]*\.svg)"[^>]*>)', alone, text)
        context["body"] = re.sub(r'(<span class="pre">)([^<&]{20,})(</span>)', marked, text)


def setup(app: Sphinx) -> None:
    """Before anything is read: the pages that are made from the code."""
    pages.write(HERE)
    app.connect("html-page-context", breaks)
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-skip-member", not_ours)
