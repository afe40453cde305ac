"""Messages between kernels and tutors: the long text is below the JSON, on both sides alike."""

import json

import pytest

from attention_lab.tutor import wire as learners_wire
from nbjudge.tutor import wire

LONG = "'\"\\\n ä " * 1000


@pytest.mark.parametrize(
    ("message", "long"),
    [
        ({"points": 5.0, "said": None, "groups": [{"name": "a\nb"}]}, wire.SAID),
        ({"conversation": "1", "question": LONG}, wire.QUESTION),
        ({"conversation": "1", "folder": "01_dot_product", "said": LONG, "lost": ""}, wire.SAID),
        ({"said": "", "lost": "late"}, wire.SAID),
    ],
)
def test_what_is_written_is_read(message, long):
    read = wire.read(b"".join(wire.write(message, long)), long)
    assert {name: text(value) for name, value in read.items()} == message


def text(value):
    """A long text is still bytes when it has been read."""
    return value.decode() if isinstance(value, bytes) else value


def test_a_long_text_is_sent_as_it_is():
    _, text = wire.write({"conversation": "1", "question": LONG.encode()})
    assert text == LONG.encode()


def test_plain_json_is_read_as_well():
    assert wire.read(json.dumps({"exercise": "softmax", "said": LONG}).encode())["said"] == LONG


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"<html>\n</html>", b'{"a": 1}\ntext', b"[1]\ntext", b'{"below": "a"}\ntext']
)
def test_anything_else_is_refused(body):
    with pytest.raises(ValueError):
        wire.read(body)
    with pytest.raises(ValueError):
        learners_wire.read(body)


def test_a_kernel_writes_and_reads_the_same():
    message = {"folder": "01_dot_product", "conversation": "1", "said": LONG, "lost": ""}
    assert wire.read(learners_wire.written(dict(message))) == message | {"said": LONG.encode()}
    timeout_message = {"folder": "01_dot_product", "conversation": "1", "said": None, "lost": "late"}
    assert wire.read(learners_wire.written(dict(timeout_message))) == timeout_message | {"said": None}
    sentence = {"said": "Run the cell again first.", "disclosure": "full"}
    assert learners_wire.read(b"".join(wire.write(sentence))) == sentence
    question = learners_wire.read(
        b"".join(wire.write({"conversation": "1", "question": "YQ== ", "program": "0"}))
    )
    assert learners_wire.Question.of(question) == learners_wire.Question("1", "YQ== ", "0")


@pytest.mark.parametrize(
    "spoilt", [{"conversation": 5}, {"program": None}, {"question": "no bytes"}, {"question": "ä".encode()}]
)
def test_a_question_of_another_form_is_no_question(spoilt):
    question = {"conversation": "1", "question": b"YQ== ", "program": "0"} | spoilt
    with pytest.raises(ValueError):
        learners_wire.Question.of(question)


def test_what_no_text_can_hold_goes_over_the_wire_as_something():
    assert wire.read(learners_wire.written({"said": "\ud800"})) == {"said": b"?"}
