"""Markdown as HTML that only shows: the assignment's text, a student's answers, a teacher's comments.

Whatever HTML it holds is cleaned element by element, so nothing runs and nothing is fetched, and
formulas become MathML. Text that no markdown reader can make sense of is shown as it is.
"""

from __future__ import annotations

import base64
import html
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nh3
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from nbjudge.mathml import ALLOWED, mathml

# Characters of one cell, and of a notebook: readers of markdown are slow on text that is made for it.
LONGEST_PROSE = 20_000
MOST_PROSE = 400_000
LARGEST_PICTURE = 5 * 2**20  # bytes
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*")
LINK = re.compile(r"(https?://|mailto:)", re.IGNORECASE)
COLOURED = re.compile(r"highlight|[a-z][a-z0-9]?( [a-z][a-z0-9]?)*")  # Pygments' own class names


def as_html(text: str, attachments: Mapping[str, Any] | None = None, folder: str = "") -> str:
    """The HTML of a markdown cell; pictures come from its attachments, or lie in `folder`."""
    if len(text) <= LONGEST_PROSE:
        try:
            return _Prose(dict(attachments or {}), folder).render(text)
        except Exception:  # markdown readers stumble over text that was made to trip them
            pass
    return as_it_is(text)


def as_it_is(text: str) -> str:
    """The characters of a text, none of them taken for markup."""
    return f"<pre>{html.escape(text)}</pre>"


class _Prose(IPythonRenderer):
    """nbconvert's renderer with formulas kept aside, so that cleaning does not touch them."""

    def __init__(self, attachments: dict[str, Any], folder: str) -> None:
        super().__init__(
            escape=False,
            attachments=attachments,
            exclude_anchor_links=True,
        )
        self._folder = Path(folder)
        # No text can hold the name of a placeholder that is drawn at random each time.
        self._mark = f"formula-{secrets.token_hex(8)}"
        self._formulas: list[str] = []

    def render(self, text: str) -> str:
        rendered = MarkdownWithMath(renderer=self).render(text)
        clean = nh3.clean(
            rendered,
            tags=set(ALLOWED["html"]["elements"].split()),
            attributes={name: set(names) for name, names in ALLOWED["html"]["attributes"].items()},
            attribute_filter=self._allowed_attribute,
            url_schemes={"http", "https", "mailto", "data"},
        )
        # In an attribute the quotes would be entities: only a whole element is replaced.
        place = rf'<span class="{self._mark}-(\d+)"></span>'
        return re.sub(place, lambda found: self._formulas[int(found[1])], clean)

    def _allowed_attribute(self, element: str, attribute: str, value: str) -> str | None:
        """The value of an attribute if it is harmless, else None: the attribute is left out."""
        if attribute == "src":
            return value if PICTURE.fullmatch(value) else self._embedded(value)
        if attribute == "href":
            return value if LINK.match(value) else None
        if attribute == "class" and not value.startswith(self._mark):
            return value if COLOURED.fullmatch(value) else None
        return value

    def _embedded(self, address: str) -> str | None:
        """A picture file beside the notebook, as data, because the page is one file."""
        kind = ALLOWED["pictures"].get(Path(address).suffix.lower())
        try:
            file = (self._folder / unquote(address)).resolve()
            inside = file.is_relative_to(self._folder.resolve())
            if kind is None or not inside or not file.is_file() or file.stat().st_size > LARGEST_PICTURE:
                return None
            return f"data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()}"
        except (OSError, ValueError):  # what a student wrote need not be a file's name
            return None

    def _place(self, tex: str, *, block: bool) -> str:
        self._formulas.append(as_mathml(tex, block=block))
        return f'<span class="{self._mark}-{len(self._formulas) - 1}"></span>'

    def inline_math(self, body: str) -> str:
        return self._place(body, block=False)

    def block_math(self, body: str) -> str:
        return self._place(body, block=True)

    def latex_environment(self, name: str, body: str) -> str:
        return self._place(f"\\begin{{{name}}}{body}\\end{{{name}}}", block=True)

    def block_mermaidjs(self, code: str) -> str:
        """A diagram would need a script: its text is shown."""
        return as_it_is(code)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """A picture, or its description where there is no such picture."""
        if url.startswith("attachment:") and url.removeprefix("attachment:") not in self.attachments:
            return text
        return str(super().image(text, url, title))


def as_mathml(tex: str, *, block: bool = False) -> str:
    """MathML markup for a formula, or the TeX itself as code where it cannot be converted."""
    try:
        return mathml(tex, block=block)
    except ValueError:
        return f"<code>{html.escape(tex)}</code>"
