"""A conversation that its kernel has given up ends with its thread; texts of questions are kept."""

import threading
from types import SimpleNamespace

import pytest

from nbjudge.kernel.protocol import request
from nbjudge.tutor import conversation
from nbjudge.tutor.conversation import Conversation, ConversationEndedError, PackedRequests
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.material import Material
from nbjudge.tutor.messages import CallReply, CallRequest, Notice
from nbjudge.tutor.tutor import CHECK_ENDED, MOST_CONVERSATIONS, OpenConversation, Tutor

ASSIGNMENT = SimpleNamespace(folder="ps1")
CALLS = [{"args": [1, "ä"], "kwargs": {}}, {"args": [[2.5]], "kwargs": {}}]


def two_questions(call_answer):
    call_answer("softmax", CALLS, {})
    call_answer("softmax", CALLS, {})
    return "done"


@pytest.fixture
def ended(monkeypatch):
    """Set by the thread of a conversation when it ends."""
    event, run = threading.Event(), Conversation._run

    def run_and_tell(self):
        run(self)
        event.set()

    monkeypatch.setattr(Conversation, "_run", run_and_tell)
    return event


@pytest.fixture
def tutor():
    return Tutor(Material({}))


def begin(tutor, name="softmax"):
    talk = Conversation(two_questions)
    opened = OpenConversation(ASSIGNMENT, name, talk, lambda result, _: Notice(sentence=result))
    return tutor._begin(opened, Disclosure.FULL, "")


def answer_to(request):
    return CallReply(conversation=request.conversation, text=b"{}")


def test_an_answer_that_comes_too_late_is_told_so(monkeypatch, ended, tutor):
    reply = begin(tutor)
    assert isinstance(tutor.reply(answer_to(reply)), CallRequest)
    assert tutor.reply(answer_to(reply)) == Notice(sentence="done")
    assert ended.wait(10) and not tutor._open
    ended.clear()
    monkeypatch.setattr(conversation, "PATIENCE", 0.05)
    reply = begin(tutor)
    assert ended.wait(10)
    assert tutor.reply(answer_to(reply)) == Notice(sentence=CHECK_ENDED)
    assert not tutor._open and not tutor.called_exercise


def test_endless_work_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(conversation, "LONGEST_WORK", 0.05)
    go_on = threading.Event()
    stuck = Conversation(lambda call_answer: go_on.wait(10) and two_questions(call_answer))
    with pytest.raises(ConversationEndedError):
        stuck.next()
    go_on.set()


def test_an_exercise_has_one_conversation(ended, tutor):
    first = begin(tutor)
    second = begin(tutor)
    assert ended.wait(10)  # the first one's thread
    assert tutor.reply(answer_to(first)) == Notice(sentence=CHECK_ENDED)
    assert isinstance(tutor.reply(answer_to(second)), CallRequest)
    for number in range(2 * MOST_CONVERSATIONS):
        begin(tutor, f"exercise {number}")
    assert len(tutor._open) == MOST_CONVERSATIONS


def test_the_text_is_the_questions_and_made_once(monkeypatch):
    texts_built = []
    monkeypatch.setattr(conversation, "request", lambda *args: texts_built.append(args) or request(*args))
    texts = PackedRequests()
    first = texts.text("answer", CALLS, {})
    assert first == request("answer", CALLS, {}).encode()
    assert texts.text("answer", list(CALLS), {}) == first and len(texts_built) == 1
    for other in (("other", CALLS, {}), ("answer", CALLS[:1], {}), ("answer", CALLS, {"a": "b"})):
        texts.text(*other)
    texts.text("answer", [dict(call) for call in CALLS], {})  # equal, and not the same objects
    assert len(texts_built) == 5


def test_what_was_asked_longest_ago_goes_first(monkeypatch):
    requests = [[{"args": [number], "kwargs": {}}] for number in range(4)]
    size = len(request("answer", requests[0], {}))
    monkeypatch.setattr(conversation, "MOST_BYTES", 3 * size)
    texts = PackedRequests()
    for calls in (*requests[:3], requests[0], requests[3]):
        texts.text("answer", calls, {})
    remaining = [calls for calls, _ in texts._texts.values()]
    assert remaining == [requests[2], requests[0], requests[3]]
