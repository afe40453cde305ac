"""`attention-lab practice`: what is due, a notebook of due exercises, and cards in the terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.text import Text

from attention_lab.errors import CourseError
from attention_lab.start.lessons import released_lessons
from attention_lab.start.practice.cards import PracticeCard, as_plain
from attention_lab.start.practice.due import RATINGS, Practice, work_folder
from attention_lab.start.progress import SavedLesson, read_lessons

TITLE = """# Practice of {day}

Write each answer from memory, then run `check`. What you try here changes nothing in your lessons; it decides
when an exercise comes again. Open a hint only when you are stuck."""
EARLIER = "# What you wrote earlier in this lesson: your answers may call it.\n\n"
HUNTS = """# Bug hunts

Find a call that shows the mistake, `bug(…)`, then fix it: `bug.fix()`."""
PROMPT = f"[dim]{' · '.join(f'{rating} {words}' for rating, words in RATINGS.items())}:[/] "
NO_RATING = "That is no rating: type 1, 2, 3 or 4, or stop with Ctrl-C."
NOTHING = "Nothing is due today. Next: {day}."
NOT_BEGUN = "Nothing is planned yet: practice begins with the first answer that you check in a lesson."
NO_FOLDER = "{folder} is not a work folder: name the one that `attention-lab start` made, or go there first."
NOT_WRITTEN = (
    "The notebook cannot be written to {folder} ({reason}): free some space, or choose another folder."
)


def practise(
    folder: Path, console: Console, today: date, before: int | None = None, with_cards: bool = True
) -> None:
    """Say what is due, write the day's notebook, and ask due cards; or ask three cards before a lesson.

    Raises CourseError if `folder` is not in a work folder, `before` is no lesson, a package is missing, or
    something cannot be written.
    """
    path = folder.absolute()
    work = work_folder(path)
    if work is None:
        raise CourseError(NO_FOLDER.format(folder=path))
    practice = Practice(work, today)
    if before is not None:
        ask_cards(practice.questions_before(before), practice, console)
        return
    sentences = [*practice.notes, f"Due today: {practice}."]
    if practice.exercises or practice.hunts:
        sentences.append(f"Notebook: {write_notebook(practice)}")
    elif not practice.cards:
        day = practice.next_day
        sentences[-1] = NOTHING.format(day=day) if day else NOT_BEGUN
    for sentence in sentences:
        console.print(sentence, highlight=False, soft_wrap=True, markup=False)
    if with_cards and practice.cards:
        ask_cards(practice.cards, practice, console)


def ask_cards(cards: Sequence[PracticeCard], practice: Practice, console: Console) -> None:
    """Ask cards until all are rated or the learner stops with Ctrl-C; each rating is written at once.

    Raises CourseError if a rating cannot be written.
    """
    rated = 0
    try:
        for place, card in enumerate(cards, 1):
            console.rule(f"[dim]{place} of {len(cards)} · {card.lesson}[/]", align="left")
            console.print(Text(as_plain(card.question), style="bold"))
            console.input("[dim]Enter shows the answer.[/] ")
            console.print(Text(as_plain(card.answer)))
            while (rating := console.input(PROMPT).strip()) not in map(str, RATINGS):
                console.print(NO_RATING)
            practice.rate(card, int(rating))
            rated = place
    except (KeyboardInterrupt, EOFError):
        console.print()
    console.print(f"Rated: {rated} of {len(cards)} cards.", highlight=False)


def write_notebook(practice: Practice) -> Path:
    """Write the day's notebook of due exercises and hunts, if there is none yet; return its path.

    Raises CourseError if it cannot be written, or the released lessons are missing.
    """
    path, folder = practice.notebook, practice.notebook.parent
    if path.exists():
        return path
    cells = [("markdown", TITLE.format(day=practice.today), "")]
    own = {lesson.path.parent.name: lesson for lesson in read_lessons(practice.folder)}
    for lesson in read_lessons(released_lessons()):
        names = [name for name in lesson.exercises_in_code if name in practice.exercises]
        if names:
            cells += _exercise_cells(lesson, own.get(lesson.path.parent.name, lesson), names)
    if practice.hunts:
        cells += [("markdown", HUNTS, ""), ("code", "from attention_lab import hunt", "")]
        cells += [
            ("code", f"bug = hunt({name!r}, early=True)\nbug", f"hunt-{name}") for name in practice.hunts
        ]
    content = {
        "cells": [
            {"id": name or f"practice-{place}", "cell_type": kind, "metadata": {}, "source": source}
            | ({"execution_count": None, "outputs": []} if kind == "code" else {})
            for place, (kind, source, name) in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (new := path.with_suffix(".new")).write_text(
            json.dumps(content, ensure_ascii=False, indent=1), "utf-8"
        )
        new.rename(path)
    except OSError as error:
        raise CourseError(NOT_WRITTEN.format(folder=folder, reason=error.strerror)) from error
    return path


def _exercise_cells(lesson: SavedLesson, own: SavedLesson, names: list[str]) -> list[tuple[str, str, str]]:
    """Return a lesson's set-up, the learner's answers before the due ones, and these with an empty cell."""
    places = {cell.name: place for place, cell in enumerate(lesson.cells)}
    cells = [("code", lesson.cells[places["setup"]].source, "")]
    before = lesson.exercises_in_code[: lesson.exercises_in_code.index(names[-1])]
    earlier = [own.answer_of(name) for name in before if name not in names]
    written = [answer for answer in earlier if answer not in map(lesson.answer_of, before)]
    if written:
        cells.append(("code", EARLIER + "\n\n\n".join(written), ""))
    for name in names:
        statement, answer = (cell.source for cell in lesson.cells[places[name] - 1 : places[name] + 1])
        # A practice notebook is one folder deeper than a lesson.
        cells.append(("markdown", statement.replace("](../", "](../../"), ""))
        cells += [("code", answer, ""), ("code", f'check("{name}")', f"check-{name}")]
    return cells
