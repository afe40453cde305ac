"""What the theme and the makers of tables and signatures leave out for people who listen to a page.

A Sphinx extension that fixes the written pages; the rules are those of axe, which the tests run.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

# Two landmarks of one kind need names; a corner of a table that says nothing heads nothing.
CHANGES = [
    (re.compile(r'<aside class="sidebar-drawer">'), '<aside class="sidebar-drawer" aria-label="All pages">'),
    (re.compile(r'<aside class="toc-drawer">'), '<aside class="toc-drawer" aria-label="On this page">'),
    (re.compile(r"<th(?: [^>]*)?>\s*(?:<p>\s*</p>)?\s*</th>"), "<td></td>"),
    # The arguments of a function, each on a line of its own, are a list without terms.
    (re.compile(r'<dl>(?=\s*<dd><em class="sig-param)'), '<ul class="arguments">'),
    (re.compile(r'<dd>(<em class="sig-param.*?)</dd>'), r"<li>\1</li>"),
    (re.compile(r"(?<=</li>)\s*</dl>"), "\n</ul>"),
    (re.compile(r'<div id="search-results">'), '<h1>Search</h1>\n<div id="search-results">'),
]


def fix(page: str) -> str:
    """The HTML of a page with all changes made."""
    for pattern, replacement in CHANGES:
        page = pattern.sub(replacement, page)
    return page


def _fix_pages(app: Sphinx, exception: Exception | None) -> None:
    if exception is None:
        for path in Path(app.outdir).rglob("*.html"):
            path.write_text(fix(path.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", _fix_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
