"""A query and a key on a dial each, turned by their positions: what moves, and what stays."""

from __future__ import annotations

import math

import ipywidgets as widgets
import matplotlib
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from attention_lab import plots
from attention_lab.sliders.explorer import ARROW, FIGURE, explorer

FARTHEST = 60  # the last place of the query on the slider


@matplotlib.rc_context(plots.STYLE)
def dials_slider(query: plots.Values, key: plots.Values, *, distance: int) -> widgets.VBox:
    """Move a query `(2,)` and a key `(2,)` through a text, `distance` places apart, a radian a place."""
    arrows = [torch.as_tensor(arrow).detach().double() for arrow in (query, key)]
    if any(arrow.shape != (2,) for arrow in arrows):
        shapes = " and ".join(str(tuple(arrow.shape)) for arrow in arrows)
        raise ValueError(f"query and key must be (2,), an arrow each, not {shapes}.")
    figure = Figure((9.0, 3.6), **FIGURE)
    reach = 1.25 * max(float(arrow.norm()) for arrow in arrows)
    hands = []
    for ax, name in zip(figure.subplots(1, 3), ("query", "key", "both"), strict=True):
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title=name)
        ax.set_axis_off()
        ax.add_patch(Circle((0, 0), reach / 1.1, fill=False, color="0.7"))
        for colour in {"query": ["black"], "key": [plots.ACCENT]}.get(name, ["black", plots.ACCENT]):
            hands.append(ax.quiver(0, 0, 1, 0, color=colour, width=0.012, **ARROW))

    def show(place: float) -> str:
        turned = [_turned(arrows[0], place), _turned(arrows[1], place - distance)]
        for hand, arrow in zip(hands, (*turned, *turned), strict=True):
            hand.set_UVC([float(arrow[0])], [float(arrow[1])])
        directions = [math.degrees(math.atan2(float(arrow[1]), float(arrow[0]))) for arrow in turned]
        between = (directions[0] - directions[1]) % 360
        return (
            f"Query at place {place:g}: {directions[0]:.0f}°. Key at place {place - distance:g}: "
            f"{directions[1]:.0f}°. From the key to the query: {between:.0f}°. "
            f"Score: {float(turned[0] @ turned[1]):.4f}."
        )

    slider = widgets.IntSlider(distance, distance, FARTHEST, description="the query's place")
    return explorer(figure, show, hands, slider, exact="type")


def _turned(arrow: torch.Tensor, place: float) -> torch.Tensor:
    cosine, sine = math.cos(place), math.sin(place)
    return torch.tensor([[cosine, -sine], [sine, cosine]], dtype=torch.float64) @ arrow
