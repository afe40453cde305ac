r"""Formulas as MathML, which browsers draw themselves: no script, no fonts from elsewhere.

A formula may be a student's. So only harmless elements and attributes of what the converter makes are
kept, with small lengths (TeX has `\href`, `\style` and `\raise`). Whatever it cannot make is shown as TeX.

nh3, which cleans the text around formulas, cannot do this: it reads MathML as HTML and loses the sign of
`\mathrel{+}`, and it cannot tell the slash of `\not` from other padding.
"""

from __future__ import annotations

import html
import re
from xml.etree.ElementTree import Element, SubElement, tostring

from latex2mathml.converter import Converter

LONGEST_FORMULA = 4_000  # characters; the longest of the assignments has 300
# A macro may call itself, or grow without end.
MACROS = ("\\newcommand", "\\renewcommand", "\\providecommand", "\\def", "\\let")
ELEMENTS = frozenset(
    element
    for group in (
        "math mrow mi mn mo mtext mspace mstyle mphantom menclose",
        "mfrac msqrt mroot msup msub msubsup munder mover munderover mmultiscripts mprescripts",
        "mtable mtr mtd",
    )
    for element in group.split()
)
# A length that a formula needs, and no more: what is large or negative leads out of its place in the page.
LENGTH = r"(?:[01]|[01]?\.\d+|2(?:\.[0-4]\d*)?)em|\d(?:\.\d+)?(?:pt|px)|0"
ANSWER = "true|false"
ATTRIBUTES = {
    name: re.compile(values)
    for names, values in (
        ("accent accentunder displaystyle fence largeop movablelimits separator stretchy symmetric", ANSWER),
        ("columnspacing linethickness lspace maxsize minsize rowspacing rspace width", LENGTH),
        ("columnalign", r"(?:left|center|right)(?: (?:left|center|right))*"),
        ("display", "block|inline"),
        ("form", "prefix|infix|postfix"),
        ("mathvariant", "[a-z-]{1,30}"),
        ("notation", "[a-z ]{1,60}"),
        ("scriptlevel", "[0-2]"),
    )
    for name in names.split()
}
SLASH = "\N{BIG SOLIDUS}"
# Named spaces are MathML 2's; browsers of today know lengths only.
SPACES = {
    "negativethinmathspace": "-0.167em",
    "negativemediummathspace": "-0.222em",
    "negativethickmathspace": "-0.278em",
    "thinmathspace": "0.167em",
    "thickmathspace": "0.278em",
}


def as_mathml(tex: str, *, block: bool = False) -> str:
    """MathML markup for a formula, or the TeX itself as code where it cannot be converted."""
    if len(tex) > LONGEST_FORMULA or any(macro in tex for macro in MACROS):
        return _as_code(tex)
    try:
        known = tex.replace("{aligned}", "{split}")  # the same table, under the name the converter knows
        element = Converter(display="block" if block else "inline").convert_to_element(known)
        return tostring(_harmless(element), encoding="unicode")
    except Exception:  # whatever a student typed between two dollars; the converter raises many kinds
        return _as_code(tex)


def _as_code(tex: str) -> str:
    return f"<code>{html.escape(tex)}</code>"


def _harmless(element: Element) -> Element:
    """A copy with the elements and attributes that only show; the converter's entities become letters."""
    copy = Element("math")
    _fill(copy, element)
    return copy


def _fill(copy: Element, element: Element) -> None:
    for name, value in element.attrib.items():
        if name in ATTRIBUTES and (value in SPACES or ATTRIBUTES[name].fullmatch(value)):
            copy.set(name, SPACES.get(value, value))
    copy.text = html.unescape(element.text or "").replace("\\_", "_")
    if "\\" in copy.text:  # a command that the converter does not know, and leaves unchanged
        raise ValueError(copy.text)
    for child in element:
        is_drawn = child.tag in ELEMENTS or _is_slash(child)
        inner = SubElement(copy, child.tag if is_drawn else "mrow")
        _fill(inner, child)


def _is_slash(element: Element) -> bool:
    r"""Whether it is what `\not` draws over the next sign; other padding could overlap the page."""
    return element.tag == "mpadded" and html.unescape("".join(element.itertext())) == SLASH
