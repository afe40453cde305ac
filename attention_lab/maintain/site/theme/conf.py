"""Sphinx configuration of the site; `attention_lab.maintain.site` calls Sphinx with generated sources."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

from attention_lab.maintain.site.reference.python_names import ALIASES

project = "Attention Lab"
html_title = "Attention Lab"
copyright = "the authors of Attention Lab. Text and pictures: CC BY 4.0, code: BSD 3-clause"  # noqa: A001
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",  # numpydoc's sections: Parameters, Returns, Raises
    "sphinx_design",
    "attention_lab.maintain.site.mathml",
    "attention_lab.maintain.site.landmarks",
    "attention_lab.maintain.site.language_tabs",
]
html_math_renderer = "mathml"

# The notebooks bring their outputs along.
nb_execution_mode = "off"
nb_merge_streams = True
nb_code_prompt_show = "Show what it gives"
nb_code_prompt_hide = "Hide what it gives"
myst_enable_extensions = ["dollarmath"]
# Formulas are MathML: nothing to set up in the browser.
myst_update_mathjax = False
# Links to lessons are to files, and a heading can be linked to.
myst_heading_anchors = 3

# Docstrings: what is between single backticks is code, and a link where it is a name with an entry.
default_role = "py:obj"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
autodoc_preserve_defaults = True
autodoc_type_aliases = ALIASES
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80  # characters; a longer one gets a line for each argument

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


def _as_python(*signature_of: Any) -> tuple[str, str] | None:
    """Signatures that Sphinx can typeset: what it and dataclasses put in is not Python in two places."""
    signature, returned = signature_of[-2:]
    if signature is None:
        return None
    with_factory = signature.replace("<factory>", "...")  # a default that is made for each instance
    named = re.sub(r"<class '(?:[\w.]+\.)?(\w+)'>", r"\1", with_factory)  # a default that is a class
    return re.sub(r"TypeAliasForwardRef\('([\w.]+)'\)", r"\1", named), returned


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", _as_python)
