"""A class on a real JupyterHub: thirty learners, their board, and what goes wrong on the way."""

import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from course_copies import ROOT
from hub import Hub, OnTheHub, log_in
from pages import LessonPage, answers_of, write_answers
from playwright.sync_api import expect

from nbjudge.course import open_course
from nbjudge.tutor.messages import CallRequest, CheckResult

pytestmark = [
    pytest.mark.integration,
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.requires("configurable-http-proxy"),
]
DOT = "01_dot_product"
LEARNERS = 30


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
    """Return what a learner tries one after the other: some are right at once, some fix it, some never do."""
    right = open_course(ROOT).assignments["dot_product"].reference_answer(exercise.name)
    first, second = exercise.mistakes[number % 3], exercise.mistakes[(number + 1) % 3]
    return {
        0: [right],
        1: [first.answer, right],
        2: [first.answer],
        3: [first.answer, second.answer],
        4: [first.answer, second.answer, first.answer, second.answer],
    }[number % 5]


def wait_for_the_tutor(hub):
    """Until the hub has started the service again."""
    deadline = time.monotonic() + 60
    while hub.post("ada", "check", {"exercise": "attention_scores", "folder": DOT})[0] != 200:
        assert time.monotonic() < deadline, hub.log.read_text()
        time.sleep(0.2)


def test_the_board_shows_thirty_learners(hub, page, readme_picture):
    exercises = [
        open_course(ROOT).assignments["dot_product"].exercises[name]
        for name in ("attention_scores", "softmax")
    ]
    learners = [f"learner-{number:02}" for number in range(LEARNERS)]
    sent = {exercise.name: {"done": 0, "stuck": 0, "begun": 0} for exercise in exercises}
    mistakes = {exercise.name: {} for exercise in exercises}

    def session(number):
        name, replies = learners[number], []
        for exercise in exercises:
            for place, answer in enumerate(scripted(number, exercise)):
                replies.append(hub.check(name, exercise.name, answer, DOT, f"{name} {place}"))
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
                (name,) = (mistake.name for mistake in exercise.mistakes if mistake.answer is tried[-1])
                mistakes[exercise.name][name] = mistakes[exercise.name].get(name, 0) + 1

    board = {row["exercise"]: row for row in hub.board(hub.token_of("prof"))}
    for name, counts in sent.items():
        assert {state: board[name][state] for state in counts} == counts
        assert {each["name"]: each["learners"] for each in board[name]["mistakes"]} == mistakes[name]
    assert "learner-" not in str(board)

    log_in(page, hub, "prof")
    page.goto(f"{hub.site}/services/tutor/board")
    expect(page.get_by_role("img", name=f"{sent['softmax']['done']} done")).to_have_count(2)
    first = page.locator("details").first
    opened = first.get_attribute("data-key")
    first.locator("summary").click()
    expect(first.locator("p.sentence")).to_be_visible()
    readme_picture(page, "board", clip={"x": 0, "y": 0, "width": 1340, "height": 730})
    # A change comes by itself, and what was opened stays open.
    hub.check("learner-02", "attention_scores", scripted(0, exercises[0])[0], DOT, "fixed")
    expect(page.get_by_role("img", name=f"{sent['attention_scores']['done'] + 1} done")).to_be_visible()
    expect(page.locator(f"details[data-key='{opened}']")).to_have_attribute("open", "")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_learner_in_jupyterlab_asks_the_class_tutor(hub, page):
    answers = answers_of(f"{DOT}/dot_product.ipynb")
    folder = hub.give("zoë o'neil", ROOT / "release" / DOT)
    wrong = "def attention_scores(query, key):\n    return query @ key.mT + 1"
    write_answers(folder / "dot_product.ipynb", {**answers, "attention_scores": wrong})
    hub.give("zoë o'neil", ROOT / "release/00_start_here")
    lesson = LessonPage(page, OnTheHub(hub, page, "zoë o'neil"), f"{DOT}/dot_product.ipynb")
    for cell_id in ("setup", "attention_scores", "check-attention-scores"):
        lesson.run_cell(cell_id)
    panel = lesson.show("check-attention-scores").locator(".jp-OutputArea")
    expect(panel).to_contain_text("groups of cases agree")
    expect(panel).to_contain_text("without names on a board")
    board = {row["exercise"]: row for row in hub.board(hub.token_of("prof"))}
    assert board["attention_scores"]["begun"] >= 1


def test_foreign_keys_and_names_are_refused(hub, page):
    status, reply = hub.post(
        "mallory", "check", {"exercise": "attention_scores", "folder": DOT}, hub.keys.key_of("ada")
    )
    assert status == 403 and "does not know who is asking" in reply.sentence
    log_in(page, hub, "mallory")
    shown = page.goto(f"{hub.site}/services/tutor/board")
    assert shown.status == 403 and "for those who teach" in page.content()


def test_a_killed_service_restores_the_board(hub, course):
    prof = hub.token_of("prof")
    exercise = open_course(ROOT).assignments["dot_product"].exercises["project"]
    hub.check("ada", "project", exercise.mistakes[0].answer, DOT, "first")
    before = hub.board(prof)
    running = ["pgrep", "-f", f"tutor-service {course}"]
    (pid,) = subprocess.run(running, capture_output=True, text=True, check=True).stdout.split()
    os.kill(int(pid), signal.SIGKILL)
    wait_for_the_tutor(hub)
    assert hub.board(prof) == before
    assert hub.check("ada", "project", exercise.mistakes[0].answer, DOT, "again").points < exercise.points


def test_a_silent_hub_does_not_stop_the_tutor(hub):
    """The proxy and the service live on while the hub is started again."""
    os.kill(hub.process.pid, signal.SIGSTOP)
    try:
        status, reply = hub.post("late", "check", {"exercise": "attention_scores", "folder": DOT})
        assert status == 200 and isinstance(reply, CallRequest)
    finally:
        os.kill(hub.process.pid, signal.SIGCONT)
