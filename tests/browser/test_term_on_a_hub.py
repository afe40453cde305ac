"""A whole term on a real JupyterHub: what each of its people presses, from *Generate* to the feedback."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from accounts import EXCHANGE, FORMGRADER, NEEDS, HubWithAccounts, OnTheHub
from assignment_list import AssignmentList
from formgrader import COMMENT, FormgraderInATab, mark_the_question
from lesson_page import LessonPage
from playwright.sync_api import expect
from tiny_course import FOLDER, NAME
from written_question import ANSWERS

pytestmark = NEEDS
ADA, ZOE = "ada", "zoë o'neil"
MISTAKE = "Not one quagga was doubled"
TRIED = {ADA: ANSWERS, ZOE: ANSWERS | {"double": "def double(x):\n    return x"}}
POINTS = {ADA: "6.5 of 7", ZOE: "4.5 of 7"}


@pytest.fixture
def hub(tmp_path):
    hub = HubWithAccounts(tmp_path, "prof", ADA, ZOE)
    yield hub
    hub.stop()


def test_a_term_is_pressed_from_the_release_to_the_feedback(hub, own_page, picture):
    prof = OnTheHub(hub, own_page(), "prof")
    formgrader = FormgraderInATab(prof.page, f"{hub.address}{FORMGRADER}")
    formgrader.press(FOLDER, "assign")
    formgrader.press(FOLDER, "release")
    picture(prof.page, "hub-formgrader")

    students = [OnTheHub(hub, own_page(), name) for name in (ADA, ZOE)]
    lists = {student.name: AssignmentList(student.page, student.url("lab")) for student in students}
    for student in students:
        fetch_work_and_submit(student, lists[student.name], picture)

    formgrader.press(FOLDER, "collect")
    formgrader.row(FOLDER).locator(".num-submissions a").click()
    for student in students:
        formgrader.press(student.name, "autograde")
        expect(formgrader.row(student.name)).to_contain_text("needs manual grading")
    picture(prof.page, "hub-graded")
    mark_by_hand(formgrader, len(students), picture)
    formgrader.open("Manage Assignments")
    formgrader.press(FOLDER, "generate-feedback")
    formgrader.press(FOLDER, "release-feedback")

    assert hub.status_of(f"{FORMGRADER}/api/assignments", hub.own_token_of("prof")) == 200
    for student in students:
        read_feedback(student, lists[student.name], picture)
        nothing_of_others_is_given(hub, student)


def fetch_work_and_submit(student, assignments, picture):
    """A student's week: every answer is typed in JupyterLab."""
    assignments.press("released", "Fetch")
    expect(assignments.row("fetched")).to_be_visible()
    lesson = LessonPage(student.page.context.new_page(), student, f"{FOLDER}/{NAME}.ipynb")
    for cell, answer in TRIED[student.name].items():
        lesson.write(cell, answer)
    message = lesson.validate()
    assert ("Success" in message) == (student.name == ADA), message
    lesson.close_dialog()
    lesson.save()
    picture(lesson.page, f"hub-lesson-{student.name}")
    assignments.press("fetched", "Submit")
    expect(assignments.row("submitted")).to_be_visible()


def mark_by_hand(formgrader, submissions, picture):
    """Everybody's written answer gets one point and a half; whose it is, nbgrader does not show."""
    for number in range(1, submissions + 1):
        formgrader.open("Manual Grading", FOLDER, NAME, f"Submission #{number}")
        mark_the_question(formgrader, picture)
        formgrader.open(NAME)
        expect(formgrader.row(f"Submission #{number}")).to_contain_text("1.5 / 2")


def read_feedback(student, assignments, picture):
    assignments.refresh()
    assignments.press("submitted", "Fetch Feedback")
    shown = assignments.open_feedback()
    expect(shown).to_contain_text(f"Feedback for {student.name}")
    expect(shown).to_contain_text(POINTS[student.name])
    expect(shown).to_contain_text(COMMENT)
    expect(shown).to_contain_text(MISTAKE if student.name == ZOE else "Right in every case.")
    picture(student.page, f"hub-feedback-{student.name}")


def nothing_of_others_is_given(hub, student):
    """Not in the browser, not by token, not from the exchange."""
    other = ZOE if student.name == ADA else ADA
    for address in (FORMGRADER, "/services/attention-lab/lab", f"/user/{quote(other)}/lab"):
        shown = student.page.context.new_page().goto(f"{hub.address}{address}")
        assert shown.status in (403, 404), (student.name, address, shown.status)
    token = hub.own_token_of(student.name)
    for address in (f"{FORMGRADER}/api/assignments", f"/user/{quote(other)}/api/contents"):
        assert hub.status_of(address, token) in (403, 404)
    for place in ("feedback", "inbound"):
        listed = hub.machine.typed(student.name, "ls", f"/{EXCHANGE}/attention-lab/{place}")
        assert "Permission denied" in listed.stderr
    for place in ("/srv/attention-lab", f"/home/{other}"):
        assert "Permission denied" in hub.machine.typed(student.name, "ls", place).stderr
    assert (
        hub.machine.typed(student.name, "ls", f"/{EXCHANGE}/attention-lab/outbound").stdout == f"{FOLDER}\n"
    )
