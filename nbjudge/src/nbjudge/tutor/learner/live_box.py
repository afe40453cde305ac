"""Controls that are shown with a text, because a notebook keeps nothing else of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Any

import ipywidgets as widgets
from IPython import get_ipython
from IPython.display import display, update_display

STORED = "nbjudge-stored"  # the class of what a notebook stores
AGAIN = "Run this cell again to use its controls: they ended with the kernel."
# When a notebook is opened, JupyterLab writes "model not found" where the controls were.
AFTER = f".jp-OutputArea-child:has(.{STORED}) + .jp-OutputArea-child"
NOT_FOUND = f"{AFTER} > .jp-OutputArea-output.jupyter-widgets:not(:has(*))"
WITHOUT_CONTROLS = f"<style>{NOT_FOUND} {{display: none}}</style>"
# It keeps controls whose kernel was restarted, and marks them.
WITH_CONTROLS = (
    "<style>#{name} > * {{display: none}} "
    ".jp-OutputArea:has(.jupyter-widgets-disconnected) #{name} > p {{display: block}}</style>"
)


class LiveBox(widgets.VBox):  # type: ignore[misc]
    """Controls below each other. The texts in `stored` are what the notebook shows when they are dead.

    `begin` is called once they are displayed; the notebook then stores the texts as it leaves them.
    """

    def __init__(
        self,
        children: Sequence[Any],
        stored: Sequence[widgets.HTML] = (),
        begin: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(children)
        self._stored, self._begin = stored, begin

    def _ipython_display_(self) -> None:
        """Display the texts, and the controls, which hide the texts for as long as they are there."""
        shown, name = self, ""
        if hasattr(get_ipython(), "kernel"):  # not in a terminal
            name = f"{STORED}-{token_hex(4)}"
            display(self._stored_texts(name), raw=True, display_id=name)
            style = widgets.HTML(WITH_CONTROLS.format(name=name), layout={"display": "none"})
            shown = widgets.VBox([self, style])
        display(widgets.VBox._repr_mimebundle_(shown), raw=True)
        if self._begin is not None:
            self._begin()
            if name:
                update_display(self._stored_texts(name), raw=True, display_id=name)

    def _stored_texts(self, name: str) -> dict[str, str]:
        texts = "".join(text.value for text in self._stored)
        stored = f'<div class="{STORED}" id="{name}"><p><em>{AGAIN}</em></p><div>{texts}</div></div>'
        return {"text/html": stored + WITHOUT_CONTROLS, "text/plain": AGAIN}
