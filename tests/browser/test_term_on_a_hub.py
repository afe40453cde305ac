"""A whole term on a real JupyterHub, from *Generate* to the feedback; and one in which things go wrong."""

import os
import signal
import time
from datetime import timedelta
from urllib.parse import quote

import pytest
from course_copies import ANSWERS
from hub import EXCHANGE, FORMGRADER, GRADER, NEEDS, HubWithAccounts, OnTheHub
from nbgrader.utils import parse_utc
from pages import COMMENT, AssignmentList, FormgraderInATab, LessonPage, mark_the_question, write_answers
from playwright.sync_api import expect
from tiny_course import FOLDER, NAME

pytestmark = NEEDS

ADA, BOB, ZOE = "ada", "bob", "zoë o'neil"
MISTAKE = "Not one quagga was doubled"
TRIED = {ADA: ANSWERS, ZOE: ANSWERS | {"double": "def double(x):\n    return x"}}
POINTS = {ADA: "6.5 of 7", ZOE: "4.5 of 7"}


@pytest.fixture
def hub(tmp_path):
    hub = HubWithAccounts(tmp_path, "prof", ADA, BOB, ZOE)
    yield hub
    hub.stop()


def test_a_term_by_button_up_to_the_feedback(hub, own_page):
    prof = OnTheHub(hub, own_page(), "prof")
    formgrader = released(hub, prof)

    students = [OnTheHub(hub, own_page(), name) for name in (ADA, ZOE)]
    lists = {student.name: AssignmentList(student.page, student.url("lab")) for student in students}
    for student in students:
        fetch_work_and_submit(student, lists[student.name])

    collect(formgrader)
    for student in students:
        formgrader.press(student.name, "autograde")
        expect(formgrader.row(student.name)).to_contain_text("needs manual grading")
    mark_by_hand(formgrader, len(students))
    formgrader.open("Manage Assignments")
    formgrader.press(FOLDER, "generate-feedback")
    formgrader.press(FOLDER, "release-feedback")

    assert hub.status_of(f"{FORMGRADER}/api/assignments", hub.own_token_of("prof")) == 200
    for student in students:
        read_feedback(student, lists[student.name])
        nothing_of_others_is_given(hub, student)


def fetch_work_and_submit(student, assignments):
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
    assignments.press("fetched", "Submit")
    expect(assignments.row("submitted")).to_be_visible()


def mark_by_hand(formgrader, submissions):
    """Everybody's written answer gets one point and a half; whose it is, nbgrader does not show."""
    for number in range(1, submissions + 1):
        formgrader.open("Manual Grading", FOLDER, NAME, f"Submission #{number}")
        mark_the_question(formgrader)
        formgrader.open(NAME)
        expect(formgrader.row(f"Submission #{number}")).to_contain_text("1.5 / 2")


def read_feedback(student, assignments):
    assignments.refresh()
    assignments.press("submitted", "Fetch Feedback")
    shown = assignments.open_feedback()
    expect(shown).to_contain_text(f"Feedback for {student.name}")
    expect(shown).to_contain_text(POINTS[student.name])
    expect(shown).to_contain_text(COMMENT)
    expect(shown).to_contain_text(MISTAKE if student.name == ZOE else "Right in every case.")


def nothing_of_others_is_given(hub, student):
    """Not in the browser, not by token, not from the exchange."""
    other = ZOE if student.name == ADA else ADA
    for address in (FORMGRADER, "/services/attention-lab/lab", f"/user/{quote(other)}/lab"):
        shown = student.page.context.new_page().goto(f"{hub.site}{address}")
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


# ---- it is started again while it grades, and someone's clock is ahead ----

SLOW = {"double": f"import time\ntime.sleep(20)\n{ANSWERS['double']}"}
PATIENCE = 120  # seconds; a hub gives each of its services 20 to end


