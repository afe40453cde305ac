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
from types import ModuleType
from typing import Any

import ipywidgets as widgets
import matplotlib.pyplot as plt

from attention_lab.sliders.explorer import FigureBox
from nbjudge import CourseError
from nbjudge.course import global_names, reached

AS_MANY_PLACES = 6  # a slider with no more places than these is shown at each
EVEN_PLACES = 12  # of an angle


def needed_cells(codes: Sequence[str], wanted: int) -> list[int]:
    """List the places of the cells that `codes[wanted]` rests on, in order, itself the last.

    A name is taken from the last cell before that defines it, as it would be when the notebook is run
    from the top. What a cell only changes (a list it appends to) is not followed.
    """
    names = [global_names(code)[:2] for code in codes[: wanted + 1]]

    def leads_to(place: int) -> Iterator[int]:
        for name in names[place][0]:
            yield from [earlier for earlier in range(place) if name in names[earlier][1]][-1:]

    return sorted(reached([wanted], leads_to))


def run_cell(codes: Sequence[str], wanted: int, name: str) -> Any:
    """Return the value of the last expression of `codes[wanted]`, after the cells that it needs.

    CourseError, with `name`, where a cell does not run.
    """
    module = ModuleType(name)
    value = None
    plt.switch_backend("agg")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for place in needed_cells(codes, wanted):
                value = _run(codes[place], module)
    except Exception as error:
        raise CourseError(
            f"{name} cannot be drawn: a cell that it needs stops with {type(error).__name__}: {error}. "
            "Fix the source notebook and run `make build`."
        ) from error
    finally:
        plt.close("all")
    return value


def _run(code: str, module: ModuleType) -> Any:
    """Run a cell in the module; the value of its last line, if that is an expression."""
    tree = ast.parse(code)
    last = ast.Expression(ast.Constant(None))
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last.body = tree.body.pop().value  # type: ignore[attr-defined]
    exec(compile(tree, module.__name__, "exec"), vars(module))
    return eval(compile(ast.fix_missing_locations(last), module.__name__, "eval"), vars(module))


def static_sliders(widget: object, keep: Callable[[bytes], str], name: str) -> list[str]:
    """Return the sliders of a widget as HTML, each moved alone while the others stay where they open.

    Each is a choice of places, and the frame of the chosen one. `keep` stores a picture and gives its
    address; `name` keeps it apart from the page's others. It needs no script: style sheets show the frame of
    the place that is chosen, and all of them where there are none. Empty for a widget without a slider.
    """
    if not isinstance(widget, FigureBox):
        return []
    controls, picture, summary = widget.children
    kinds = (widgets.IntSlider, widgets.FloatSlider)
    sliders = [control for control in controls.children if isinstance(control, kinds)]
    drawn = []
    for number, slider in enumerate(sliders):
        opening = slider.value
        lines = ['<fieldset class="stand-in">', f"<legend>{html.escape(slider.description)}</legend>"]
        for place, value in enumerate(places_of(slider.min, slider.max, slider.step, opening)):
            slider.value = type(opening)(value)
            words = html.escape(html.unescape(re.sub(r"<[^>]+>", "", summary.value)).strip())
            identity, checked = f"{name}-{number}-{place}", " checked" if value == opening else ""
            address, width = keep(bytes(picture.value)), round(float(picture.width))
            lines += [
                f'<input type="radio" name="{name}-{number}" id="{identity}"{checked}>',
                f'<label for="{identity}">{value:g}</label>',
                f'<figure><img src="{address}" width="{width}" alt="{words}">',
                # Anyone who hears the picture's text need not hear it twice.
                f'<figcaption aria-hidden="true">{words}</figcaption></figure>',
            ]
        slider.value = opening
        drawn.append("\n".join([*lines, "</fieldset>"]))
    return drawn


def places_of(least: float, largest: float, step: float, opening: float) -> list[float]:
    """Choose where to show a slider: everywhere if it has few places, else ends, powers of 2 and opening.

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
