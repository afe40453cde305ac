"""Who says the same is told the same, and the judge has worked once; others have a judge of their own."""

import pytest

from nbjudge.calls import Answer, Reply
from nbjudge.classroom import tutors as transcripts
from nbjudge.classroom.tutors import CachedConversation, Transcripts
from nbjudge.tutor.conversation import KernelRequest
from nbjudge.tutor.messages import CallReply

ABOUT = ("01_dot_product", "softmax")
CALLS = [{"args": [1], "kwargs": {}}]


@pytest.fixture
def judged():
    return []


@pytest.fixture
def work(judged):
    """A judge that asks again what was answered first, and is done with the second answer."""

    def examine(call_answer):
        first: Reply = call_answer("softmax", CALLS, {})
        second = call_answer("softmax", [CALLS[0] | {"again": first.lost}], {})
        judged.append((first, second))
        return f"result {len(judged)}"

    return examine


def answer_fields(answer):
    """The fields of a reply: its text, or why it was lost."""
    return {"lost": answer} if answer in ("timeout", "died") else {"text": answer.encode()}


def talked(conversation, *answers):
    for answer in answers:
        assert isinstance(conversation.next(), KernelRequest)
        conversation.answer(CallReply(conversation="1", **answer_fields(answer)))
    return conversation.next()


@pytest.mark.parametrize(
    ("about", "answers", "count"),
    [
        (ABOUT, ("a", "b"), 1),
        *((ABOUT, answers, 2) for answers in (("a", "c"), ("c", "b"), ("ab", ""), ("", "ab"))),
        (("01_dot_product", "score"), ("a", "b"), 2),
        (("02_scaling", "softmax"), ("a", "b"), 2),
    ],
)
def test_the_same_words_are_judged_once(work, judged, about, answers, count):
    """Other words, and those about another thing, are judged again."""
    store = Transcripts()
    first = talked(CachedConversation(store, "ada", ABOUT, work), "a", "b")
    second = talked(CachedConversation(store, "ada", about, work), *answers)
    assert (second is first) == (count == 1) and len(judged) == count


@pytest.mark.parametrize("lost", ["timeout", "died"])
def test_what_was_lost_holds_for_no_one_else(work, judged, lost):
    store = Transcripts()
    assert talked(CachedConversation(store, "ada", ABOUT, work), "a", lost) == "result 1"
    assert talked(CachedConversation(store, "ada", ABOUT, work), "a", lost) == "result 2"
    assert talked(CachedConversation(store, "ada", ABOUT, work), lost, "b") == "result 3"
    assert talked(CachedConversation(store, "ada", ABOUT, work), lost, "b") == "result 4"
    assert judged[1][1].answers == [Answer(lost)]


def test_a_judge_that_fails_is_asked_again():
    store = Transcripts()

    def fail(call_answer):
        raise ValueError("no such lesson")

    for _ in range(2):
        with pytest.raises(ValueError, match="no such lesson"):
            CachedConversation(store, "ada", ABOUT, fail).next()


def test_what_was_met_longest_ago_is_forgotten_first(monkeypatch, work, judged):
    monkeypatch.setattr(
        transcripts, "MOST_POSITIONS", 5
    )  # a conversation has three places, of which all share the first
    store = Transcripts()
    for answers in ("ab", "cd", "ab", "ef"):
        talked(CachedConversation(store, "ada", ABOUT, work), *answers)
    assert len(judged) == 3
    talked(CachedConversation(store, "ada", ABOUT, work), *"ab")
    assert len(judged) == 3
    talked(CachedConversation(store, "ada", ABOUT, work), *"cd")
    assert len(judged) == 4


def test_a_talkative_learner_pushes_out_their_own(monkeypatch, work, judged):
    monkeypatch.setattr(transcripts, "MOST_OF_ONE", 4)
    store = Transcripts()
    talked(CachedConversation(store, "ada", ABOUT, work), "a", "b")
    for number in range(10):
        talked(CachedConversation(store, "eve", ABOUT, work), f"{number}", "x")
    assert sum(who == "eve" for who, _ in store._entries.values()) == 4
    assert talked(CachedConversation(store, "bob", ABOUT, work), "a", "b") == "result 1"


def test_kept_questions_are_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(transcripts, "MOST_BYTES", 1000)
    store, shared = Transcripts(), KernelRequest(bytes(600))
    for number in range(5):
        store.keep("ada", b"%d" % number, shared)
    assert (len(store._entries), store._bytes()) == (5, 600)
    store.keep("eve", b"another", KernelRequest(bytes(700)))
    assert (list(store._entries), store._bytes()) == ([b"another"], 700)
    store.keep("eve", b"a result", "result")
    store.keep("eve", b"too large", KernelRequest(bytes(1100)))
    assert not store._entries and not store._bytes()
