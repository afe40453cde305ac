"""Code cells in tabs: each set of tabs for languages takes in the cell that is before it.

A Sphinx extension. A notebook's cells cannot be in a directive; so the tabs come behind the cell, with the
first of them empty, and here the cell moves in, with its outputs and whatever marks it.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class CellMover(SphinxTransform):
    """While a page is read, before its tabs are made HTML of."""

    default_priority = 500

    def apply(self, **_: object) -> None:
        """Called by Sphinx."""
        for tabs in list(self.document.findall(_are_for_languages)):
            siblings = tabs.parent
            cell = siblings[siblings.index(tabs) - 1]
            siblings.remove(cell)
            # sphinx-design's parts: a set holds tabs, and a tab its label and its content.
            content = next(part for part in tabs.findall(nodes.container) if _is_content(part))
            content.children.clear()
            content += cell


def _is_content(part: nodes.container) -> bool:
    return bool(part.get("design_component") == "tab-content")


def _are_for_languages(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "languages" in node["classes"]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_transform(CellMover)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
