"""A look at an answer in a notebook: the panel, and below it a button for each kind of help."""

from __future__ import annotations

from typing import Any

from IPython import get_ipython
from IPython.display import display

from attention_lab.tutor.panel import BUTTONS, is_notebook

WAITING = "One moment …"


def show_with_buttons(look: Any) -> None:
    """Display the panel of a `CheckPanel`; where the frontend is a notebook, with its buttons."""
    display({"text/html": look._repr_html_(), "text/plain": repr(look)}, raw=True)
    if is_notebook(get_ipython()):
        buttons = _buttons(look)
        if buttons is not None:
            display(buttons)


def _buttons(look: Any) -> Any:
    import ipywidgets as widgets

    from attention_lab.live_box import LiveBox

    buttons = []
    # What is read aloud when it changes.
    shown = {step: widgets.HTML() for step in look.steps}
    status = widgets.HTML()
    for step in look.steps:
        button = widgets.Button(description=BUTTONS[step], layout={"width": "auto"})

        def press(_: object, step: str = step) -> None:
            status.value = f'<span role="status" aria-live="polite">{WAITING}</span>'
            try:
                content = getattr(look, step)()._repr_html_()
            except KeyboardInterrupt:
                content = "<p>Stopped.</p>"
            # Hints add up, the other steps say the same again.
            before = shown[step].value if step == "help" else ""
            shown[step].value = f'{before}<div role="status" aria-live="polite">{content}</div>'
            status.value = ""

        button.on_click(press)
        buttons.append(button)
    return LiveBox([widgets.HBox([*buttons, status]), *shown.values()]) if buttons else None
