"""The table of the first page: the learner's progress, what is next, and the mistakes that were named."""

from __future__ import annotations

from datetime import date
from html import escape
from pathlib import Path

import ipywidgets as widgets

from attention_lab.errors import CourseError
from attention_lab.start.practice.due import Practice
from attention_lab.start.progress import (
    ExerciseProgress,
    LessonProgress,
    Status,
    next_exercise,
    read_progress,
)
from attention_lab.tutor import RECORD, has_tutor
from nbjudge.tutor import LearnerRecord, LiveBox, with_code

SIGNS = {Status.RIGHT: "✓", Status.CHANGED: "?", Status.TRIED: "✗", Status.NEW: "·"}
LEGEND = " &nbsp; ".join(f"{sign} {status.value}" for status, sign in SIGNS.items())
# JupyterLab's own colours, so that the table reads well in a dark theme, too.
TEXT, LINE, BAR = "var(--jp-content-font-color1)", "var(--jp-border-color2)", "var(--jp-content-font-color2)"
CELL = f"padding: 0.4em 0.8em; text-align: left; vertical-align: top; border-bottom: 1px solid {LINE};"
ALL_RIGHT = "Every exercise is right. Thank you for working through the course."
PREDICTED = "Predictions answered: {answered}, right at once: {right}."
CONFIRM = "Forget all tries, hints and mistakes? Your notebooks stay as they are."
NO_TUTOR = (
    "This table shows what the tutor has found, and this copy of the lessons comes without the tutor. Press "
    "Validate in a lesson's toolbar: it runs the lesson's tests and says which of them fail."
)
DUE = "Due for practice today: {due}. In a terminal, in this folder: <code>attention-lab practice</code>."
NO_LESSONS = "There are no lessons beside this page: open it in the folder that `attention-lab start` made."


def show_progress(folder: Path | None = None) -> widgets.VBox:
    """Show a table of the lessons in `folder` and the progress in each exercise.

    Parameters
    ----------
    folder
        The folder of the lessons; by default the one above the notebook's.

    Returns
    -------
    ipywidgets.VBox
        The table, with buttons to read it again and to forget it; without a tutor, a sentence.
    """
    if not has_tutor():
        return widgets.VBox([widgets.HTML(_status(NO_TUTOR))])
    folder = Path.cwd().parent if folder is None else folder
    record = LearnerRecord(folder / RECORD)
    table, status = widgets.HTML(), widgets.HTML()
    refresh = widgets.Button(description="Look again", icon="refresh")
    reset = widgets.Button(description="Start afresh …", layout={"width": "auto"})
    confirm = widgets.Button(description="Yes, forget", layout={"display": "none"})

    def draw(sentence: str = "") -> None:
        lessons = read_progress(folder, record)
        table.value = progress_table(lessons)
        status.value = _status(sentence or what_is_next(lessons)) + practice_today(folder, date.today())
        confirm.layout.display = "none"

    def ask(_: object) -> None:
        status.value = _status(CONFIRM)
        confirm.layout.display = "flex"

    def forget(_: object) -> None:
        record.reset()
        draw("Everything is new again.")

    refresh.on_click(lambda _: draw())
    reset.on_click(ask)
    confirm.on_click(forget)
    draw()
    return LiveBox([widgets.HBox([refresh, reset, confirm]), status, table], [status, table])


def what_is_next(lessons: list[LessonProgress]) -> str:
    """Return a sentence, as HTML, with a link to the lesson that is next."""
    if not lessons:
        return NO_LESSONS
    found = next_exercise(lessons)
    if found is None:
        return ALL_RIGHT
    lesson, exercise = found
    link = f"../{lesson.lesson.path.parent.name}/{lesson.lesson.path.name}"
    title = escape(lesson.lesson.title)
    return f'Next: <code>{escape(exercise.name)}</code> in <a href="{escape(link)}">{title}</a>.'


def practice_today(folder: Path, today: date) -> str:
    """Return what is due for practice today, as HTML; empty if nothing is."""
    try:
        practice = Practice(folder, today)
    except CourseError as error:
        sentences = [with_code(str(error))]
    else:
        sentences = [*map(escape, practice.notes), *[DUE.format(due=practice)] * bool(str(practice))]
    return "".join(f"<p>{sentence}</p>" for sentence in sentences)


def progress_table(lessons: list[LessonProgress]) -> str:
    """Return the table as HTML: a row per lesson, a sign per exercise, the mistakes that were named."""
    heads = "".join(
        f'<th scope="col" style="{CELL}">{head}</th>' for head in ("Lesson", "Right", "Exercises")
    )
    return (
        f'<table style="border-collapse: collapse; color: {TEXT}; line-height: 1.5; width: 100%">'
        f'<caption style="text-align: left; caption-side: bottom; padding-top: 0.5em">{LEGEND}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(map(_row, lessons))}</tbody></table>"
    )


def _status(sentence: str) -> str:
    """A sentence that a screen reader reads aloud when it changes."""
    return f'<span role="status" aria-live="polite">{sentence}</span>'


def _row(lesson: LessonProgress) -> str:
    name = f'<th scope="row" style="{CELL} font-weight: normal">{escape(lesson.lesson.title)}</th>'
    if lesson.lesson.problem:
        return f'<tr>{name}<td colspan="2" style="{CELL}">✗ {escape(lesson.lesson.problem)}</td></tr>'
    signs = " &nbsp; ".join(map(_sign, lesson.exercises))
    mistakes = "".join(_mistakes(exercise) for exercise in lesson.exercises)
    count = _bar(lesson.right, len(lesson.exercises))
    if lesson.predictions:
        told = PREDICTED.format(answered=len(lesson.predictions), right=lesson.right_at_once)
        mistakes = f"<p><small>{told}</small></p>{mistakes}"
    return f'<tr>{name}<td style="{CELL}">{count}</td><td style="{CELL}">{signs}{mistakes}</td></tr>'


def _bar(right: int, count: int) -> str:
    """Return how many of how many, in words and as a bar."""
    share = f"width: {100 * right / max(1, count):.0f}%; height: 100%; background: {BAR}"
    frame = f"width: 7em; height: 0.7em; border: 1px solid {BAR}"
    words = f'<div style="white-space: nowrap">{right} of {count}</div>'
    return f'{words}<div style="{frame}"><div style="{share}"></div></div>'


def _sign(exercise: ExerciseProgress) -> str:
    known = exercise.record
    tries = f"{known.tries} {'try' if known.tries == 1 else 'tries'}"
    helps = f", {known.helps} {'hint' if known.helps == 1 else 'hints'}" if known.helps else ""
    details = f" <small>({tries}{helps})</small>" if known.tries else ""
    return (
        f'<span style="white-space: nowrap">{SIGNS[exercise.status]} '
        f"<code>{escape(exercise.name)}</code>{details}</span>"
    )


def _mistakes(exercise: ExerciseProgress) -> str:
    sentences = exercise.record.mistakes.values()
    if not sentences:
        return ""
    items = "".join(f"<li>{with_code(sentence)}</li>" for sentence in sentences)
    return (
        f"<details><summary>Met in <code>{escape(exercise.name)}</code></summary><ul>{items}</ul></details>"
    )
