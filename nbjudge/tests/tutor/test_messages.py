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
POINTS = {"points": 5.0, "max_points": 8.0, "disclosure": Disclosure.FULL, "stopped": False}
FINDING = ShownFinding("It differs.", "at [0, 1]", True, "unscaled")


@pytest.mark.parametrize(
    "message",
    [
        CheckRequest(folder="01_dot_product", exercise="softmax", code="0" * 16, program="1" * 64),
        HelpRequest(exercise="softmax", step="help", given=0, tries=3),
        OnePageRequest(folder="a\nb", right=["score"]),
        CallReply(conversation="1", text=LONG),
        CallReply(conversation="1", text=b""),
        CallReply(conversation="1", lost="timeout"),
        CheckRequest(exercise="\ud800"),
        CallRequest(conversation="1", program="0", source="def respond(): ...", text=LONG),
        CheckResult(exercise="softmax", groups=[ShownGroup("a\nb", True, "")], findings=[FINDING], **POINTS),
        Help(parts=[Part("code", "x = 1", "A solution")]),
        WrittenExercise(),
        Notice(sentence="Run the cell again first."),
        TutorReady(source="def respond(): ..."),
        Notice(sentence="ä\ud800"),
    ],
)
def test_a_message_arrives_as_it_was_sent(message):
    """A long text is not copied; a lone surrogate becomes a question mark."""
    parts = encode(message)
    assert getattr(message, "text", None) is not LONG or parts[1] is LONG
    for name in {"exercise", "sentence"} & set(message.__struct_fields__):
        setattr(message, name, getattr(message, name).replace("\ud800", "?"))
    if message.__struct_config__.tag_field == "type":
        assert decode_reply(b"".join(parts)) == message
    else:
        kind = REQUESTS[message.__struct_config__.tag]
        assert decode_request(b"".join(parts)) == decode_request(b"".join(parts), kind) == message


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
