"""Help in steps: the mistake's name, the smallest case and the hints, a solution and other ways.

Each step is a list of parts, and the page that shows them lays them out: plain text, Markdown or code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer, AnswerCaller
from nbjudge.judge import describe
from nbjudge.judge.describe import argument_names, receiver
from nbjudge.judge.scoring import Judgement
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.material import TutoredAssignment, WrittenQuestion
from nbjudge.tutor.messages import HelpRequest, Part
from nbjudge.tutor.smallest import Difference, smallest_difference
from nbjudge.values.kinds import ArrayKind, kind_of

FORMULA = re.compile(r"\$\$?([^$]+)\$\$?")  # as in the Markdown of a notebook
TRIES_FOR_A_SOLUTION = 3
MOST_NUMBERS = 40  # of an array that is written out

NOT_DISCLOSED = "In this class the tutor says what it measured, and leaves this to you."
NO_MISTAKE = "It is none of the mistakes that the tutor knows by name. What it measured is above."
NO_MORE_HINTS = "There is no further hint. Read the case above once more, by hand, step by step."
TRY_FIRST = (
    "A solution can be seen when yours is right, or after {wanted} tries with changes between them: this was "
    "{tries}."
)
NO_PAGE = "The whole assignment on one page is shown where the tutor may show solutions: here it may not."
NOT_ALL_RIGHT = (
    "The whole assignment on one page is here once all its answers are right: {right} of {all} are. "
    "Still open: {open}."
)


def reveal(
    assignment: TutoredAssignment, examination: Judgement, disclosure: Disclosure, request: HelpRequest
) -> list[Part]:
    """The mistakes or a solution, whichever the learner requests, where the tutor may reveal them."""
    if disclosure != Disclosure.FULL:
        return [Part("text", NOT_DISCLOSED)]
    verdict = examination.verdict
    if request.step == "mistake":
        named = [finding.sentence for finding in verdict.findings if finding.mistake]
        return [Part("text", sentence) for sentence in named or [NO_MISTAKE]]
    # The model solution and the accepted alternatives are for learners who are right or have tried.
    if verdict.points < verdict.max_points and request.tries < TRIES_FOR_A_SOLUTION:
        return [Part("text", TRY_FIRST.format(wanted=TRIES_FOR_A_SOLUTION, tries=request.tries))]
    parts = [Part("code", assignment.solution(verdict.exercise), "A solution")]
    for number, (good_at, code) in enumerate(assignment.shown_alternatives(verdict.exercise), start=2):
        parts += [Part("text", good_at, f"Way {number}"), Part("code", code)]
    return parts


def one_page(assignment: TutoredAssignment, disclosure: Disclosure, right: Collection[str]) -> list[Part]:
    """All the code of an assignment, for a learner who has written it; `right` names their right answers."""
    if disclosure != Disclosure.FULL or not assignment.one_page:
        return [Part("text", NO_PAGE)]
    still_open = [name for name in assignment.coded if name not in right]
    if still_open:
        known, names = len(assignment.coded), ", ".join(f"`{name}`" for name in still_open)
        return [Part("text", NOT_ALL_RIGHT.format(right=known - len(still_open), all=known, open=names))]
    return [Part("code", assignment.one_page)]


def smallest_case(
    assignment: TutoredAssignment, examination: Judgement, call_answer: AnswerCaller
) -> list[Part]:
    """The smallest case in which it goes wrong; nothing where none is found."""
    exercise, reference = assignment.exercise(examination.verdict.exercise)
    difference = smallest_difference(exercise, reference, examination.results, call_answer)
    return [] if difference is None else show_case(exercise, reference, difference)


def hint(assignment: TutoredAssignment, name: str, place: int) -> list[Part]:
    """The hint at this place, or that there is none."""
    hints = assignment.hints(name)
    if place >= len(hints):
        return [Part("text", NO_MORE_HINTS)]
    title, text = hints[place]
    return [markdown_part(text, title)]


def model_answer(written: WrittenQuestion, disclosure: Disclosure) -> list[Part]:
    """The model answer to a question that is answered in words, and what to ask one's own text."""
    if disclosure != Disclosure.FULL:
        return [Part("text", "A model answer comes with your grade.")]
    parts = [markdown_part(written.model_answer, "A model answer")]
    return parts + ([markdown_part(written.scheme, "Ask your own text")] if written.scheme else [])


