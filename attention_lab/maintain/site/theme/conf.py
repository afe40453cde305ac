"""Sphinx configuration of the site; `attention_lab.maintain.site` calls Sphinx with generated sources."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from nbjudge.course import mathml

project = "Attention Lab"
html_title = "Attention Lab"
copyright = "the authors of Attention Lab. Text and pictures: CC BY 4.0, code: BSD 3-clause"  # noqa: A001
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",  # numpydoc's sections: Parameters, Returns, Raises
    "sphinx_design",
]
# Formulas are MathML: every browser draws it, nothing is fetched, and it is read out aloud.
html_math_renderer = "mathml"

# The notebooks bring their outputs along.
nb_execution_mode = "off"
nb_merge_streams = True
nb_code_prompt_show = "Show what it gives"
nb_code_prompt_hide = "Hide what it gives"
myst_enable_extensions = ["dollarmath"]
myst_update_mathjax = False
# Links to lessons are to files, and a heading can be linked to.
myst_heading_anchors = 3

# Docstrings: what is between single backticks is code, and a link where it is a name with an entry.
default_role = "py:obj"
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints_format = "short"
napoleon_google_docstring = False
autodoc_preserve_defaults = True
# In signatures by its name, not by what it is made of.
autodoc_type_aliases = {"Values": "attention_lab.plots.Values", "plots.Values": "attention_lab.plots.Values"}
python_use_unqualified_type_names = True

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("scrollers.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
# Names in code are few, and are on the pages of the reference.
html_use_index = html_domain_indices = False
# `Draw`, `Step` and `Exercise` are names of the grader's, and with more to them of torch's extra and ours.
suppress_warnings = ["ref.python"]

# What the theme leaves out for people who listen to a page: two landmarks of one kind need names, a page
# needs a heading, and a corner of a table that says nothing heads nothing.
REPAIRS = [
    (r'<aside class="(sidebar|toc)-drawer">', r'<aside class="\1-drawer" aria-label="\1">'),
    (r"<th(?: [^>]*)?>\s*(?:<p>\s*</p>)?\s*</th>", "<td></td>"),
    (r'<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
]
logger = logging.getLogger(__name__)


class CellMover(SphinxTransform):
    """Move a notebook's cell into the empty first tab of the set of tabs for languages behind it.

    A directive cannot hold a cell, so the tabs come behind it while a page is read.
    """

    default_priority = 500

    def apply(self, **_: object) -> None:
        for tabs in list(self.document.findall(nodes.container)):
            if "languages" in tabs["classes"]:
                siblings = tabs.parent
                cell = siblings.pop(siblings.index(tabs) - 1)
                contents = tabs.findall(nodes.container)
                content = next(part for part in contents if part.get("design_component") == "tab-content")
                content.children.clear()
                content += cell


def _visit_math(translator: Any, node: nodes.Element) -> None:
    block = isinstance(node, nodes.math_block)
    try:
        formula = mathml(node.astext(), block=block)
        # In a box of its own, which scrolls where the formula is wider than the page.
        translator.body.append(f'<div class="formula">{formula}</div>\n' if block else formula)
    except ValueError as error:
        logger.warning("a formula cannot be shown: %s", error, location=node)
    raise nodes.SkipNode


def _repair_pages(app: Sphinx, exception: Exception | None) -> None:
    for path in [] if exception else Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        for pattern, replacement in REPAIRS:
            page = re.sub(pattern, replacement, page)
        path.write_text(page, encoding="utf-8")


def _as_python(*signature_of: Any) -> tuple[str, str] | None:
    """Make signatures Python where Sphinx and dataclasses put in what is not."""
    signature, returned = signature_of[-2:]
    if signature is None:
        return None
    with_factory = signature.replace("<factory>", "...")  # a default that is made for each instance
    named = re.sub(r"<class '(?:[\w.]+\.)?(\w+)'>", r"\1", with_factory)  # a default that is a class
    return re.sub(r"TypeAliasForwardRef\('([\w.]+)'\)", r"\1", named), returned


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math, None))
    app.add_transform(CellMover)
    app.connect("build-finished", _repair_pages)
    app.connect("autodoc-process-signature", _as_python)
