"""Texts of questions are kept for the very calls that they put, and not without end."""

from nbjudge.kernel.protocol import request
from nbjudge.tutor import conversation
from nbjudge.tutor.conversation import PackedRequests

CALLS = [{"args": [1, "ä"], "kwargs": {}}, {"args": [[2.5]], "kwargs": {}}]


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
