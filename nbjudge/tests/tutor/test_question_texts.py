"""Texts of questions are kept for the very calls that they put, and not without end."""

from nbjudge.kernel.requests import request
from nbjudge.tutor import question_texts
from nbjudge.tutor.question_texts import QuestionTexts

CALLS = [{"args": [1, "ä"], "kwargs": {}}, {"args": [[2.5]], "kwargs": {}}]


def test_the_text_is_the_questions_and_made_once(monkeypatch):
    made = []
    monkeypatch.setattr(question_texts, "request", lambda *asked: made.append(asked) or request(*asked))
    texts = QuestionTexts()
    first = texts.text("answer", CALLS, {})
    assert first == request("answer", CALLS, {}).encode()
    assert texts.text("answer", list(CALLS), {}) == first and len(made) == 1
    for other in (("other", CALLS, {}), ("answer", CALLS[:1], {}), ("answer", CALLS, {"a": "b"})):
        texts.text(*other)
    texts.text("answer", [dict(call) for call in CALLS], {})  # equal, and not the same objects
    assert len(made) == 5


def test_what_was_asked_longest_ago_goes_first(monkeypatch):
    asked = [[{"args": [number], "kwargs": {}}] for number in range(4)]
    size = len(request("answer", asked[0], {}))
    monkeypatch.setattr(question_texts, "MOST_BYTES", 3 * size)
    texts = QuestionTexts()
    for calls in (*asked[:3], asked[0], asked[3]):
        texts.text("answer", calls, {})
    kept = [calls for calls, _ in texts._kept.values()]
    assert kept == [asked[2], asked[0], asked[3]]
