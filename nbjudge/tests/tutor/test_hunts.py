"""Bug hunts in a plain nbgrader course: what a learner is shown, may call, and is told at the end."""

import shutil
from pathlib import Path

import pytest
from test_check_in_any_course import outputs_of

from nbjudge.course.course import find_course
from nbjudge.errors import CourseError
from nbjudge.kernel import protocol
from nbjudge.tutor import messages
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.hunts import changed_lines, without_comments
from nbjudge.tutor.learner.answering import respond
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import CallReply, CallRequest, HuntRequest
from nbjudge.tutor.tutor import Tutor
from nbjudge.values.packing import pack

EXAMPLE = Path(__file__).parents[3] / "examples" / "statistics"
RIGHT_LINE = "(len(sample) - 1)"
FIXED = """import numpy as np
def deviation(sample):
    distances = sample - sample.mean()
    return np.sqrt((distances**2).sum() / (len(sample) - 1))
"""


@pytest.fixture(scope="module")
def tutor():
    return Tutor(material_of(find_course(EXAMPLE)), seed=1)


def asked(tutor, step, exercise="deviation", number=1, names=None, **fields):
    """The reply, encoded and decoded as it travels; calls of a fix are made in this process."""
    fields.setdefault("is_earned", True)
    request = HuntRequest(step=step, exercise=exercise, number=number, folder="ps1", **fields)
    reply = tutor.reply(messages.decode_request(b"".join(messages.encode(request))))
    while isinstance(reply, CallRequest):
        text = respond(protocol.program(), reply.text.decode(), names).encode()
        reply = tutor.reply(CallReply(folder="ps1", conversation=reply.conversation, text=text))
    return messages.decode_reply(b"".join(messages.encode(reply)))


def called(tutor, *args, **kwargs):
    content = {"args": list(args), "kwargs": kwargs}
    return asked(tutor, "call", text=pack(content).encode())


def text_of(reply):
    return "\n".join(f"{part.title}\n{part.text}" for part in reply.parts)


def test_a_hunt_shows_no_right_line(tutor):
    shown = asked(tutor, "show")
    assert (shown.exercise, shown.number, shown.is_class) == ("deviation", 1, False)
    assert "len(sample))" in shown.code and "#" not in shown.code
    sent = b"".join(messages.encode(shown)).decode()
    assert RIGHT_LINE not in sent.replace(shown.source, "") and "n - 1" not in sent.replace(shown.source, "")
    assert "bug(np.array([" in text_of(shown)  # an example that it gets right


def test_hunts_begin_with_the_first_open_one(tutor):
    first, second = (asked(tutor, "show", number=number) for number in (1, 2))
    assert asked(tutor, "show", number=0).id == first.id
    assert asked(tutor, "show", number=0, fixed=[first.id]).id == second.id
    listed = asked(tutor, "list").hunts
    assert listed["ps1"]["deviation"] == [first.id, second.id]
    closed = Tutor(material_of(find_course(EXAMPLE), default=Disclosure.MEASURED))  # as answers are
    assert "not open" in asked(closed, "show").sentence and asked(closed, "list").hunts == {}


def test_a_call_tells_it_apart_or_not(tutor):
    import numpy as np

    found = called(tutor, np.array([1.0, 2.0]))
    assert found.is_allowed and found.is_found and "# right" in text_of(found)
    same = called(tutor, sample=np.array([2.0, 2.0]))
    assert same.is_allowed and not same.is_found and "No difference" in text_of(same)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (lambda np: [np.array([1, 2])], "has to be `float (n)`"),
        (lambda np: [np.array([1.0])], "asks for `n > 1`"),
        (lambda np: [np.array([1.0, np.nan])], "with NaN or an infinite number"),
        (lambda np: [[1.0, 2.0]], "a tuple or list"),
        (lambda np: [np.ones(9_000)], "no large arrays"),
        (lambda np: [], "missing a required argument"),
        (lambda np: [print], "is not called like this"),
        (lambda np: [{"given by the tutor": "nothing"}], "nothing called nothing is given"),
    ],
)
def test_a_call_outside_the_statement(tutor, args, words):
    """One sentence says why, and nothing of the right answer."""
    import numpy as np

    refused = called(tutor, *args(np))
    assert not refused.is_allowed and not refused.is_found
    (part,) = refused.parts
    assert words in part.text and "\n" not in part.text


