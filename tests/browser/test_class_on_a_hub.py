"""A class on a real JupyterHub: thirty learners, their board, and what goes wrong on the way."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hub import ROOT, Hub
from lesson_page import LessonPage, answers_of, write_answers
from playwright.sync_api import expect

from nbjudge.course.course import open_course
from nbjudge.kernel import protocol
from nbjudge.tutor.learner.answering import respond
from nbjudge.tutor.messages import CallRequest, CheckResult

pytestmark = [
    pytest.mark.integration,
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.requires("configurable-http-proxy"),
]
DOT = "01_dot_product"
LEARNERS = 30
_answers = threading.Lock()  # kernels have a process each; the scripted learners share one module


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course, which the service may write beside."""
    folder = tmp_path_factory.mktemp("hub's course") / "course"
    for part in ("source", "release", "solutions", "checks"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns(".attention-lab"))
    configuration = (ROOT / "nbgrader_config.py").read_text()
    (folder / "nbgrader_config.py").write_text(f"{configuration}\nc.Classroom.checks_a_minute = 40\n")
    return folder


@pytest.fixture(scope="module")
def hub(tmp_path_factory, course):
    hub = Hub(tmp_path_factory.mktemp("hub"), course)
    yield hub
    hub.stop()


def scripted(number, exercise):
    """What a learner tries one after the other: some are right at once, some fix it, some never do."""
    right = open_course(ROOT).assignments["dot_product"].reference_answer(exercise.name)
    first, second = exercise.mistakes[number % 3], exercise.mistakes[(number + 1) % 3]
    return {
        0: [right],
        1: [first.answer, right],
        2: [first.answer],
        3: [first.answer, second.answer],
        4: [first.answer, second.answer, first.answer, second.answer],
    }[number % 5]


def check(hub, learner, exercise, answer, code):
    """A check, as a learner's kernel does it."""
    _, reply = hub.ask(learner, "check", {"exercise": exercise, "folder": DOT, "code": code})
    while isinstance(reply, CallRequest):
        with _answers:
            setattr(sys.modules["__main__"], exercise, answer)
            result = respond(protocol.program(), reply.text.decode(), vars(sys.modules["__main__"]))
        answered = {"conversation": reply.conversation, "text": result, "folder": DOT}
        _, reply = hub.ask(learner, "answer", answered)
    return reply


def wait_for_the_tutor(hub):
    """Until the hub has started the service again."""
    deadline = time.monotonic() + 60
    while hub.ask("ada", "check", {"exercise": "score", "folder": DOT})[0] != 200:
        assert time.monotonic() < deadline, hub.log.read_text()
        time.sleep(0.2)


def login(page, hub, name):
    page.goto(f"{hub.address}/hub/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill("anything")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/user/{name}/**")


def test_thirty_learners_are_answered_and_the_board_says_what_was_sent(hub, page, picture, readme_picture):
    exercises = [
        open_course(ROOT).assignments["dot_product"].exercises[name] for name in ("score", "softmax")
    ]
    learners = [f"learner-{number:02}" for number in range(LEARNERS)]
    sent = {exercise.name: {"done": 0, "stuck": 0, "begun": 0} for exercise in exercises}
    mistakes = {exercise.name: {} for exercise in exercises}

    def session(number):
        name, replies = learners[number], []
        for exercise in exercises:
            for place, answer in enumerate(scripted(number, exercise)):
                replies.append(check(hub, name, exercise.name, answer, f"{name} {place}"))
        return replies

    with ThreadPoolExecutor(8) as pool:
        everything = list(pool.map(session, range(LEARNERS)))
    for number, replies in enumerate(everything):
        assert all(isinstance(reply, CheckResult) for reply in replies), replies
        for exercise in exercises:
            tried = scripted(number, exercise)
            own_replies = [reply for reply in replies if reply.exercise == exercise.name]
            assert (own_replies[-1].points == own_replies[-1].max_points) == (number % 5 < 2)
            sent[exercise.name]["begun"] += 1
            sent[exercise.name]["done"] += number % 5 < 2
            sent[exercise.name]["stuck"] += len(tried) >= 4
            if number % 5 >= 2:
                (name,) = (each.name for each in exercise.mistakes if each.answer is tried[-1])
                mistakes[exercise.name][name] = mistakes[exercise.name].get(name, 0) + 1

    board = {row["exercise"]: row for row in hub.board(hub.token_of("prof"))}
    for name, counts in sent.items():
        assert {state: board[name][state] for state in counts} == counts
        assert {each["name"]: each["learners"] for each in board[name]["mistakes"]} == mistakes[name]
    assert "learner-" not in str(board)

    login(page, hub, "prof")
    page.goto(f"{hub.address}/services/tutor/board")
    expect(page.get_by_role("img", name=f"{sent['softmax']['done']} done")).to_have_count(2)
    first = page.locator("details").first
    opened = first.get_attribute("data-key")
    first.locator("summary").click()
    expect(first.locator("p.sentence")).to_be_visible()
    readme_picture(page, "board", clip={"x": 0, "y": 0, "width": 1340, "height": 730})
    # A change comes by itself, and what was opened stays open.
    check(hub, "learner-02", "score", scripted(0, exercises[0])[0], "fixed")
    expect(page.get_by_role("img", name=f"{sent['score']['done'] + 1} done")).to_be_visible()
    expect(page.locator(f"details[data-key='{opened}']")).to_have_attribute("open", "")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    picture(page, "board-phone-dark")


