"""Pictures that stand in for a slider where no kernel runs.

The lesson's own slider is built, moved to a few places, and what it then shows is kept: the picture and
the sentence below it. So a page shows what students see, and a new slider needs nothing of its own here.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import ipywidgets as widgets
import matplotlib.pyplot as plt

from attention_lab.errors import CourseError
from attention_lab.maintain.site.needed_cells import needed_cells

AS_MANY_PLACES = 6  # a slider with no more places than these is shown at each
EVEN_PLACES = 12  # of an angle
SLIDERS = (widgets.IntSlider, widgets.FloatSlider)


@dataclass(frozen=True)
class Frame:
    """What a slider shows at one place: the picture as PNG, how wide it is in CSS pixels, and in words."""

    value: float
    picture: bytes
    width: int
    words: str


@dataclass(frozen=True)
class StaticSlider:
    """One slider, by its description, at some of its places; and the place it opens with."""

    description: str
    frames: tuple[Frame, ...]
    opening: float


def run_cell(codes: Sequence[str], wanted: int, name: str) -> Any:
    """The value of the last expression of `codes[wanted]`, after the cells that it needs.

    CourseError, with `name`, where a cell does not run.
    """
    module = ModuleType(name)
    value = None
    try:
        with _quietly():
            for place in needed_cells(codes, wanted):
                value = _run(codes[place], module)
    except Exception as error:
        raise CourseError(
            f"{name} cannot be drawn: a cell that it needs stops with {type(error).__name__}: {error}. "
            "Fix the source notebook and run `make build`."
        ) from error
    return value


def static_sliders(widget: object) -> list[StaticSlider]:
    """The sliders of a widget, each moved alone while the others stay where they open.

    Empty for a widget that has no slider or shows no picture.
    """
    parts = list(_parts(widget))
    sliders = [part for part in parts if isinstance(part, SLIDERS)]
    pictures = [part for part in parts if isinstance(part, widgets.Image)]
    texts = [part for part in parts if isinstance(part, widgets.HTML)]
    if not (sliders and pictures and texts):
        return []
    return [_moved(slider, pictures[0], texts[0]) for slider in sliders]


def places_of(least: float, largest: float, step: float, opening: float) -> list[float]:
    """Where a slider is shown: everywhere if it has few places, else its ends, powers of 2, and the opening.

    Doubling, because what the course's sliders change (a width, a factor, a distance) acts by ratios. An
    angle, which may be negative, is shown at equal distances instead.
    """
    if (largest - least) / step < AS_MANY_PLACES:
        count = round((largest - least) / step) + 1
        return [least + step * number for number in range(count)]
    if least < 0 < largest:  # an angle: equally far apart, and 0 is among them
        apart = step * math.ceil((largest - least) / step / EVEN_PLACES)
        evenly = (apart * number for number in range(-EVEN_PLACES, EVEN_PLACES + 1))
        return sorted({opening, *(value for value in evenly if least <= value <= largest)})
    powers = (2.0**exponent for exponent in range(64))
    doubled = (power for power in powers if least < power <= 0.8 * largest)  # the end is close beside
    return sorted({least, largest, opening, *doubled})


def html_of(static_slider: StaticSlider, keep: Callable[[bytes], str], name: str) -> str:
    """A stand-in as HTML: a choice of places, and the frame of the chosen one.

    `keep` stores a picture and gives its address; `name` keeps it apart from the page's others. It needs
    no script: style sheets show the frame of the place that is chosen, and all of them where there are none.
    """
    lines = ['<fieldset class="stand-in">', f"<legend>{html.escape(static_slider.description)}</legend>"]
    for number, frame in enumerate(static_slider.frames):
        identity, words = f"{name}-{number}", html.escape(frame.words)
        checked = " checked" if frame.value == static_slider.opening else ""
        lines += [
            f'<input type="radio" name="{name}" id="{identity}"{checked}>',
            f'<label for="{identity}">{frame.value:g}</label>',
            f'<figure><img src="{keep(frame.picture)}" width="{frame.width}" alt="{words}">',
            # Anyone who hears the picture's text need not hear it twice.
            f'<figcaption aria-hidden="true">{words}</figcaption></figure>',
        ]
    return "\n".join([*lines, "</fieldset>"])


def _moved(slider: Any, picture: widgets.Image, text: widgets.HTML) -> StaticSlider:
    opening = slider.value
    frames = []
    for value in places_of(slider.min, slider.max, slider.step, opening):
        slider.value = int(value) if isinstance(slider, widgets.IntSlider) else value
        words = html.unescape(re.sub(r"<[^>]+>", "", text.value)).strip()
        frames.append(Frame(value, bytes(picture.value), round(float(picture.width)), words))
    slider.value = opening
    return StaticSlider(slider.description, tuple(frames), float(opening))


def _parts(widget: object) -> Iterator[object]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _parts(child)


def _run(code: str, module: ModuleType) -> Any:
    """Run a cell in the module; the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = ast.Expression(ast.Constant(None))
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last.body = tree.body.pop().value  # type: ignore[attr-defined]
    exec(compile(tree, module.__name__, "exec"), vars(module))
    return eval(compile(ast.fix_missing_locations(last), module.__name__, "eval"), vars(module))


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without windows or prints."""
    plt.switch_backend("agg")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        plt.close("all")