def test_hints_come_in_steps(tutor):
    hints = [text_of(asked(tutor, "hint", given=given)) for given in range(4)]
    assert "“samples”" in hints[0] and "len(sample)" in hints[2] and "give_up" in hints[3]
    assert RIGHT_LINE not in "".join(hints)
    last = text_of(asked(tutor, "give_up"))
    assert "divide by n - 1" in last and "The smallest call" in last


def test_a_fix_is_checked_and_measured(tutor):
    wrong = dict[str, object]()
    shown = asked(tutor, "show")
    exec(f"import numpy as np\n{shown.code}", wrong)
    still = asked(tutor, "fix", names=wrong, text=shown.code.encode())
    assert still.result.points < still.result.max_points and not still.parts
    right = dict[str, object]()
    exec(FIXED, right)
    done = asked(tutor, "fix", names=right, text=FIXED.encode())
    assert done.result.points == done.result.max_points and done.id == shown.id
    assert "smallest known fix in 1 line" in text_of(done) and "divide by n - 1" in text_of(done)


@pytest.mark.parametrize(
    ("exercise", "number", "fields", "words"),
    [
        ("deviatoin", 1, {}, "There is no exercise 'deviatoin'"),
        ("relative_spread", 1, {}, "has no hunts"),
        ("deviation", 9, {}, "has the hunts 1 to 2, and none of number 9"),
        ("deviation", 1, {"is_earned": False}, "get your own `deviation` right first"),
        ("deviation", 1, {"text": b"x" * 2**23}, "cannot read"),
    ],
)
def test_a_hunt_that_there_is_not(tutor, exercise, number, fields, words):
    try:
        sentence = asked(tutor, "show", exercise, number, **fields).sentence
    except CourseError as error:  # the tutor's service sends it as a notice
        sentence = str(error)
    assert words in sentence and "\n" not in sentence


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('old = "(len(sample) - 1)"', 'old = "(len(sample) - 2)"', "has 0 times"),
        ("[deviation]", "[deviations]\ninputs = {}\nhunts = []\n[deviation]", "no exercise of its notebook"),
        ('mistake = "divided_by_n"', 'mistakes = "divided_by_n"', "cannot be read"),
        ('mistake = "divided_by_n"', 'mistake = "by_n"', "which its checks do not have"),
    ],
)
def test_a_broken_hunt_is_told_its_author(tmp_path, old, new, words):
    course = Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))
    file = course / "checks" / "spread" / "hunts.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(CourseError, match=words):
        assignment = material_of(find_course(course)).assignments["ps1"]
        assert [hunt.says for hunt in assignment.hunts("deviation")] == []


def test_every_hunt_of_the_example_is_one():
    """Lines are counted without comments."""
    assignment = material_of(find_course(EXAMPLE)).assignments["ps1"]
    for name in assignment.hunt_tables:
        for hunt in assignment.hunts(name):
            assert hunt.smallest is not None and hunt.example is not None and 1 <= hunt.lines <= 3
    code = "def f(x):\n    # why\n    return x  # because\n"
    assert without_comments(code) == "def f(x):\n    return x"
    assert changed_lines(code, "def f(x):\n\n    return x\n") == 0
    assert changed_lines(code, "def f(x):\n    y = x\n    return 2 * y\n") == 2


@pytest.mark.integration
@pytest.mark.smoke
def test_a_hunt_in_a_kernel(tmp_path):
    """Found, given in broken form, fixed, and on the list; the notebook's own names stay as they are."""
    cells = [
        "import numpy as np\nfrom nbjudge.tutor import hunt, hunts\nbug = hunt('deviation', early=True)",
        "bug",
        "bug(np.array([1.0, 2.0]))",
        "bug.hint()",
        "%%fix deviation 1\ndef deviation(sample):\n    return (",
        f"%%fix deviation 1\n{FIXED}",
        "hunts()",
        "'deviation' in globals()",
        "hunt('deviation', 3)",
    ]
    course = Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))
    _, shown, found, hint, broken, fixed, listed, is_named, none = outputs_of(
        course / "source" / "ps1", cells
    )
    assert "def deviation(sample)" in shown and RIGHT_LINE not in shown
    assert "You found it" in found and "fails" in hint
    assert "Line 3 of the fix is no Python" in broken
    assert "✓ right" in fixed and "The mistake" in fixed
    assert "1 ✓ fixed" in listed and is_named == "False" and "none of number 3" in none
