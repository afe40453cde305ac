"""The learner's page: where they are, what is next, and the mistakes they have met, to be read again."""

from __future__ import annotations

from html import escape
from pathlib import Path

import ipywidgets as widgets

from attention_lab.start.learned import Learned, LearnedLesson, Stand, learned, next_exercise
from attention_lab.start.progress_page import CELL, TEXT, bar
from attention_lab.tutor.memory import Memory
from attention_lab.tutor.panel import with_code

SIGNS = {Stand.RIGHT: "✓", Stand.CHANGED: "?", Stand.TRIED: "✗", Stand.NEW: "·"}
LEGEND = " &nbsp; ".join(f"{sign} {stand.value}" for stand, sign in SIGNS.items())
ALL_RIGHT = "Every exercise is right. What a course this was; thank you for working it."
ASK = "Forget all tries, hints and mistakes? Your notebooks stay as they are."


def learned_page(folder: Path) -> widgets.VBox:
    """A table of lessons and exercises as the tutor has seen them, with buttons to look again and reset."""
    memory = Memory(folder)
    table, status = widgets.HTML(), widgets.HTML()
    again = widgets.Button(description="Look again", icon="refresh")
    reset = widgets.Button(description="Start afresh …", layout={"width": "auto"})
    sure = widgets.Button(description="Yes, forget", layout={"display": "none"})

    def draw(sentence: str = "") -> None:
        lessons = learned(folder, memory)
        table.value = learned_table(lessons)
        status.value = f'<span role="status" aria-live="polite">{sentence or what_is_next(lessons)}</span>'
        sure.layout.display = "none"

    def ask(_: object) -> None:
        status.value = f'<span role="status" aria-live="polite">{ASK}</span>'
        sure.layout.display = "flex"

    def forget(_: object) -> None:
        memory.reset()
        draw("Everything is new again.")

    again.on_click(lambda _: draw())
    reset.on_click(ask)
    sure.on_click(forget)
    draw()
    return widgets.VBox([widgets.HBox([again, reset, sure]), status, table])


def what_is_next(lessons: list[LearnedLesson]) -> str:
    """A sentence, as HTML, with a link to the lesson that is next."""
    if not lessons:
        return "There are no lessons beside this page: open it in the folder that `attention-lab start` made."
    found = next_exercise(lessons)
    if found is None:
        return ALL_RIGHT
    lesson, exercise = found
    link = f"../{lesson.lesson.path.parent.name}/{lesson.lesson.path.name}"
    title = escape(lesson.lesson.title)
    return f'Next: <code>{escape(exercise.name)}</code> in <a href="{escape(link)}">{title}</a>.'


def learned_table(lessons: list[LearnedLesson]) -> str:
    """The lessons as HTML: a row and a bar each, a sign for each exercise, and the mistakes met."""
    heads = "".join(
        f'<th scope="col" style="{CELL}">{head}</th>' for head in ("Lesson", "Right", "Exercises")
    )
    return (
        f'<table style="border-collapse: collapse; color: {TEXT}; line-height: 1.5; width: 100%">'
        f'<caption style="text-align: left; caption-side: bottom; padding-top: 0.5em">{LEGEND}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(map(_row, lessons))}</tbody></table>"
    )


def _row(lesson: LearnedLesson) -> str:
    name = f'<th scope="row" style="{CELL} font-weight: normal">{escape(lesson.lesson.title)}</th>'
    if lesson.lesson.problem:
        return f'<tr>{name}<td colspan="2" style="{CELL}">✗ {escape(lesson.lesson.problem)}</td></tr>'
    signs = " &nbsp; ".join(map(_sign, lesson.exercises))
    met = "".join(_mistakes(each) for each in lesson.exercises)
    count = bar(lesson.right, len(lesson.exercises))
    return f'<tr>{name}<td style="{CELL}">{count}</td><td style="{CELL}">{signs}{met}</td></tr>'


def _sign(exercise: Learned) -> str:
    kept = exercise.kept
    tries = f"{kept.tries} {'try' if kept.tries == 1 else 'tries'}"
    helps = f", {kept.helps} {'hint' if kept.helps == 1 else 'hints'}" if kept.helps else ""
    details = f" <small>({tries}{helps})</small>" if kept.tries else ""
    return (
        f'<span style="white-space: nowrap">{SIGNS[exercise.stand]} '
        f"<code>{escape(exercise.name)}</code>{details}</span>"
    )


def _mistakes(exercise: Learned) -> str:
    sentences = exercise.kept.mistakes.values()
    if not sentences:
        return ""
    items = "".join(f"<li>{with_code(sentence)}</li>" for sentence in sentences)
    return (
        f"<details><summary>Met in <code>{escape(exercise.name)}</code></summary><ul>{items}</ul></details>"
    )
