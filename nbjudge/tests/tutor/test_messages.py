"""Messages between kernels and tutors have one of a few types; a long text follows the JSON as it is."""

import pytest

from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.messages import (
    LONGEST_LINE,
    REQUESTS,
    CallReply,
    CallRequest,
    CheckRequest,
    CheckResult,
    Help,
    HelpRequest,
    Notice,
    OnePageRequest,
    Part,
    ShownFinding,
    ShownGroup,
    TutorReady,
    WrittenExercise,
    decode_reply,
    decode_request,
    encode,
)

LONG = "'\"\\\n ä ".encode() * 1000
FINDING = ShownFinding("It differs.", "at [0, 1]", True, "unscaled")


@pytest.mark.parametrize(
    "request_",
    [
        CheckRequest(folder="01_dot_product", exercise="softmax", code="0" * 16, program="1" * 64),
        HelpRequest(exercise="softmax", step="help", given=0, tries=3),
        OnePageRequest(folder="a\nb", right=["score"]),
        CallReply(conversation="1", text=LONG),
        CallReply(conversation="1", text=b""),
        CallReply(conversation="1", lost="timeout"),
    ],
)
def test_a_request_arrives_as_it_was_sent(request_):
    body = b"".join(encode(request_))
    assert decode_request(body) == request_
    assert decode_request(body, REQUESTS[type(request_).__struct_config__.tag]) == request_


@pytest.mark.parametrize(
    "reply",
    [
        CallRequest(conversation="1", program="0", source="def respond(): ...", text=LONG),
        CheckResult(
            exercise="softmax",
            points=5.0,
            max_points=8.0,
            disclosure=Disclosure.FULL,
            stopped=False,
            groups=[ShownGroup("a\nb", True, "")],
            findings=[FINDING],
        ),
        Help(parts=[Part("code", "x = 1", "A solution")]),
        WrittenExercise(),
        Notice(sentence="Run the cell again first."),
        TutorReady(source="def respond(): ..."),
    ],
)
def test_a_reply_arrives_as_it_was_sent(reply):
    assert decode_reply(b"".join(encode(reply))) == reply


def test_a_long_text_is_sent_as_it_is():
    _, text = encode(CallRequest(conversation="1", program="0", text=LONG))
    assert text is LONG


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"<html>\n</html>",
        b"[1]\ntext",
        b'{"action": "check", "exercise": "softmax"}\ntext',
        b'{"action": "eval", "exercise": "softmax"}',
        b'{"exercise": "softmax"}',
        b'{"action": "check", "exercise": 5}',
        b'{"action": "check", "exercise": "softmax", "folder": null}',
        b'{"action": "help", "exercise": "softmax", "step": "all", "given": 0, "tries": 0}',
        b'{"action": "one_page", "right": "score"}',
        b'{"action": "check", "exercise": "%s"}' % (b"x" * LONGEST_LINE),
        b'{"type": "calls", "conversation": 5, "program": "0"}\ntext',
        b'{"type": "calls", "conversation": "1", "program": null}\ntext',
        b'{"type": "notice", "sentence": "x"}\ntext',
    ],
)
def test_anything_else_is_refused(body):
    for decode in (decode_request, decode_reply):
        with pytest.raises(ValueError):
            decode(body)


def test_a_request_has_the_type_of_its_address():
    body = b"".join(encode(CheckRequest(exercise="softmax")))
    with pytest.raises(ValueError):
        decode_request(body, HelpRequest)


def test_a_lone_surrogate_becomes_a_question_mark():
    assert decode_request(encode(CheckRequest(exercise="\ud800"))[0]) == CheckRequest(exercise="?")
    assert decode_reply(encode(Notice(sentence="ä\ud800"))[0]) == Notice(sentence="ä?")
