"""Two students of a class fetch a lesson, solve it, hand it in and read their feedback, all in JupyterLab."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import nbformat
import pytest
from assignment_list import AssignmentList
from lesson_page import LessonPage, write_answers
from playwright.sync_api import Page, expect
from school import Person, instructor, make_school
from tiny_course import FOLDER, NAME, succeed
from written_question import ANSWERS, MARK_SCHEME

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.browser]

MISTAKE = "Not one quagga was doubled"


@pytest.fixture
def school(tmp_path):
    make_school(tmp_path)
    return tmp_path


def test_two_students_fetch_work_validate_submit_and_read_their_feedback(school, own_page, picture):
    with Person("ada", school) as ada, Person("bob", school) as bob:
        teacher = instructor(school / "course")
        done(teacher.generate_assignment(FOLDER))
        done(teacher.release_assignment(FOLDER))

        lists = {}
        for person in (ada, bob):
            person.wait_until_jupyterlab_answers()
            lists[person] = AssignmentList(own_page(), person.url("lab"))
            lists[person].press("released", "Fetch")
            expect(lists[person].row("fetched")).to_be_visible()
            nothing_is_given_away(person.folder / FOLDER / f"{NAME}.ipynb")
        picture(lists[ada].page, "exchange-fetched")

        message = work_and_validate(own_page(), ada, ANSWERS, picture)
        assert "Success" in message
        message = work_and_validate(
            own_page(), bob, ANSWERS | {"double": "def double(x):\n    return x"}, picture
        )
        assert "twice one is two" in message

        for person in (ada, bob):
            lists[person].press("fetched", "Submit")
            expect(lists[person].row("submitted")).to_be_visible()
        picture(lists[ada].page, "exchange-submitted")

        done(teacher.collect(FOLDER))
        assert teacher.get_submitted_students(FOLDER) == {"ada", "bob"}
        succeed(school / "course", "autograde", FOLDER)
        done(teacher.generate_feedback(FOLDER))
        with warnings.catch_warnings():  # nbgrader misspells an argument there, and leaves files open
            warnings.simplefilter("ignore")
            done(teacher.release_feedback(FOLDER))

        for person in (ada, bob):
            lists[person].refresh()
            lists[person].press("submitted", "Fetch Feedback")
            shown = lists[person].open_feedback()
            expect(shown).to_contain_text(f"Feedback for {person.name}")
            picture(lists[person].page, f"exchange-feedback-{person.name}")
            expect(shown).to_contain_text("5 of 7" if person is ada else "3 of 7")
            expect(shown).to_contain_text(MISTAKE if person is bob else "Right in every case.")
            expect(shown).to_contain_text("Not marked yet")


def done(result: dict[str, object]) -> None:
    assert result["success"], result


def nothing_is_given_away(notebook: Path) -> None:
    text = notebook.read_text()
    assert "NotImplementedError" in text and "is twice one two?" in text
    assert not re.search("okapi|tapir|quagga|nbjudge|numbat|HIDDEN|MARK SCHEME", text)
    assert MARK_SCHEME not in text
    assert not [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.get("outputs")]


def work_and_validate(page: Page, person: Person, answers: dict[str, str], picture) -> str:
    write_answers(person.folder / FOLDER / f"{NAME}.ipynb", answers)
    lesson = LessonPage(page, person, f"{FOLDER}/{NAME}.ipynb")
    message = lesson.validate()
    picture(page, f"exchange-validated-{person.name}")
    lesson.close_dialog()
    lesson.save()
    return message
