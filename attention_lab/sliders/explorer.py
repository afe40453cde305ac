"""What every slider of the course is made of: a control, the figure that it moves, and the figure in words.

A widget draws once what stays, and for every step only what moves: matplotlib calls that animated, and
leaves it out of `canvas.draw` but not of a saved file.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave
from traitlets import Unicode

from attention_lab.live_box import LiveBox

# As a Figure of its own, without pyplot, nothing has to be closed and nothing is shown twice.
FIGURE: dict[str, Any] = {"dpi": 144, "layout": "constrained", "facecolor": "white"}

Show = Callable[..., str]  # brings a figure to a value of its slider, and says what it then shows


def at(value: float, figure: Figure, show: Show) -> Figure:
    """The figure at a value, which its label says in words."""
    figure.set_label(show(value))
    return figure


def explorer(figure: Figure, show: Show, slider: widgets.Widget, *companions: widgets.Widget) -> widgets.VBox:
    """A slider, the figure it moves, and the figure in words; a box `beside` it takes exact values."""
    slider.style.description_width, slider.layout.width = "initial", "26em"
    for companion in companions:
        companion.layout.width = "9em"
    if "value" in companions[0].traits():
        slider.readout, companions[0].style.description_width = False, "initial"
        widgets.link((slider, "value"), (companions[0], "value"))
    picture = widgets.Image(tooltip="The line below says what is shown.", width=96 * figure.get_figwidth())
    # Its name for screen readers is the tooltip, which the browser sets where there is a description.
    picture.add_traits(description=Unicode("").tag(sync=True))
    picture.layout.max_width = "100%"
    summary = widgets.HTML()

    def update(value: float) -> None:
        at(value, figure, show)
        canvas.restore_region(background)
        for artist in figure.findobj(lambda artist: artist.get_animated()):
            figure.draw_artist(artist)
        buffer = io.BytesIO()
        imsave(buffer, canvas.buffer_rgba(), format="png", pil_kwargs={"compress_level": 1})
        picture.value = buffer.getvalue()
        words = html.escape(str(figure.get_label()))
        summary.value = f'<p role="status" aria-live="polite" style="line-height: 1.4">{words}</p>'

    at(slider.value, figure, show)  # so that the layout has space for every text
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    slider.observe(lambda change: update(change["new"]), names="value")
    update(slider.value)
    return LiveBox([widgets.HBox([slider, *companions]), picture, summary], [summary])