def markdown_part(text: str, title: str) -> Part:
    """A part in Markdown, its formulas in Unicode: not every notebook draws TeX in what a cell shows."""
    from pylatexenc.latex2text import LatexNodes2Text  # type: ignore[import-untyped]

    def in_unicode(formula: re.Match[str]) -> str:
        plain: str = LatexNodes2Text(math_mode="text").latex_to_text(formula[1])
        return re.sub(r" *([·×=]) *", r" \1 ", re.sub(r"\s+", " ", plain)).strip()

    return Part("markdown", FORMULA.sub(in_unicode, text), title)


def show_case(exercise: Exercise, reference: Callable[..., Any], difference: Difference) -> list[Part]:
    """The smallest case as lines of code: what goes in, what comes out, what is right."""
    lines = [*_inputs(exercise, reference, difference.case), "", *both_outputs(exercise, difference, "yours")]
    return [Part("code", "\n".join(lines), "The smallest case found in which it goes wrong")]


def both_outputs(exercise: Exercise, difference: Difference, whose: str) -> list[str]:
    """Return what comes out and what is right, as lines; with their types where nothing else differs."""
    answer, expected = difference.answer, difference.expected
    own, right = outputs(exercise, answer), outputs(exercise, expected)
    if own == right and not answer.changed:
        own, right = (outputs(exercise, each, with_types=True) for each in (answer, expected))
    changed = ["# an argument is changed"] if answer.changed else []
    return [f"# {whose}", *own, *changed, "", "# right", *right]


def _inputs(exercise: Exercise, reference: Callable[..., Any], case: Case) -> list[str]:
    called = receiver(reference, case)
    names = argument_names(called)
    positional = [names[i] if i < len(names) else f"argument_{i + 1}" for i in range(len(case.args))]
    lines = _assignments([*zip(positional, case.args, strict=True), *case.kwargs.items()])
    call = ", ".join([*positional, *(f"{name}={name}" for name in case.kwargs)])
    if called is not reference:  # the rest is made of these
        return [*lines, f"# {exercise.name}, with what else it takes from these"]
    if case.build is None:
        return [*lines, f"{exercise.name}({call})"]
    arguments = [written(value) for value in case.build.args]
    arguments += [f"{name}={written(value)}" for name, value in case.build.kwargs.items()]
    weights = _assignments((getattr(case.build, "state", None) or {}).items())
    header = [f"layer = {exercise.name}({', '.join(arguments)})"]
    header += ["# with the weights", *weights] if weights else []
    last = [f"layer({call})"] if "result" in case.build.look else [f"# its {', '.join(case.build.look)}"]
    return [*header, *lines, *last]


def _assignments(values: Iterable[tuple[str, Any]]) -> list[str]:
    return [f"{name} = {written(value)}" for name, value in values]


def outputs(exercise: Exercise, answer: Answer, with_types: bool = False) -> list[str]:
    """Return the results of a call as lines, or the error that it raised."""
    if answer.status == "raised":
        message = answer.message.splitlines()[0] if answer.message else ""
        return [f"{answer.error}: {message}".rstrip(": ")]
    value = answer.value
    if isinstance(value, dict):  # a text is a name, unless it could be taken for a number
        named = [
            (key if isinstance(key, str) and key[:1].isalpha() else repr(key), entry)
            for key, entry in value.items()
        ]
    elif isinstance(value, (list, tuple)) and len(exercise.results) > 1:
        named = list(zip(exercise.results, value, strict=False))
    else:
        named = [("", value)]
    lines = []
    for name, entry in named:
        kind = describe.kind(entry) if kind_of(entry) is None else describe.short(entry)
        lines.append(f"{f'{name}: ' if name else ''}{written(entry)}{f'  # {kind}' if with_types else ''}")
    return lines


def written(value: Any) -> str:
    """A value as one would write it down: all numbers of a small array, the shape of a large one."""
    kind = kind_of(value)
    if isinstance(kind, ArrayKind):
        numbers = kind.as_numbers(value)
        if numbers.size > MOST_NUMBERS:
            return kind.describe(value)
        dtype = kind.dtype(value)
        note = "" if dtype in ("float32", "int64", "bool") else f"  # {dtype}"
        empty = "" if numbers.size else f"  # of shape {tuple(numbers.shape)}"
        return f"{_nested(numbers.tolist())}{note}{empty}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(written, value))
        return f"({inner}{',' * (len(value) == 1)})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {written(entry)}" for key, entry in value.items()) + "}"
    return describe.short(value)


def _nested(numbers: Any) -> str:
    if isinstance(numbers, list):
        return f"[{', '.join(map(_nested, numbers))}]"
    return f"{numbers:.4g}" if isinstance(numbers, float) else str(numbers)