def test_a_learner_in_jupyterlab_asks_the_class_tutor(hub, page):
    answers = answers_of(f"{DOT}/dot_product.ipynb")
    folder = hub.give("zoë o'neil", ROOT / "release" / DOT)
    wrong = "def score(query, key):\n    return key @ query + 1"
    write_answers(folder / "dot_product.ipynb", {**answers, "score": wrong})
    hub.give("zoë o'neil", ROOT / "release/00_start_here")
    page.goto(f"{hub.address}/hub/login")
    page.get_by_label("Username").fill("zoë o'neil")
    page.get_by_label("Password").fill("anything")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/user/**", timeout=120_000)

    class OnTheHub:
        folder = hub.home / "homes/zoë o'neil"

        def url(self, path):
            return f"{page.url.split('/lab')[0]}/{path}"

    lesson = LessonPage(page, OnTheHub(), f"{DOT}/dot_product.ipynb")
    for cell_id in ("setup", "score", "check-score"):
        lesson.show(cell_id).locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        expect(page.locator(".jp-InputPrompt", has_text="*")).to_have_count(0, timeout=120_000)
    panel = lesson.show("check-score").locator(".jp-OutputArea")
    expect(panel).to_contain_text("groups of cases agree")
    expect(panel).to_contain_text("without names on a board")
    board = {row["exercise"]: row for row in hub.board(hub.token_of("prof"))}
    assert board["score"]["begun"] >= 1


def test_another_learners_key_another_page_and_a_name_of_no_one_are_refused(hub, page):
    status, reply = hub.ask("mallory", "check", {"exercise": "score", "folder": DOT}, hub.keys.key_of("ada"))
    assert status == 403 and "does not know who is asking" in reply["sentence"]
    login(page, hub, "mallory")
    shown = page.goto(f"{hub.address}/services/tutor/board")
    assert shown.status == 403 and "for those who teach" in page.content()


def test_a_service_that_is_killed_comes_back_and_the_board_is_as_it_was(hub, course):
    prof = hub.token_of("prof")
    exercise = open_course(ROOT).assignments["dot_product"].exercises["project"]
    check(hub, "ada", "project", exercise.mistakes[0].answer, "first")
    before = hub.board(prof)
    running = ["pgrep", "-f", f"tutor-service {course}"]
    (pid,) = subprocess.run(running, capture_output=True, text=True, check=True).stdout.split()
    os.kill(int(pid), signal.SIGKILL)
    wait_for_the_tutor(hub)
    assert hub.board(prof) == before
    assert check(hub, "ada", "project", exercise.mistakes[0].answer, "again").points < exercise.points


def test_a_hub_that_is_silent_keeps_no_one_from_the_tutor(hub):
    """The proxy and the service live on while the hub is started again."""
    os.kill(hub.process.pid, signal.SIGSTOP)
    try:
        status, reply = hub.ask("late", "check", {"exercise": "score", "folder": DOT})
        assert status == 200 and isinstance(reply, CallRequest)
    finally:
        os.kill(hub.process.pid, signal.SIGCONT)
