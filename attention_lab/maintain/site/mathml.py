"""Formulas as MathML, which every browser draws by itself: no script, nothing fetched, read out aloud.

A Sphinx extension; its own part is what `latex2mathml` leaves out, and the refusal of what it cannot say.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

NAMED_FUNCTION = re.compile(r"<mo>([A-Za-z]{2,})</mo>|<mi>(ln|log|exp|sin|cos)</mi>")
OPENING = re.compile(r"<mo[^>]*>(?:\(|&#x0*28;)(?:</mo>$)?")

logger = logging.getLogger(__name__)


def mathml(latex: str, display: str = "inline") -> str:
    """A formula as a `<math>` element; ValueError for what would come out wrong. `display`: or "block"."""
    # `split` is the same table, and the one that the library knows.
    known = re.sub(r"\\(begin|end)\{aligned\}", r"\\\1{split}", latex)
    known = re.sub(r"\\(?:operatorname|text)\{([\w\\ ]*\\_[\w\\ ]*)\}", _plain_name, known)
    result = _spaced(convert(known, display=display))
    try:
        texts = [text for element in ElementTree.fromstring(result).iter() if (text := element.text)]
    except ElementTree.ParseError:
        raise ValueError(f"{latex!r} does not become MathML") from None
    # What the library does not know it leaves as it was written.
    if unknown := [text for text in texts if "\\" in text]:
        raise ValueError(f"{latex!r} becomes no MathML at {unknown[0]!r}")
    return result


def _spaced(formula: str) -> str:
    """With the thin space that TeX sets about the name of a function; at a parenthesis there is none."""

    def operator(name: re.Match[str]) -> str:
        opened = OPENING.search(formula[: name.start()]) or formula[: name.start()].endswith("<mrow>")
        closed = OPENING.match(formula[name.end() :])
        left, right = ("0em" if tight else "0.167em" for tight in (opened, closed))
        return f'<mo lspace="{left}" rspace="{right}">{name[1] or name[2]}</mo>'

    return NAMED_FUNCTION.sub(operator, formula)


def _plain_name(match: re.Match[str]) -> str:
    """A name with underscores: in plain text, where TeX's backslash before them would be seen."""
    return r"\text{" + match[1].replace(r"\_", "_") + "}"


def _visit_inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_mathml_or_warning(node, "inline"))
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.Element) -> None:
    # In a box of its own, which scrolls where the formula is wider than the page.
    translator.body.append(f'<div class="formula">{_mathml_or_warning(node, "block")}</div>\n')
    raise nodes.SkipNode


def _mathml_or_warning(node: nodes.Element, display: str) -> str:
    try:
        return mathml(node.astext(), display)
    except ValueError as error:
        logger.warning("a formula cannot be shown: %s", error, location=node)
        return ""


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_visit_inline, None), block_renderers=(_visit_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
