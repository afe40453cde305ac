"""The learner's half of the tutor: answering, the record of checks, the panel, failed runs, the start."""

import os
import re
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from nbjudge.tutor import LearnerRecord
from nbjudge.tutor.learner import checking
from nbjudge.tutor.learner.answering import CHATTY, answer
from nbjudge.tutor.learner.checking import FailedRuns
from nbjudge.tutor.learner.result import Help
from nbjudge.tutor.messages import CheckRequest, Notice, Part


@pytest.mark.parametrize("answer_to", [lambda: [None for _ in iter(int, 1)], lambda: time.sleep(60)])
def test_an_endless_answer_is_interrupted(answer_to):
    began = time.monotonic()
    done = answer(answer_to, seconds=0.3)
    assert (done.text, done.lost) == (None, "timeout")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("owner", "end"), [(threading.Thread, "start"), (threading.Event, "set")])
def test_an_interrupt_beside_the_answer_meets_no_one(monkeypatch, owner, end):
    """The time may be up before the answer begins, or when it has just ended."""
    real = getattr(owner, end)

    def long(*arguments):
        real(*arguments) if end == "start" else None
        time.sleep(0.2)  # where the KeyboardInterrupt would come up
        real(*arguments) if end == "set" else None

    with monkeypatch.context() as slow:
        slow.setattr(owner, end, long)
        try:
            outcome = answer(lambda: "ab", seconds=0.05)
        except KeyboardInterrupt:
            pytest.fail("the interrupt was raised outside of the answer")
    assert (outcome.text, outcome.lost) == ("ab", "")


def test_gradients_are_on_again_after_an_interrupt():
    torch = pytest.importorskip("torch")

    def never_ends():
        torch.set_grad_enabled(False)  # an interrupt in the exit of `torch.no_grad` leaves them off too
        time.sleep(60)

    assert answer(never_ends, seconds=0.3).lost == "timeout"
    assert torch.is_grad_enabled()


def test_the_learners_own_interrupt_is_theirs():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer(stop, seconds=60)


