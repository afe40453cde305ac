"""A lesson's recording: right answers are right there, mistakes are not, and none of them is named."""

import io
import json
import zipfile
from dataclasses import replace

import pytest
import torch

from attention_lab.measurements import AttentionExercise
from nbjudge.calls import read_reply
from nbjudge.course.course import find_course
from nbjudge.errors import CourseError
from nbjudge.judge.drawn_group import draw_groups
from nbjudge.judge.scoring import judge_groups
from nbjudge.probe import respond
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.material import TutoredAssignment
from nbjudge.tutor.messages import CallRequest, CheckRequest, HelpRequest, WrittenExercise
from nbjudge.tutor.recorded import find_form
from nbjudge.tutor.recordings import CONTENT, SEED, read, record
from nbjudge.tutor.tutor import Material, Tutor

# Those of lessons 9 to 11 and 13 of which some group is recorded.
EXERCISES = [
    ("kv_cache", "CachedAttention"),
    ("kv_cache", "GroupedQueryAttention"),
    ("kv_cache", "repeat_heads"),
    ("kv_cache", "cache_bytes"),
    ("rotary", "rotary_angles"),
    ("rotary", "rotate"),
    ("rotary", "RotaryAttention"),
    ("rotary", "to_halves"),
    ("rotary", "rotate_halves"),
    ("flash", "part"),
    ("flash", "merge"),
    ("flash", "flash_attention"),
    ("real_model", "TransformerBlock"),
    ("real_model", "load_block"),
    ("real_model", "mean_pool"),
]


@pytest.fixture(scope="module")
def course(pytestconfig):
    return find_course(pytestconfig.rootpath)


@pytest.fixture(scope="module")
def lesson(course):
    return TutoredAssignment(course.assignments["positional_encoding"])


@pytest.fixture(scope="module")
def data(lesson):
    return record(lesson)


@pytest.fixture
def recorded(data):
    return read(data)


def verdict(recorded, name, function):
    exercise, _ = recorded.exercise(name)
    return judge(exercise, recorded.drawn_groups(name, 0), function)


def judge(exercise, groups, function):
    def call_answer(_, calls, watched_calls):
        return read_reply(respond.answer_calls(function, calls, watched_calls), len(calls))

    return judge_groups(exercise, groups, call_answer, 0).verdict


def record_one(lesson, name):
    """Record one exercise of a lesson."""
    lesson.__dict__["names"] = [name]
    return read(record(lesson))


@pytest.mark.parametrize("name", ["sinusoidal_encoding", "PositionalEncoding", "shift_matrix"])
def test_answers_are_judged_as_by_the_checks(lesson, recorded, name):
    exercise, reference = lesson.exercise(name)
    right = verdict(recorded, name, reference)
    assert right.points == right.max_points == sum(each.points for each in recorded.exercises[name].groups)
    looks = {mistake.name: verdict(recorded, name, mistake.answer) for mistake in exercise.mistakes}
    missed = [each for each, look in looks.items() if look.points == look.max_points]
    left_out = recorded.exercises[name].left_out
    assert len(missed) <= len(looks) / 4 and bool(missed) <= bool(left_out)
    sentences = {mistake.message for mistake in exercise.mistakes}
    assert not [each for look in looks.values() for each in look.findings if each.sentence in sentences]


def test_the_courses_own_measurements_are_recorded(course):
    """Weights that do not sum to 1 are said to be so, not only to differ."""
    dot_product = TutoredAssignment(course.assignments["dot_product"])
    recorded = record_one(dot_product, "softmax")
    exercise, _ = recorded.exercise("softmax")
    assert isinstance(exercise, AttentionExercise) and exercise.weights == 0
    halves = verdict(recorded, "softmax", lambda scores: dot_product.exercise("softmax")[1](scores) / 2)
    assert "do not sum to 1" in halves.findings[0].sentence


def compare_with_the_full_tutor(lesson, name, mistakes=None):
    """Compare what is said of mistakes with what a tutor with the reference says; return its findings."""
    recorded = record_one(lesson, name)
    exercise, reference = lesson.exercise(name)
    smaller = replace(exercise, draw=exercise.draw.for_recordings(), mistakes=[])
    drawn = [each for each in draw_groups(smaller, reference, SEED) if each.expected]
    groups = [each for each in drawn if each.group.name not in recorded.exercises[name].left_out]
    for each in groups:  # a recording holds no reference to answer other cases
        each.other_answers.update({number: [] for number in range(len(each.cases))})
    found = []
    for mistake in exercise.mistakes:
        if mistakes is None or mistake.name in mistakes:
            torch.manual_seed(0)  # an answer may draw numbers
            full = judge(smaller, groups, mistake.answer)
            torch.manual_seed(0)
            assert verdict(recorded, name, mistake.answer) == full, mistake.name
            found += full.findings
    return found


