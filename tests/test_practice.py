"""`attention-lab practice`: what is due, the day's notebook, cards in the terminal and for Anki."""

import json
import math
import re
import sqlite3
import sys
import time
import tomllib
import zipfile
from datetime import date, datetime, timedelta, timezone
from io import StringIO
from pathlib import Path

import nbformat
import pytest
import torch
from rich.console import Console

import nbjudge.tutor
from attention_lab import cli
from attention_lab.earlier import earlier_questions
from attention_lab.start.lessons import add_missing_lessons, released_lessons
from attention_lab.start.practice import earlier, session
from attention_lab.start.practice.cards import as_anki, as_plain, read_cards, write_deck
from attention_lab.start.practice.due import CARDS, MOST_EXERCISES, Practice
from attention_lab.start.progress_page import practice_today
from attention_lab.tutor import RECORD, begin_notebook
from nbjudge.tutor import LearnerRecord

ROOT = Path(__file__).parents[1]
EVERY_CARD = read_cards()
NUMBERS = tomllib.loads((ROOT / "tests/card_numbers.toml").read_text())
FIRST, TODAY = "01_dot_product", date.today()
EXERCISES = [path.stem for path in ROOT.glob("checks/dot_product/[a-z]*.py")] + ["causal_mask"]


@pytest.fixture
def work(tmp_path):
    """A work folder with the lessons, a right answer and a hunt."""
    add_missing_lessons(released_lessons(), tmp_path / "work", Console(quiet=True))
    answer_right(tmp_path / "work", "softmax").add_hunt("project", FIRST, "3f", "found")
    return tmp_path / "work"


def answer_right(work, *names):
    record = LearnerRecord(work / RECORD)
    for name in names:
        record.add_check(name, FIRST, "code", 8, 8)
    return record


def after(work, days):
    return Practice(work, TODAY + timedelta(days))


def practise(work, *lines, days=0, **options):
    """Return what a learner reads who types these lines, and then Ctrl-C."""
    console, typed = Console(file=StringIO(), width=200), iter([*lines, None])

    def read(*_):
        if (line := next(typed)) is None:
            raise KeyboardInterrupt
        return line

    console.input = read
    session.practise(work, console, TODAY + timedelta(days), **options)
    return console.file.getvalue()


def test_an_exercise_comes_after_days(work):
    assert [after(work, days).exercises for days in range(3)] == [[], [], ["softmax"]]
    assert [after(work, days).hunts for days in range(2)] == [[], ["project"]]
    assert after(work, 0).next_day == TODAY + timedelta(days=1)


def test_results_decide_when_it_comes_again(work):
    """Right at once; after a wrong check; not right. Only the first result of a practice notebook counts."""
    results = {"softmax": [8], "attention_scores": [5, 8], "project": [5]}
    before = answer_right(work, *results).exercises()
    practice = LearnerRecord(work / RECORD, str(TODAY + timedelta(days=2)))
    for name, points in results.items():
        for each in [*points, *points[-1:], *[0] * (points[-1] == 8)]:
            practice.add_check(name, "practice", f"{each}", each, 8)
        assert practice.exercise(name).right_code == before[name].right_code
        assert practice.exercise(name).tries == before[name].tries
    next_days = [next(day for day in range(3, 99) if name in after(work, day).exercises) for name in results]
    assert next_days[0] > next_days[1] > next_days[2] == 3


