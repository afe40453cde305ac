"""A term on a hub goes wrong: the hub is started again while it grades, and someone's clock is ahead."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta

import pytest
from accounts import FORMGRADER, GRADER, NEEDS, HubWithAccounts, OnTheHub
from formgrader import FormgraderInATab
from lesson_page import write_answers
from nbgrader.utils import parse_utc
from playwright.sync_api import expect
from tiny_course import FOLDER, NAME
from written_question import ANSWERS

pytestmark = NEEDS
SLOW = {"double": f"import time\ntime.sleep(20)\n{ANSWERS['double']}"}
PATIENCE = 120  # seconds; a hub gives each of its services 20 to end


@pytest.fixture
def hub(tmp_path):
    hub = HubWithAccounts(tmp_path, "prof", "ada", "bob")
    yield hub
    hub.stop()


def test_a_hub_that_ends_while_it_grades_loses_nothing(hub, page):
    prof = OnTheHub(hub, page, "prof")
    formgrader = released(hub, prof)
    hand_in(hub, "ada", ANSWERS)
    hand_in(hub, "bob", ANSWERS | SLOW)
    formgrader.press(FOLDER, "collect")
    formgrader.row(FOLDER).locator(".num-submissions a").click()
    formgrader.press("ada", "autograde")
    formgrader.row("bob").locator(".autograde a").click()
    wait_until(lambda: "bwrap" in running_as_grader(hub), hub)

    os.kill(hub.process.pid, signal.SIGTERM)  # as `systemctl restart` does
    hub.process.wait(PATIENCE)
    wait_until(lambda: not running_as_grader(hub), hub)
    hub.start()

    formgrader = FormgraderInATab(page, f"{hub.address}{FORMGRADER}/manage_submissions/{FOLDER}")
    expect(formgrader.row("ada")).to_contain_text("5 / 7")
    expect(formgrader.row("bob")).to_contain_text("needs autograding")
    formgrader.press("bob", "autograde")
    expect(formgrader.row("bob")).to_contain_text("5 / 7")
    expect(formgrader.row("ada")).to_contain_text("5 / 7")


def test_of_two_submissions_the_one_with_the_later_time_is_graded_even_from_a_clock_ahead(hub, page):
    formgrader = released(hub, OnTheHub(hub, page, "prof"))
    hand_in(hub, "ada", {})
    put_forward(hub, "ada", timedelta(days=1))
    hand_in(hub, "ada", ANSWERS)
    formgrader.press(FOLDER, "collect")
    formgrader.row(FOLDER).locator(".num-submissions a").click()
    formgrader.press("ada", "autograde")
    expect(formgrader.row("ada")).to_contain_text("0 / 7")
    # As docs/jupyterhub.md says: the early one is taken out of the exchange, and what was collected away.
    early, _ = inbound(hub, "ada")[::-1]
    hub.machine.typed(GRADER, "rm", "-r", f"/srv/attention-lab/submitted/ada/{FOLDER}")
    early.rename(hub.home / early.name)
    formgrader.open("Manage Assignments")
    formgrader.press(FOLDER, "collect")
    formgrader.row(FOLDER).locator(".num-submissions a").click()
    formgrader.press("ada", "autograde")
    expect(formgrader.row("ada")).to_contain_text("5 / 7")


def released(hub, prof):
    formgrader = FormgraderInATab(prof.page, f"{hub.address}{FORMGRADER}")
    formgrader.press(FOLDER, "assign")
    formgrader.press(FOLDER, "release")
    return formgrader


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
    """What someone has handed in, by its time."""
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