def test_a_megabyte_of_prints_is_counted_and_gone(capsys):
    done = answer(lambda: print("x" * 1_000_000))
    assert capsys.readouterr().out == ""
    assert done.notes == ["Your answer printed 1,000,001 characters meanwhile; they are not shown."]
    assert answer(lambda: print("x" * (CHATTY // 2))).notes == []


def test_threads_that_go_on_are_told():
    stop = threading.Event()
    try:
        done = answer(lambda: threading.Thread(target=stop.wait).start())
    finally:
        stop.set()
    assert "left 1 thread running" in done.notes[0]


@pytest.mark.integration
def test_what_ends_python_ends_it():
    """A tutor cannot prevent that; the next check says so, see test_check.py."""
    code = "import os; from nbjudge.tutor.learner.answering import answer; answer(lambda: os._exit(3))"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ).returncode == 3


FIRST, BROKEN = "def head(x):\n    return x", "def head(x):\n    return x +"
OLDER = ": an earlier definition was checked."


def run(runs: FailedRuns, names: dict, *cells: str) -> None:
    for source in cells:
        runs.begin(source, names)
        error = None
        try:
            exec(source, names)
        except Exception as caught:
            error = caught
        runs.end(error, names)


@pytest.mark.parametrize(
    ("cells", "when_right", "when_wrong"),
    [
        ((FIRST,), "", ""),
        ((FIRST, BROKEN), "SyntaxError", "SyntaxError"),
        ((FIRST, f"import nosuchmodule\n{FIRST}"), "ModuleNotFoundError", "ModuleNotFoundError"),
        ((FIRST, BROKEN, FIRST), "", ""),
        ((f"{FIRST}\nprint(y)",), "", "NameError: name 'y' is not defined."),
        ((FIRST, "1 / 0"), "", ""),  # another cell
        ((FIRST, "raise NotImplementedError\nhead = 1"), "", ""),
        ((BROKEN,), "SyntaxError", "SyntaxError"),
    ],
)
def test_a_failed_run_of_the_answer_is_said(cells, when_right, when_wrong):
    """An older definition is always said, an error behind the definition if the answer is wrong."""
    runs, names = FailedRuns(), {}
    run(runs, names, *cells)
    for is_right, expected in ((True, when_right), (False, when_wrong)):
        note = runs.note("head", names, is_right)
        assert expected in note and bool(expected) == bool(note)
    assert (OLDER in runs.note("head", names, True)) == (len(cells) == 2 and bool(when_right))
    exec(FIRST, names)  # the definition of a running cell is not the one that the failed run left
    assert runs.note("head", names, True) == ""


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".checks" / "exercises.json"


def test_tries_are_answers_that_differ(file):
    record = LearnerRecord(file)
    for code, points in (("a", 1), ("a", 1), ("b", 1), ("c", 3), ("c", 3)):
        record.add_check("softmax", "01", code, points, 3)
    record.add_help("softmax")
    record.add_mistakes("softmax", {"clipped": "The scores are clipped."})
    reloaded = LearnerRecord(file).exercise("softmax")
    assert (reloaded.tries, reloaded.is_right, reloaded.right_code, reloaded.helps) == (3, True, "c", 1)
    assert reloaded.mistakes == {"clipped": "The scores are clipped."}
    record.add_check("softmax", "01", "d", 2, 3)  # broken again
    assert not record.exercise("softmax").is_right
    record.reset()
    assert not LearnerRecord(file).exercises()


@pytest.mark.parametrize(
    "text",
    ['{"score": {"tries": "many"}}', '{"score": {"mistakes": null}}', "[" * 200_000]
    + ["", "[]", '{"score": 3}', '{"score": {"tries": 2, "of another version": 1}}'],
    ids=range(7),
)
def test_a_spoilt_file_costs_only_the_record(file, text):
    file.parent.mkdir()
    file.write_text(text)
    assert LearnerRecord(file).exercise("score").tries == (2 if "another" in text else 0)
    LearnerRecord(file).add_mistakes("score", {"a": "b"})
    assert LearnerRecord(file).exercise("score").mistakes


def test_an_unwritable_file_costs_only_itself(file):
    file.parent.write_text("a file in its place")
    record = LearnerRecord(file)
    record.add_check("score", "01", "a", 3, 3)
    assert record.exercise("score").tries == 1


def test_a_kernel_that_ended_is_told_once(file):
    record = LearnerRecord(file)
    record.last_words.parent.mkdir()
    record.last_words.write_text("softmax")
    assert [record.take_last_words(), record.take_last_words()] == ["softmax", ""]


DATA = "data:image/png;base64,iVBORw0KGgo="
REMOTE = ["http://stranger.invalid/a.png", "https://stranger.invalid/a", "//stranger.invalid/a.png", "a.png"]
FORMS = ["![scores]({})", "![scores][1]\n\n[1]: {}\n", "[![scores]({})](https://a.b)"]


@pytest.mark.parametrize("address", REMOTE)
@pytest.mark.parametrize("form", [*FORMS, f"![scores]({DATA}) and ![again]({{}})", "scores <img src={}>"])
def test_a_remote_picture_is_not_fetched(address, form):
    """HTML of a picture is text, and a picture within the text is shown."""
    text = f"Look, `code`: {form.format(address)}"
    html = Help([Part("markdown", text)], "a hint")._repr_html_()
    assert re.findall('<img[^>]* src="([^"]*)"', html) == [DATA] * (DATA in form)
    assert "scores" in html and "<code>code</code>" in html
    assert ("&lt;img" in html) == ("<img" in form) and ("stranger" in html) <= ("<img" in form)


@pytest.mark.parametrize(
    ("is_starting", "has_reader", "is_said"),
    [(True, True, True), (False, True, False), (True, False, False)],
)
def test_one_line_says_that_the_tutor_is_starting(monkeypatch, capsys, is_starting, has_reader, is_said):
    tutor = SimpleNamespace(
        is_starting=is_starting, has_announced_start=False, send=lambda request: Notice(sentence="done")
    )
    shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=has_reader))
    monkeypatch.setattr(checking, "connection", tutor)
    monkeypatch.setattr(checking, "get_ipython", lambda: shell)
    for _ in range(3):
        assert checking.converse(CheckRequest(exercise="softmax")) == (Notice(sentence="done"), [])
    assert capsys.readouterr().out.splitlines() == [checking.STARTING] * is_said
    monkeypatch.setattr(checking, "get_ipython", lambda: None)  # a script has no reader
    assert not checking.has_reader()