@pytest.mark.parametrize("hours", [-12, 14])  # at any time, one of them has another day than Greenwich
def test_days_are_those_of_the_learner(tmp_path, hours, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", f"XXX{-hours}")
        time.tzset()
        reviews = answer_right(tmp_path, "softmax").exercise("softmax").reviews
    time.tzset()
    assert list(reviews) == [str(datetime.now(timezone(timedelta(hours=hours))).date())]


@pytest.mark.parametrize(
    ("place", "tries"), [("practice/01_dot_product", 1), ("mine/practice/2026-01-31", 0)]
)
def test_a_notebooks_folder_says_what_is_practice(tmp_path, place, tries, monkeypatch):
    """A work folder may be called practice, too."""
    folder = tmp_path / place
    folder.mkdir(parents=True)
    work = tmp_path / place.partition("/")[0]
    (work / "00_start_here").mkdir()
    monkeypatch.chdir(folder)
    begun = []
    monkeypatch.setattr(nbjudge.tutor, "begin_notebook", lambda *given: begun.extend(given))
    begin_notebook()
    begun[1].add_check("softmax", folder.name, "code", 8, 8)
    history = LearnerRecord(work / RECORD).exercise("softmax")
    assert history.tries == tries and history.reviews


def test_the_notebook_is_written_once_and_empty(work):
    """The learner's other answers of the lesson come with the due exercises."""
    answer_right(work, "dot_product_attention")
    lesson = work / FIRST / "dot_product.ipynb"
    content = json.loads(lesson.read_text())
    for cell in content["cells"]:
        if cell["id"] in ("attention_scores", "softmax"):
            cell["source"] = f"def {cell['id']}(*mine): ..."
    lesson.write_text(json.dumps(content))
    practise(work, days=2)
    path = after(work, 2).notebook
    nbformat.validate(notebook := nbformat.read(path, 4))
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "def attention_scores(*mine)" in text and "def softmax(*mine)" not in text
    assert text.count("raise NotImplementedError()") == 2 and "Exercise 1.3" in text
    assert 'check("softmax")' in text and "hunt('project', early=True)" in text
    path.write_text(path.read_text().replace("# YOUR CODE HERE", "my work"))
    answer_right(work, "causal_mask")
    assert "2 exercises, 1 bug hunt" in practise(work, days=2) and "my work" in path.read_text()


def test_a_day_has_few_exercises(work):
    answer_right(work, *EXERCISES)
    assert len(after(work, 9).exercises) == MOST_EXERCISES < len(EXERCISES)
    assert f"{MOST_EXERCISES} exercises, 1 bug hunt, 9 cards" in practice_today(work, TODAY + timedelta(9))
    assert practice_today(work.parent, TODAY) == ""


def test_ratings_are_kept_until_ctrl_c(work):
    said = practise(work, "", "3", "", "seven", "1", "")
    assert "Due today: 9 cards." in said and "That is no rating" in said and "Rated: 2 of 9" in said
    score, steps, *_ = EVERY_CARD
    stored = {score: {"reviews": {str(TODAY): 3}}, steps: {"reviews": {str(TODAY): 1}}}
    add_missing_lessons(released_lessons(), work, Console(quiet=True))
    assert json.loads((work / CARDS).read_text()) == stored
    due = [[card.id for card in after(work, days).cards] for days in (1, 2)]
    assert due[0][0] == steps and score not in due[0] and score in due[1]


def test_three_questions_before_a_lesson(work):
    said = practise(work, *["", "2"] * 3, before=3)
    assert "Rated: 3 of 3" in said and set(re.findall(r"\b\d\d_", said)) <= {"01_", "02_"}


def test_a_lesson_asks_what_was_forgotten(work, monkeypatch):
    """In a work folder the record decides, and buttons write to it; elsewhere three stay the same."""
    monkeypatch.chdir(work.parent)
    fixed = earlier_questions(3)
    assert repr(fixed) == repr(earlier_questions(3)) and fixed._repr_html_().count("<details>") == 3
    assert {card.number for card in fixed.cards} <= {1, 2}
    monkeypatch.chdir(work / "03_mask")
    monkeypatch.setattr(earlier, "has_reader", lambda: True)
    asked = earlier_questions(3)
    assert asked.cards == fixed.cards == after(work, 0).questions_before(3)
    _, *rows = asked._controls(asked._practice).children
    *buttons, said = rows[0].children[1].children
    buttons[2].click()
    assert "Rated: remembered" in said.value
    assert json.loads((work / CARDS).read_text()) == {asked.cards[0].id: {"reviews": {str(TODAY): 3}}}
    assert asked.cards[0] not in earlier_questions(3).cards
    monkeypatch.setitem(sys.modules, "fsrs", None)
    assert earlier_questions(3).cards == fixed.cards


@pytest.mark.parametrize("text", ["[]", "{", '{"score": {"reviews": 3}}', '{"score": [["2026-01-01", 3]]}'])
@pytest.mark.parametrize("file", [CARDS, RECORD])
def test_a_damaged_file_is_set_aside(work, text, file):
    for name in (f"{file.stem} (damaged).json", f"{file.stem} (damaged 2).json"):
        (work / file).write_text(text)
        assert f"now called {name}" in practise(work)
        assert (work / file).with_name(name).read_text() == text


@pytest.mark.parametrize("reviews", [{"monday": 3}, {"2026-01-01": 9}, {"2026-01-01": "3"}, {}])
def test_foreign_ratings_are_left_out(work, reviews):
    (work / CARDS).write_text(json.dumps({"score": {"reviews": reviews}, "of-old": {"reviews": {}}}))
    assert "(of-old): they are kept" in practise(work)
    assert len(after(work, 0).cards) == 9


def test_what_cannot_be_is_one_sentence(work, monkeypatch, capsys):
    def refusal(*arguments):
        monkeypatch.setattr(sys, "argv", ["attention-lab", "practice", *map(str, arguments)])
        with pytest.raises(SystemExit, match="1"):
            cli.main()
        return " ".join(capsys.readouterr().out.split())

    assert "is not a work folder" in refusal(work.parent)
    assert "choose a later lesson" in refusal(work, "--before", 1)
    assert "cannot be written" in refusal("--anki", work / "no" / "deck.apkg")
    for package in ("fsrs", "genanki"):
        monkeypatch.setitem(sys.modules, package, None)
    assert "package fsrs is missing" in refusal(work)
    assert "package genanki is missing" in refusal("--anki", work / "deck.apkg")
    assert "package fsrs is missing" in practice_today(work, TODAY)


def test_anki_gets_every_card_with_the_same_ids(tmp_path):
    notes = []
    for place in range(2):
        assert write_deck(tmp_path / "deck.apkg") == len(EVERY_CARD)
        with zipfile.ZipFile(tmp_path / "deck.apkg") as archive:
            database = archive.extract("collection.anki2", tmp_path / str(place))
        with sqlite3.connect(database) as connection:
            notes.append(
                {guid: rest for guid, *rest in connection.execute("select guid, mid, flds from notes")}
            )
        connection.close()
    assert notes[0] == notes[1] and len(notes[0]) == len(EVERY_CARD)
    formula = r"\(\operatorname{softmax}(Q K^\top / \sqrt{d_k}) V\)"
    assert formula in notes[0]["attention-lab-scaled-formula"][1]


def test_every_lesson_has_cards():
    lessons = {path.name for path in ROOT.glob("source/[0-9]*") if not path.name.startswith("00")}
    assert {card.lesson for card in EVERY_CARD.values()} == lessons and 75 <= len(EVERY_CARD) <= 95


@pytest.mark.parametrize("card", EVERY_CARD.values(), ids=EVERY_CARD)
def test_a_card_is_short_and_its_number_right(card):
    shown = as_plain(card.answer)
    assert re.fullmatch(r"[^?]+\?", card.question) and len(shown.split()) <= 25
    assert not re.search(r"[\\{}$`]", as_plain(card.question) + shown), shown
    assert "$" not in as_anki(card.question + card.answer)
    if card.id in NUMBERS:
        number = eval(NUMBERS[card.id], {"math": math, "torch": torch, "nn": torch.nn})
        assert number.replace("-", "−") in shown.replace("-", "−")
    else:  # numbers in words and formulas, of which none is a result
        assert not re.search(r"\d", re.sub(r"\b[01]\b|/2|\b2i|10000", "", shown)), shown


def test_no_card_gives_a_solution_away():
    text = " ".join(f"{card.question} {card.answer}" for card in EVERY_CARD.values())
    solutions = (json.loads(path.read_text())["cells"] for path in ROOT.glob("solutions/*/*.ipynb"))
    cells = [
        cell for each in solutions for cell in each if cell["metadata"].get("nbgrader", {}).get("solution")
    ]
    lines = {re.sub(r"\s", "", line) for cell in cells for line in "".join(cell["source"]).splitlines()}
    given = [line for line in lines if len(line) > 11 and line in re.sub(r"[\s`]", "", text)]
    assert len(lines) > 200 and not given