def test_a_hub_that_ends_while_it_grades_loses_nothing(hub, page):
    prof = OnTheHub(hub, page, "prof")
    formgrader = released(hub, prof)
    hand_in(hub, ADA, ANSWERS)
    hand_in(hub, BOB, ANSWERS | SLOW)
    collect(formgrader)
    formgrader.press(ADA, "autograde")
    formgrader.row(BOB).locator(".autograde a").click()
    wait_until(lambda: "bwrap" in running_as_grader(hub), hub)

    os.kill(hub.process.pid, signal.SIGTERM)  # as `systemctl restart` does
    hub.process.wait(PATIENCE)
    wait_until(lambda: not running_as_grader(hub), hub)
    hub.start()

    formgrader = FormgraderInATab(page, f"{hub.site}{FORMGRADER}/manage_submissions/{FOLDER}")
    expect(formgrader.row(ADA)).to_contain_text("5 / 7")
    expect(formgrader.row(BOB)).to_contain_text("needs autograding")
    formgrader.press(BOB, "autograde")
    expect(formgrader.row(BOB)).to_contain_text("5 / 7")
    expect(formgrader.row(ADA)).to_contain_text("5 / 7")


def test_the_later_submission_is_graded(hub, page):
    formgrader = released(hub, OnTheHub(hub, page, "prof"))
    hand_in(hub, ADA, {})
    put_forward(hub, ADA, timedelta(days=1))
    hand_in(hub, ADA, ANSWERS)
    collect(formgrader)
    formgrader.press(ADA, "autograde")
    expect(formgrader.row(ADA)).to_contain_text("0 / 7")
    # As jupyterhub.md says: the early one is taken out of the exchange, and what was collected away.
    early, _ = inbound(hub, ADA)[::-1]
    hub.machine.typed(GRADER, "rm", "-r", f"/srv/attention-lab/submitted/ada/{FOLDER}")
    early.rename(hub.home / early.name)
    formgrader.open("Manage Assignments")
    collect(formgrader)
    formgrader.press(ADA, "autograde")
    expect(formgrader.row(ADA)).to_contain_text("5 / 7")


def released(hub, prof):
    formgrader = FormgraderInATab(prof.page, f"{hub.site}{FORMGRADER}")
    formgrader.press(FOLDER, "assign")
    formgrader.press(FOLDER, "release")
    return formgrader


def collect(formgrader):
    """Collect what was handed in, and show the list of it."""
    formgrader.press(FOLDER, "collect")
    formgrader.row(FOLDER).locator(".num-submissions a").click()


def hand_in(hub, name, answers):
    """What a student does in a terminal of their own server."""
    if not (hub.machine.home(name) / FOLDER).exists():
        nbgrader(hub, name, "fetch_assignment")
    write_answers(hub.machine.home(name) / FOLDER / f"{NAME}.ipynb", answers)
    nbgrader(hub, name, "submit")


def nbgrader(hub, name, command):
    run = hub.machine.typed(name, "python", "-m", "nbgrader", command, FOLDER)
    assert run.returncode == 0, run.stderr[-3000:]


def inbound(hub, name):
    """Return what someone has handed in, by its time."""
    return sorted((hub.exchange / "inbound").glob(f"{name}+*"))


def put_forward(hub, name, ahead):
    """Hand in again what was handed in, by a clock that is ahead."""
    (folder,) = inbound(hub, name)
    student, lesson, submitted_at, secret = folder.name.split("+")
    later = (parse_utc(submitted_at) + ahead).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    (folder / "timestamp.txt").write_text(later)
    folder.rename(folder.with_name("+".join((student, lesson, later, secret))))


def running_as_grader(hub):
    """The names of the programs that run under the grader's account."""
    return [process.info["name"] for process in hub.machine.running(GRADER)]


def wait_until(there, hub):
    deadline = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < deadline, (running_as_grader(hub), hub.log.read_text()[-5000:])
        time.sleep(0.1)
