"""The progress of a student as a table in the notebook, by what the tutor has said or by visible tests."""

from __future__ import annotations

from html import escape
from pathlib import Path

import ipywidgets as widgets

from attention_lab.start.exercises import State
from attention_lab.start.progress import LessonProgress, Progress
from attention_lab.tutor.connection import has_tutor

SIGNS = {State.PASSES: "✓", State.FAILS: "✗", State.CHANGED: "?", State.UNTOUCHED: "·"}
LEGEND = " &nbsp; ".join(f"{sign} {state.value}" for state, sign in SIGNS.items())
# JupyterLab's own colours, so that the table reads well in a dark theme, too.
TEXT, LINE, BAR = "var(--jp-content-font-color1)", "var(--jp-border-color2)", "var(--jp-content-font-color2)"
CELL = f"padding: 0.4em 0.8em; text-align: left; vertical-align: top; border-bottom: 1px solid {LINE};"


def show_progress(folder: Path | None = None) -> widgets.VBox:
    """A table of the lessons in `folder` (the one above the notebook's) and how each exercise stands.

    With a tutor, it is what `check` has said; without one, which exercises pass their visible tests.
    """
    folder = Path.cwd().parent if folder is None else folder
    if has_tutor():
        from attention_lab.start.learned_page import learned_page

        return learned_page(folder)
    return visible_progress(folder)


def visible_progress(folder: Path) -> widgets.VBox:
    """A table of the lessons in `folder`, and which exercises pass their visible tests.

    Nothing is run before the button is pressed; then only lessons whose saved file has changed.
    """
    progress = Progress(folder)
    button = widgets.Button(description="Look again", icon="refresh")
    bar = widgets.IntProgress(layout={"width": "16em", "display": "none"})
    status = widgets.HTML()
    table = widgets.HTML()

    def draw(sentence: str) -> None:
        known = progress.known()
        table.value = progress_table(known)
        waiting = sum(each.is_out_of_date for each in known)
        status.value = _said(sentence or _what_to_press(known, waiting))

    def look(_: object) -> None:
        button.disabled, bar.layout.display = True, "flex"
        try:
            _look_at_changed(progress, bar, status)
            draw("Every lesson is shown as it was last saved.")
        except KeyboardInterrupt:
            draw("Stopped. What was found until then is shown; press the button to go on.")
        except Exception as error:  # whatever keeps a kernel from starting, a button has to say it
            reason = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            draw(f"The tests could not be run ({reason}). Run this page's first cells: is all well there?")
        finally:
            button.disabled, bar.layout.display = False, "none"

    button.on_click(look)
    draw("")
    return widgets.VBox([widgets.HBox([button, bar, status]), table])


def _look_at_changed(progress: Progress, bar: widgets.IntProgress, status: widgets.HTML) -> None:
    changed = [each.lesson for each in progress.known() if each.is_out_of_date]
    for number, lesson in enumerate(changed, start=1):
        status.value = _said(f"Running lesson {number} of {len(changed)}: {lesson.title} …")

        def step(done: int, all_cells: int) -> None:
            bar.max, bar.value = all_cells, done

        progress.look(lesson, step)


def _what_to_press(known: list[LessonProgress], waiting: int) -> str:
    if not known:
        return "There are no lessons beside this page: open it in the folder that `attention-lab start` made."
    if not waiting:
        return "Nothing has changed since the last look."
    return f"{waiting} {'lesson has' if waiting == 1 else 'lessons have'} changed: press the button."


def _said(sentence: str) -> str:
    return f'<span role="status" aria-live="polite">{escape(sentence)}</span>'


def progress_table(known: list[LessonProgress]) -> str:
    """The lessons as HTML: a row and a bar each, a sign for each exercise, and why a test failed."""
    heads = "".join(
        f'<th scope="col" style="{CELL}">{head}</th>' for head in ("Lesson", "Passed", "Exercises")
    )
    rows = "".join(_row(each) for each in known)
    return (
        f'<table style="border-collapse: collapse; color: {TEXT}; line-height: 1.5; width: 100%">'
        f'<caption style="text-align: left; caption-side: bottom; padding-top: 0.5em">{LEGEND}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(each: LessonProgress) -> str:
    name = f'<th scope="row" style="{CELL} font-weight: normal">{escape(each.lesson.title)}</th>'
    if each.lesson.problem:
        return f'<tr>{name}<td colspan="2" style="{CELL}">✗ {escape(each.lesson.problem)}</td></tr>'
    signs = " &nbsp; ".join(
        f'<span style="white-space: nowrap">{SIGNS[outcome.state]} <code>{escape(exercise)}</code></span>'
        for exercise, outcome in each.outcomes.items()
    )
    reasons = "".join(
        f"<div><code>{escape(exercise)}</code>: {escape(outcome.said)}</div>"
        for exercise, outcome in each.outcomes.items()
        if outcome.said
    )
    count = bar(each.passed, len(each.outcomes))
    return f'<tr>{name}<td style="{CELL}">{count}</td><td style="{CELL}">{signs}{reasons}</td></tr>'


def bar(passed: int, count: int) -> str:
    """How many of how many, in words and as a bar."""
    share = f"width: {100 * passed / max(1, count):.0f}%; height: 100%; background: {BAR}"
    frame = f"width: 7em; height: 0.7em; border: 1px solid {BAR}"
    words = f'<div style="white-space: nowrap">{passed} of {count}</div>'
    return f'{words}<div style="{frame}"><div style="{share}"></div></div>'
