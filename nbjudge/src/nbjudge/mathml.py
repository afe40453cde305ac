r"""Formulas as MathML, which browsers draw themselves: no script, no fonts from elsewhere.

A formula may be a student's. So only harmless elements and attributes of what the converter makes are kept,
with small lengths (TeX has `\href`, `\style` and `\raise`). nh3 cannot do this: it reads MathML as HTML and
loses the sign of `\mathrel{+}`, and it cannot tell the slash of `\not` from other padding.
"""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from latex2mathml.converter import Converter

ALLOWED = tomllib.loads(Path(__file__).with_name("allowed_markup.toml").read_text("utf-8"))
LONGEST_FORMULA = 4_000  # characters; the longest of a course has 300
# A macro may call itself, or grow without end.
MACROS = ("\\newcommand", "\\renewcommand", "\\providecommand", "\\def", "\\let")
ELEMENTS = frozenset(ALLOWED["mathml"]["elements"].split())
ATTRIBUTES = {
    name: re.compile(values)
    for names, values in ALLOWED["mathml"]["attributes"].items()
    for name in names.split()
}
SPACES: dict[str, str] = ALLOWED["mathml"]["spaces"]
SLASH = "\N{BIG SOLIDUS}"
NAME_WITH_UNDERSCORE = re.compile(r"\\operatorname(\{[\w\\ ]*\\_[\w\\ ]*\})")
FUNCTION = re.compile(r"[A-Za-z]{2,}")


def mathml(tex: str, *, block: bool = False) -> str:
    """Convert a formula to a `<math>` element, in a line of its own with `block`.

    Raises ValueError for what is no formula, or would come out wrong.
    """
    if len(tex) > LONGEST_FORMULA or any(macro in tex for macro in MACROS):
        raise ValueError(f"{tex[:LONGEST_FORMULA]!r} is too long for a formula, or defines a macro")
    known = tex.replace("{aligned}", "{split}")  # the same table, under the name the converter knows
    known = NAME_WITH_UNDERSCORE.sub(r"\\text\1", known)
    try:
        converted = Converter(display="block" if block else "inline").convert_to_element(known)
        formula = Element("math")
        _copy_harmless(formula, converted)
    except Exception as error:  # whatever a student typed; the converter raises many kinds
        raise ValueError(f"{tex!r} does not become MathML ({error})") from error
    return tostring(formula, encoding="unicode")


def _copy_harmless(copy: Element, element: Element) -> None:
    """Copy the elements and attributes that only show; the converter's entities become letters."""
    for name, value in element.attrib.items():
        if name in ATTRIBUTES and (value in SPACES or ATTRIBUTES[name].fullmatch(value)):
            copy.set(name, SPACES.get(value, value))
    copy.text = html.unescape(element.text or "").replace("\\_", "_")
    if "\\" in copy.text:  # a command that the converter does not know, and leaves unchanged
        raise ValueError(copy.text)
    for child in element:
        is_drawn = child.tag in ELEMENTS or _is_slash(child)
        _copy_harmless(SubElement(copy, child.tag if is_drawn else "mrow"), child)
    _space_functions(copy)


def _space_functions(row: Element) -> None:
    """Set the thin space that TeX has about the name of a function; at a parenthesis there is none."""
    texts = [child.text or "" for child in row]
    for place, child in enumerate(row):
        if child.tag in ("mo", "mi") and FUNCTION.fullmatch(texts[place]) and not child.get("mathvariant"):
            before, after = texts[place - 1] if place else "", texts[place + 1 : place + 2]
            is_first = place == 0 and row.tag == "mrow"
            child.tag = "mo"
            child.set("lspace", "0em" if is_first or before == "(" else "0.167em")
            child.set("rspace", "0em" if after == ["("] else "0.167em")


def _is_slash(element: Element) -> bool:
    r"""Tell what `\not` draws over the next sign from other padding, which could overlap the page."""
    return element.tag == "mpadded" and html.unescape("".join(element.itertext())) == SLASH