@pytest.mark.parametrize(
    ("folder", "name", "mistake", "argument"),
    [
        ("real_model", "TransformerBlock", "IgnoresTheMask", "mask"),
        ("rotary", "rotary_angles", "base_ignored", "base"),
    ],
)
def test_an_argument_that_is_not_used_is_named_without_a_reference(course, folder, name, mistake, argument):
    first, *_ = compare_with_the_full_tutor(TutoredAssignment(course.assignments[folder]), name, {mistake})
    assert f"as if `{argument}` had not been given: it is not used" in first.sentence


@pytest.mark.integration
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("folder", "name"), EXERCISES)
def test_a_recording_says_what_a_reference_says(course, folder, name):
    assert compare_with_the_full_tutor(TutoredAssignment(course.assignments[folder]), name)


@pytest.mark.parametrize("form", ["os.mkdir", "attention_lab.no_module.Exercise", "builtins.dict", "x", ""])
def test_a_class_that_is_none_of_exercises_is_refused(form):
    with pytest.raises(CourseError, match="no class of exercises"):
        find_form(form)


def test_what_is_asked_with_code_of_the_checks_is_left_out(lesson, recorded):
    assert recorded.exercises["order_matters"].groups == []
    assert len(recorded.exercises["order_matters"].left_out) == len(
        lesson.exercise("order_matters")[0].groups
    )
    tutor = Tutor(Material({recorded.folder: recorded}))
    reply = tutor.reply(CheckRequest(exercise="order_matters"))
    assert "does not measure `order_matters`" in reply.sentence


def test_a_course_that_allows_all_is_told_what_is_there(recorded):
    tutor = Tutor(Material({recorded.folder: recorded}, DisclosureSettings(Disclosure.FULL)))
    assert isinstance(tutor.reply(CheckRequest(exercise="sinusoidal_encoding")), CallRequest)
    assert recorded.max_disclosure == Disclosure.MEASURED
    written = next(name for name in recorded.names if name not in recorded.coded)
    assert tutor.reply(CheckRequest(exercise=written)) == WrittenExercise()
    (part,) = tutor.reply(HelpRequest(exercise=written, step="solution", given=0, tries=0)).parts
    assert "with your grade" in part.text


def test_the_same_lesson_makes_the_same_recording(lesson, data):
    assert record(TutoredAssignment(lesson.assignment)) == data


FORM = {"nbjudge.authoring.exercise.Tolerance": {"float32": [0.1, 0.1]}}
KINDS = "nbjudge.values.kinds"
ARRAY = {"array": [KINDS, {"array": ["uint8", [1], 0, [0]]}]}
SPOILT_CONTENT = {
    "a class that is no form": {"os.mkdir": {"path": "made"}},
    "a field that the class does not have": {next(iter(FORM)): {"float16": [0.1, 0.1]}},
    "an array whose numbers are not there": {"array": [KINDS, {"array": ["uint8", [1], 10**9, [0]]}]},
    "an array of another package": {"array": ["this", ARRAY["array"][1]]},
    "an array that is code": {"array": [KINDS, {"made": ["", {"dict": []}]}]},
    "a node of two kinds": FORM | {"tuple": []},
}


def with_content(data, content):
    """Put other content into a recording."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(file, "w") as after:
        for name in before.namelist():
            after.writestr(name, json.dumps(content) if name == CONTENT else before.read(name))
    return file.getvalue()


@pytest.mark.parametrize("name", SPOILT_CONTENT)
def test_other_content_is_refused_and_calls_nothing(data, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CourseError, match="no recording"):
        read(with_content(data, ["07", [SPOILT_CONTENT[name]], {"dict": []}]))
    assert not list(tmp_path.iterdir())
    control = read(with_content(data, ["07", [FORM, {"tuple": [1.5, None]}, ARRAY], {"dict": []}]))
    assert control.names[0].float32 == [0.1, 0.1] and control.names[1] == (1.5, None)
    assert control.names[2].shape == (1,)


@pytest.mark.parametrize("spoilt", [b"", b"PK\x03\x04", b"(dp0\n."])
def test_anything_else_is_refused_in_a_sentence(spoilt):
    with pytest.raises(CourseError, match="no recording"):
        read(spoilt)
