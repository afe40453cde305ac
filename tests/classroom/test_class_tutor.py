"""The class's tutor: every learner is answered, no one for another, and the board counts what was said."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.request import Request, urlopen

import pytest
import torch
from classroom_lab import COURSE, classroom_of
from traitlets.config import Config

from nbjudge import CourseError
from nbjudge.classroom import request_handler
from nbjudge.classroom.board import CheckEvent, CheckEvents
from nbjudge.classroom.request_handler import (
    REQUESTS_PER_CHECK,
    RateLimiter,
    RequestRefusedError,
    as_csv,
    is_instructor,
)
from nbjudge.course.configuration import check_settings
from nbjudge.csv_files import CsvFormat
from nbjudge.settings import ClassroomSettings
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.messages import CallRequest, CheckRequest
from nbjudge.tutor.tutor import ONLY_EXAMPLES

pytestmark = pytest.mark.integration

DOT, MASK = "01_dot_product", "03_mask"


def right(exercise, lesson="dot_product"):
    return COURSE.assignments[lesson].reference_answer(exercise)


def mistakes(exercise, lesson="dot_product"):
    return COURSE.assignments[lesson].exercises[exercise].mistakes


WRONG = mistakes("softmax")[0]


def asks(step, **changed):
    """A request for help with `softmax`."""
    return {"exercise": "softmax", "step": step, "given": 0, "tries": 1, "folder": DOT} | changed


def on_the_board(service):
    _, text, _ = service.get("prof", "/board/table.json")
    return {row["exercise"]: row for row in json.loads(text)}


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def classroom(tmp_path):
    with classroom_of(tmp_path) as service:
        yield service


def test_each_learner_has_a_tutor_of_their_own(classroom):
    reply = classroom.check("ada", "softmax", WRONG.answer, DOT)
    assert reply.points < reply.max_points and reply.findings[0].mistake == WRONG.name
    assert "without names on a board" in reply.remark
    _, helped = classroom.post("ada", "help", asks("mistake"))
    assert helped.parts[0].text == WRONG.message
    reply = classroom.check("ada", "softmax", right("softmax"), DOT)
    assert reply.points == reply.max_points and not reply.remark


@pytest.mark.parametrize(("level", "is_named"), [("full", True), ("measured", False)])
def test_below_full_no_mistake_is_named(tmp_path, level, is_named):
    with classroom_of(tmp_path) as service:
        disclosure = DisclosureSettings(Disclosure(level))
        service.tutors._material = replace(service.tutors._material, disclosure=disclosure)
        reply = service.check("ada", "softmax", WRONG.answer, DOT)
        assert reply.points < reply.max_points and reply.findings[0].sentence
        assert (WRONG.name in repr(reply)) is is_named and WRONG.message not in repr(reply)
        assert [each["name"] for each in on_the_board(service)["softmax"]["mistakes"]] == [WRONG.name]


def test_a_solution_is_earned_with_counted_tries(classroom):
    for number in range(3):
        for _ in range(2):
            classroom.check("ada", "softmax", WRONG.answer, DOT, code=f"try {number}")
        _, helped = classroom.post("ada", "help", asks("solution", tries=99))
        assert (helped.parts[0].kind == "code") is (number == 2)


def test_junk_is_no_try(classroom):
    """Replies that cannot be read earn nothing and are no tries, whatever digests the kernel sends."""
    for number in range(3):
        request = {"exercise": "softmax", "folder": DOT, "code": f"try {number}"}
        _, reply = classroom.post("eve", "check", request)
        while isinstance(reply, CallRequest):
            _, reply = classroom.post("eve", "answer", {"conversation": reply.conversation, "text": "!"})
        assert reply.points == 0
    assert classroom.post("eve", "help", asks("solution", tries=99))[1].parts[0].kind == "text"


def test_one_page_is_for_checked_answers(classroom):
    """Which answers are right is what the service has checked, whatever the kernel says."""
    names = COURSE.assignments["dot_product"].exercises
    request = {"folder": DOT, "right": list(names)}
    for number, name in enumerate(names):
        assert f"{number} of {len(names)} are" in classroom.post("eve", "one_page", request)[1].parts[0].text
        classroom.check("eve", name, right(name), DOT)
    (part,) = classroom.post("eve", "one_page", request | {"right": []})[1].parts
    assert part.kind == "code" and f"def {name}(" in part.text
    classroom.check("eve", name, mistakes(name)[0].answer, DOT)
    assert classroom.post("eve", "one_page", request)[1].parts[0].kind == "text"


def test_a_stricter_level_holds_for_every_request(classroom):
    """After a check at `full`, the level `examples` shows no case, hint, mistake, solution or page."""
    classroom.check("ada", "softmax", WRONG.answer, DOT)
    _, begun = classroom.post("ada", "check", {"exercise": "attention_scores", "folder": DOT})
    requests = [
        *(("help", asks(step, tries=9)) for step in ("help", "mistake", "solution")),
        ("help", asks("help", tries=9, given=1)),
        ("one_page", {"folder": DOT, "right": []}),
        ("answer", {"conversation": begun.conversation, "text": "{}"}),
        ("check", {"exercise": "softmax", "folder": DOT}),
    ]
    disclosure = DisclosureSettings(Disclosure.EXAMPLES)
    tutor = classroom.tutors._tutors["ada"]
    tutor._material = replace(tutor._material, disclosure=disclosure)
    for action, message in requests:
        _, reply = classroom.post("ada", action, message)
        assert getattr(reply, "sentence", "") == ONLY_EXAMPLES, (action, message, reply)


def test_the_board_is_computed_once_for_all(classroom, monkeypatch):
    computed, compute = [], classroom.state._compute_board
    monkeypatch.setattr(
        classroom.state,
        "_compute_board",
        lambda: computed.append(threading.current_thread().name) or compute(),
    )
    monkeypatch.setattr(request_handler, "BOARD_SECONDS", 1000)
    for _ in range(5):
        assert on_the_board(classroom) == {}
    classroom.check("ada", "attention_scores", right("attention_scores"), DOT)
    for _ in range(5):
        assert on_the_board(classroom)["attention_scores"]["done"] == 1
    assert len(computed) == 2 and all(name.startswith("board") for name in computed)


def test_the_board_counts_learners_by_state(classroom):
    first, second = mistakes("softmax")[:2]
    for name in ("ada", "bob", "cid"):
        classroom.check(name, "softmax", first.answer, DOT)
    classroom.check("cid", "softmax", right("softmax"), DOT)
    for number in range(4):
        classroom.check("dora", "softmax", second.answer, DOT, code=f"try {number}")
    classroom.check("dora", "causal_mask", right("causal_mask", "mask"), MASK)
    board = on_the_board(classroom)
    assert list(board) == ["softmax", "causal_mask"]
    assert [board["softmax"][state] for state in ("begun", "working", "stuck", "done")] == [4, 2, 1, 1]
    assert {each["name"]: each["learners"] for each in board["softmax"]["mistakes"]} == {
        first.name: 2,
        second.name: 1,
    }
    assert all(each["example"] for each in board["softmax"]["mistakes"])
    assert {each["sentence"] for each in board["softmax"]["mistakes"]} == {first.message, second.message}
    assert [board["causal_mask"][state] for state in ("begun", "done")] == [1, 1]


def test_names_leave_only_with_the_setting(classroom, tmp_path):
    classroom.check("ada lovelace", "softmax", WRONG.answer, DOT)
    assert "lovelace" not in classroom.get("prof", "/board/table.json")[1]
    with classroom_of(tmp_path / "named", names=True) as named:
        reply = named.check("ada lovelace", "softmax", WRONG.answer, DOT)
        assert "see by name on a board" in reply.remark
        board = on_the_board(named)["softmax"]
        assert board["who"]["working"] == ["ada lovelace"]
        assert board["mistakes"][0]["who"] == ["ada lovelace"]


def test_the_board_is_for_instructors(classroom):
    for path in ("/board", "/board/events", "/board/table.csv"):
        status, body, _ = classroom.get("ada", path)
        assert status == 403 and "for those who teach" in body
    status, body = classroom.send("/check", b"{}")
    assert status == 403 and "does not know who is asking" in body.sentence
    status, page, headers = classroom.get("prof", "/board")
    assert status == 200 and "<title>The class, now</title>" in page
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_one_learner_cannot_answer_for_another(classroom):
    _, check_reply = classroom.post("ada", "check", {"exercise": "softmax", "folder": DOT})
    _, reply = classroom.post("eve", "answer", {"conversation": check_reply.conversation, "text": "x"})
    assert "This check is over" in reply.sentence
    _, helped = classroom.post("eve", "help", asks("mistake"))
    assert "has not seen it" in helped.sentence
    assert on_the_board(classroom) == {}


def test_the_board_is_told_of_a_change_at_once(classroom):
    request = Request(f"{classroom.address}/board/events", headers={"X-Name": "prof"})
    # The service must not stop before the check has ended.
    with ThreadPoolExecutor() as learners, urlopen(request, timeout=20) as events:
        assert json.loads(events.readline().removeprefix(b"data: ")) == []
        events.readline()
        learners.submit(classroom.check, "ada", "attention_scores", right("attention_scores"), DOT)
        (row,) = json.loads(events.readline().removeprefix(b"data: "))
    assert (row["exercise"], row["done"]) == ("attention_scores", 1)


def test_a_learner_who_asks_too_often_waits(tmp_path):
    with classroom_of(tmp_path, checks_a_minute=3) as service:
        for _ in range(3):
            assert service.check("eve", "attention_scores", right("attention_scores"), DOT).points
        status, reply = service.post("eve", "check", {"exercise": "attention_scores", "folder": DOT})
        assert status == 429 and "3 times in the last minute" in reply.sentence
        assert "Run this cell again in" in reply.sentence
        assert service.check("ada", "attention_scores", right("attention_scores"), DOT).points


def test_an_answer_that_is_too_large_is_refused(tmp_path):
    with classroom_of(tmp_path, largest_megabytes=1) as service:
        _, check_reply = service.post("eve", "check", {"exercise": "attention_scores", "folder": DOT})
        large = {"conversation": check_reply.conversation, "text": "x" * 2**20}
        status, reply = service.post("eve", "answer", large)
        assert status == 413 and "larger than the 1 MB" in reply.sentence


@pytest.mark.parametrize("name", ["anna maria", "o'neil", '"quoted"', "zoë", "<b>x</b>", "a;b", "../up"])
def test_names_may_have_spaces_and_quotes(tmp_path, name):
    with classroom_of(tmp_path, names=True) as service:
        service.tutors.reply(name, CheckRequest(exercise="attention_scores", folder=DOT))
        service.tutors.check_events.add(CheckEvent(1e12, name, DOT, "attention_scores", "c", False, "m", "t"))
    reopened = CheckEvents(tmp_path / "kept" / "check_events.jsonl", 30)
    assert [event.learner for event in reopened.all] == [name]


def test_after_a_restart_the_board_is_as_it_was(tmp_path):
    with classroom_of(tmp_path) as service:
        service.check("ada", "softmax", WRONG.answer, DOT)
        before = on_the_board(service)
    with classroom_of(tmp_path) as service:
        assert on_the_board(service) == before
        _, helped = service.post("ada", "help", asks("help"))
        assert "Run the cell with check('softmax') again first" in helped.sentence
    file = tmp_path / "kept" / "check_events.jsonl"
    assert file.stat().st_mode & 0o077 == 0


def test_old_events_are_forgotten(tmp_path):
    file = tmp_path / "kept" / "check_events.jsonl"
    now = 1_000_000.0
    check_events = CheckEvents(file, 2, clock=lambda: now)
    for age in (3, 1):
        check_events.add(CheckEvent(now - age * 86_400, "ada", DOT, "attention_scores", "", True))
    file.write_text(file.read_text() + '{"time": 1, "learner"')  # the disk was full
    assert len(CheckEvents(file, 2, clock=lambda: now).all) == 1
    assert len(file.read_text().splitlines()) == 1
    CheckEvents(file, 0)
    assert not file.exists()


def test_an_unwritable_disk_is_told_at_the_start(tmp_path):
    (tmp_path / "kept").write_text("a file where the folder is to be")
    with pytest.raises(CourseError, match=r"check_events\.jsonl.*cannot be written"):
        CheckEvents(tmp_path / "kept" / "check_events.jsonl", 30)


def test_the_rate_is_over_a_minute():
    now = [0.0]
    limits = RateLimiter(2, clock=lambda: now[0])
    limits.count_check("ada")
    now[0] = 30
    limits.count_check("ada")
    with pytest.raises(RequestRefusedError, match="again in 30 s") as refused:
        limits.count_check("ada")
    assert refused.value.seconds == 30
    now[0] = 61
    limits.count_check("ada")


def test_one_thing_at_a_time_for_each():
    limits = RateLimiter(2)
    limits.begin("ada", "answer")
    limits.begin("bob", "answer")
    with pytest.raises(RequestRefusedError, match="still busy"):
        limits.begin("ada", "help")
    limits.end("ada")
    limits.begin("ada", "help")


def test_every_request_counts_whatever_it_asks_for():
    limits = RateLimiter(2)
    for _ in range(2 * REQUESTS_PER_CHECK):
        limits.begin("eve", "answer")
        limits.end("eve")
    with pytest.raises(RequestRefusedError, match="80 times"):
        limits.begin("eve", "answer")
    limits.begin("ada", "answer")


@pytest.mark.parametrize(
    ("model", "teaches"),
    [
        ({"name": "ada", "groups": ["students"]}, False),
        ({"name": "root", "admin": True}, True),
        ({"name": "grace"}, True),
        ({"name": "linus", "groups": ["instructors"]}, True),
    ],
)
def test_the_hub_or_the_course_says_which_users_teach(model, teaches):
    assert is_instructor(model, ClassroomSettings(instructors=("grace",))) == teaches


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stuck_minuts": 3}, "no option c.Classroom.stuck_minuts .* Did you mean stuck_minutes"),
        ({"keep_days": "30"}, "Classroom.keep_days is '30'"),
        ({"keep_days": -1}, "Classroom.keep_days is -1"),
        ({"names": "yes"}, "Classroom.names is 'yes'"),
    ],
)
def test_an_unfit_setting_is_refused(options, message):
    with pytest.raises(CourseError, match=message):
        check_settings(Config({"Classroom": options}))


def test_a_table_for_a_spreadsheet_has_no_formulas():
    row = {"assignment": "=1+1", "exercise": "softmax", "begun": 2, "working": 0, "stuck": 1, "done": 1}
    row["mistakes"] = [{"name": "unshifted", "learners": 1}]
    assert as_csv([row], CsvFormat()).splitlines()[1] == '"\'=1+1","softmax",2,0,1,1,"unshifted: 1"'
    german = CsvFormat(separator="semicolon", decimal="comma")
    assert as_csv([row], german).splitlines()[1] == '"\'=1+1";"softmax";2;0;1;1;"unshifted: 1"'


def test_a_hunt_is_for_those_who_are_right(classroom):
    """Whether an answer is right is what the service has checked, whatever the kernel says."""
    request = {"exercise": "softmax", "folder": DOT, "step": "show", "is_earned": True}
    assert "right first" in classroom.post("eve", "hunt", request)[1].sentence
    classroom.check("eve", "softmax", right("softmax"), DOT)
    assert "def softmax(scores)" in classroom.post("eve", "hunt", request)[1].code
