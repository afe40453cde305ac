"""Judging an answer in a test: in this process, or by way of text as a kernel is asked."""

from nbjudge.authoring import Exercise
from nbjudge.calls import caller_of, read_reply
from nbjudge.judge.scoring import judge_exercise
from nbjudge.kernel.protocol import request
from nbjudge.probe import respond
from nbjudge.values.packing import unpack


def exercise_of(name, *groups, results=("result",), base=Exercise, verify=None, **more):
    """Return an exercise with one group of a point for each function that draws cases."""
    exercise = base(name, results=results, **more)
    for place, cases in enumerate(groups):
        exercise.group(f"group {place}", points=1, verify=verify)(cases)
    return exercise


def of_cases(name, *cases, **more):
    """Return an exercise with one group of a case for each function that draws one."""
    return exercise_of(name, lambda draw: [each(draw) for each in cases], **more)


def judged(exercise, reference, answer, seed=3):
    """The verdict on an answer that is called in this process."""
    return judge_exercise(exercise, reference, caller_of(answer), seed)


def as_text(names):
    """Return what calls an answer by its name among `names`, by packed text as in a kernel."""

    def call(name, calls, watched_calls):
        text = request(name, calls, watched_calls)
        return read_reply(unpack(respond.respond(text, names)), len(calls))

    return call


def judged_as_text(exercise, reference, answer, seed=3):
    """The verdict on an answer that is called by way of text."""
    return judge_exercise(exercise, reference, as_text({exercise.name: answer}), seed)


def kinds(verdict):
    """The causes of a verdict's findings."""
    return [finding.kind for finding in verdict.findings]


def by_shape(right):
    """Return an answer that keeps its result for each shape."""
    results = {}

    def answer(*args, **kwargs):
        shapes = tuple(getattr(value, "shape", value) for value in (*args, *kwargs.values()))
        if shapes not in results:
            results[shapes] = right(*args, **kwargs)
        return results[shapes]

    return answer
