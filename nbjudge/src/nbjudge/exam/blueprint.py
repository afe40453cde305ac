"""What exams are drawn from: the file `checks/NOTEBOOK/exam.toml` of a notebook.

::

    tasks = ["deviation"]

    [[questions]]
    name = "spread_of_doubled"
    text = "All numbers of a sample with deviation {s} are multiplied by {k}. What is the deviation now?"
    numbers = { s = [2, 3, 5], k = [2, 3, 4] }
    right = "s * k"
    replies = { "s * k ** 2" = "That is how the variance grows.", otherwise = "Every distance grows alike." }

    [[questions]]
    name = "spread_of_shifted"
    text = "Each number of a sample with deviation {s} grows by {k}. What is the deviation now?"
    numbers = { s = [2, 3, 5], k = [7, 8] }
    choices = [
        ["{s}", "Right: the distances from the mean stay."],
        ["{s + k}", "The mean grows by {k}, and so does every number."],
        ["{s * k}", "Nothing is multiplied."],
    ]

`tasks` are exercises with hunts, whose code needs no other exercise. Of a question, `{…}` in a text is an
expression of its numbers, in Python, with the functions of `math`. Without choices the answer is a number,
`right`; `within` and `replies` are those of `nbjudge.quiz`, and the keys of `replies` are expressions.
The first of the `choices` is right; their order is drawn. `expected` is the share of the points that its
author expects to be earned, until classes have shown it.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from nbjudge.errors import CourseError
from nbjudge.quiz import OTHERWISE, Question

BLUEPRINT = "exam.toml"
FIX, NUMBER, PREDICTION = KINDS = ("fix", "number", "prediction")
MOST_VARIANTS = 24  # of a question
EXPRESSION = re.compile(r"\{([^{}]+)\}")
FUNCTIONS = {name: each for name, each in vars(math).items() if not name.startswith("_")}
FUNCTIONS |= {"abs": abs, "int": int, "max": max, "min": min, "round": round, "sum": sum}


class QuestionTable(msgspec.Struct, forbid_unknown_fields=True):
    """A question as its author writes it."""

    name: str
    text: str
    numbers: dict[str, list[int | float | str]]
    right: str = ""
    within: float = 0.0
    replies: dict[str, str] = {}
    choices: list[tuple[str, str]] = []
    expected: float = 0.6

    @property
    def kind(self) -> str:
        return PREDICTION if self.choices else NUMBER


class Blueprint(msgspec.Struct, forbid_unknown_fields=True):
    """What a notebook has for exams."""

    tasks: list[str] = []
    questions: list[QuestionTable] = []


def read_blueprint(path: Path) -> Blueprint | None:
    """Read the blueprint of a notebook; None if there is none. Raises CourseError."""
    if not path.is_file():
        return None
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), Blueprint)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CourseError(f"{path} cannot be read ({error}): fix it.") from None


@dataclass(frozen=True)
class Variant:
    """A question with numbers, whose name is not given yet."""

    id: str
    text: str
    question: Question


def variants(table: QuestionTable, where: str) -> list[Variant]:
    """Return a question with each choice of its numbers, at most `MOST_VARIANTS` of them.

    Numbers with which two choices or two expected answers are the same are left out. Raises CourseError if
    an expression cannot be computed or no numbers are left.
    """
    picks = [
        dict(zip(table.numbers, values, strict=True)) for values in itertools.product(*table.numbers.values())
    ]
    random.Random(table.name).shuffle(picks)
    try:
        found = (_variant(table, numbers) for numbers in picks)
        result = list(itertools.islice(filter(None, found), MOST_VARIANTS))
    except Exception as error:  # an author's expression can fail in any way
        reason = error if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"
        raise CourseError(
            f"The question {table.name!r} of {where} cannot be made ({reason}): fix it."
        ) from None
    if not result:
        raise CourseError(
            f"The question {table.name!r} of {where} has no numbers with which its answers differ: add some."
        )
    return result


def _variant(table: QuestionTable, numbers: Mapping[str, Any]) -> Variant | None:
    text = _filled(table.text, numbers)
    variant = hashlib.sha256(repr((table.name, sorted(numbers.items()))).encode()).hexdigest()[:6]
    if not table.choices:
        right = _value(table.right, numbers)
        replies = {
            (known if known == OTHERWISE else _value(known, numbers)): _filled(reply, numbers)
            for known, reply in table.replies.items()
        }
        question = Question(table.name, right=right, within=table.within, replies=replies)
        if len(replies) < len(table.replies) or any(
            question.credit(str(known)) for known in replies if known != OTHERWISE
        ):
            return None
    else:
        texts = [tuple(_filled(part, numbers) for part in choice) for choice in table.choices]
        order = list(range(len(texts)))
        random.Random(variant).shuffle(order)
        letters = dict(zip(order, "abcdefghij", strict=False))
        choices = {letters[at]: texts[at][0] for at in order}
        if len(set(choices.values())) < len(choices):
            return None
        replies = {letters[at]: texts[at][1] for at in order}
        question = Question(table.name, choices, right=letters[0], replies=replies)
    return Variant(f"{table.name}/{variant}", text, question)


def _value(expression: str, numbers: Mapping[str, Any]) -> Any:
    return eval(expression, {"__builtins__": {}, **FUNCTIONS, **numbers})


def _filled(text: str, numbers: Mapping[str, Any]) -> str:
    def shown(found: re.Match[str]) -> str:
        value = _value(found[1], numbers)
        return (
            f"{value:,}" if isinstance(value, int) else str(value) if isinstance(value, str) else f"{value:g}"
        )

    return EXPRESSION.sub(shown, text)
