"""A whole term on a real JupyterHub: what each of its people presses, from *Generate* to the feedback."""

from __future__ import annotations

import os
import shutil
from urllib.parse import quote

import pytest
from accounts import EXCHANGE, GRADER, HubWithAccounts
from assignment_list import AssignmentList
from formgrader import COMMENT, Formgrader, mark_the_question
from hub import PROXY
from lesson_page import LessonPage
from playwright.sync_api import expect
from tiny_course import FOLDER, NAME
from written_question import ANSWERS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PROXY.exists(), reason="no proxy for a hub: `make hub-proxy` needs npm"),
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("unshare"),
        reason="a hub that starts servers under accounts is started by root",
    ),
]
FORMGRADER = "/services/attention-lab"
ADA, ZOE = "ada", "zoë o'neil"
MISTAKE = "Not one quagga was doubled"
TRIED = {ADA: ANSWERS, ZOE: ANSWERS | {"double": "def double(x):\n    return x"}}
POINTS = {ADA: "6.5 of 7", ZOE: "4.5 of 7"}


@pytest.fixture
def hub(tmp_path):
    hub = HubWithAccounts(tmp_path, "prof", ADA, ZOE)
    yield hub
    hub.stop()


class OnTheHub:
    """Somebody with an account, logged in at the hub in a browser of their own."""

    def __init__(self, hub, page, name):
        self.hub, self.page, self.name = hub, page, name
        self.folder = hub.folder(name)
        page.goto(f"{hub.address}/hub/login")
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password").fill("anything")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/user/**/lab**", timeout=120_000)

    def url(self, path):
        return f"{self.hub.address}/user/{quote(self.name)}/{path}"


def test_a_term_is_pressed_from_the_release_to_the_feedback(hub, own_page, picture):
    prof = OnTheHub(hub, own_page(), "prof")
    formgrader = Formgrader(prof.page, f"{hub.address}{FORMGRADER}/lab")
    formgrader.press(FOLDER, "assign")
    formgrader.press(FOLDER, "release")
    picture(prof.page, "hub-formgrader")

    students = [OnTheHub(hub, own_page(), name) for name in (ADA, ZOE)]
    lists = {student.name: AssignmentList(student.page, student.url("lab")) for student in students}
    for student in students:
        fetch_work_and_submit(lists[student.name], LessonPage, student, own_page(), picture)

    formgrader.press(FOLDER, "collect")
    formgrader.row(FOLDER).locator(".num-submissions a").click()
    for student in students:
        formgrader.press(student.name, "autograde")
        expect(formgrader.row(student.name)).to_contain_text("needs manual grading")
    picture(prof.page, "hub-graded")
