"""The base of every slider of the course: controls, the figure that they move, and the figure in words.

`explorer` draws once what stays, and for every step only what moves: matplotlib calls that animated, and
leaves it out of `canvas.draw` but not of a saved file.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ipywidgets as widgets
import matplotlib.pyplot as plt
import torch
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave
from traitlets import Unicode

from attention_lab import plots
from nbjudge.tutor import LiveBox

# As a Figure of its own, without pyplot, nothing has to be closed and nothing is shown twice.
FIGURE: dict[str, Any] = {"dpi": 144, "layout": "constrained", "facecolor": "white"}

# Of a quiver: lengths are those of the axes, and no style gives an arrow another edge.
ARROW: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "edgecolor": "none"}

Show = Callable[..., str]  # brings a figure to a value of its slider, and says what it then shows


def png_of(figure: Figure) -> bytes:
    """Draw the whole figure."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


class FigureBox(LiveBox):
    """Controls, the figure that `draw` makes of the values of those `moved`, and the figure in words.

    `figure` is what was drawn last; its label says in words what it shows. A figure without axes leaves the
    picture as it is.
    """

    def __init__(
        self,
        draw: Callable[..., Figure],
        *moved: widgets.Widget,
        controls: Sequence[widgets.Widget] = (),
        png: Callable[[Figure], bytes] = png_of,
    ) -> None:
        for control in moved:
            control.style.description_width = "initial"
            control.layout.width = control.layout.width or "26em"
        picture = widgets.Image(tooltip="The line below says what is shown.", layout={"max_width": "100%"})
        # Its name for screen readers is the tooltip, which the browser sets where there is a description.
        picture.add_traits(description=Unicode("").tag(sync=True))
        summary = widgets.HTML()

        def update(_: object = None) -> None:
            self.figure = draw(*(control.value for control in moved))
            plt.close(self.figure)  # or the notebook would show it a second time
            if self.figure.axes:
                picture.width = str(int(96 * self.figure.get_figwidth()))
                picture.value = png(self.figure)
            words = html.escape(str(self.figure.get_label()))
            summary.value = f'<p role="status" aria-live="polite" style="line-height: 1.4">{words}</p>'

        for control in moved:
            control.observe(update, names="value")
        update()
        super().__init__([widgets.HBox(list(controls or moved)), picture, summary], [summary])


def explorer(
    figure: Figure,
    show: Show,
    moving: Iterable[Artist],
    slider: widgets.Widget,
    *beside: widgets.Widget,
    exact: str = "",
) -> FigureBox:
    """A slider, the figure of which it changes what is `moving`, and the figure in words.

    `exact` names a box for a value that is typed in; `beside` are buttons.
    """
    for artist in moving:
        artist.set_animated(True)
    if exact:
        slider.readout = False
        kind = widgets.BoundedIntText if isinstance(slider.value, int) else widgets.BoundedFloatText
        span = {name: getattr(slider, name) for name in ("value", "min", "max", "step")}
        box = kind(description=exact, style={"description_width": "initial"}, layout={"width": "9em"}, **span)
        widgets.link((slider, "value"), (box, "value"))
        beside = (box, *beside)

    def draw(value: float) -> Figure:
        figure.set_label(show(value))
        return figure

    draw(slider.value)  # so that the layout has space for every text
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)

    def png(figure: Figure) -> bytes:
        canvas.restore_region(background)
        for artist in figure.findobj(lambda artist: artist.get_animated()):
            figure.draw_artist(artist)
        buffer = io.BytesIO()
        imsave(buffer, canvas.buffer_rgba(), format="png", pil_kwargs={"compress_level": 1})
        return buffer.getvalue()

    return FigureBox(draw, slider, controls=[slider, *beside], png=png)


def move_bars(ax: Any, weights: torch.Tensor) -> None:
    """Give the bars of `plots.weight_bars` other heights and, where they carry numbers, other numbers."""
    for place, weight in enumerate(weights.tolist()):
        ax.containers[0][place].set_height(weight)
        if ax.texts:  # many bars carry none
            ax.texts[place].set_text(plots.number_text(weight))
            ax.texts[place].xy = (place, weight)


def step_buttons(slider: widgets.IntSlider) -> tuple[widgets.Button, widgets.Button]:
    """Two buttons that move a slider by one step, each of no use at its end."""
    back = widgets.Button(description="Previous", icon="arrow-left", layout={"width": "9em"})
    forward = widgets.Button(description="Next", icon="arrow-right", layout={"width": "9em"})

    def stop_at_ends(_: object = None) -> None:
        back.disabled, forward.disabled = slider.value == slider.min, slider.value == slider.max

    def move(step: int) -> None:
        slider.value += step

    back.on_click(lambda _: move(-1))
    forward.on_click(lambda _: move(1))
    slider.observe(stop_at_ends, names="value")
    stop_at_ends()
    return back, forward
