"""Questions in a notebook: choices, a number or a word, with a reply for each answer.

A question is a graded cell with one call. The key is in its hidden region, which nbgrader removes from the
release::

    ask(
        "spread",
        a="the mean",
        b="the median",
        ### BEGIN HIDDEN TESTS
        right="b",
        replies={"a": "One large value moves it.", "b": "One large value leaves it where it is."},
        ### END HIDDEN TESTS
    )

The cell is read, never run, so the answers of students are graded without their code.
"""

from __future__ import annotations

import ast
import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from nbjudge.errors import CourseError
from nbjudge.parsing import parsed
from nbjudge.plain_text import plain_line, sentence_as_html

ANSWERS_FILE = "answers.json"  # beside the notebook: what a learner has answered, by the question's name
LARGEST_ANSWERS, LONGEST_ANSWER = 2**16, 100  # bytes, characters
OTHERWISE = "otherwise"  # the reply to any other number or word
# As a student types it where there are no buttons; no part of it gives back what it has taken.
TYPED = re.compile(r"""\bask\(\s*+(["'])([\w-]{1,100}+)\1\s*+,\s*+answer\s*+=\s*+(["'])([^"'\n]{0,100}+)\3""")
KEY = ("right", "replies", "within", "exact")  # arguments that only the hidden region may have
NEWLINE = "\n"
LETTERS_FOR_A_SLIP = 3  # a word needs so many for each letter that may be wrong


@dataclass(frozen=True)
class Question:
    """One question; without a key it has the choices only, which is what a student's notebook has.

    Parameters
    ----------
    name
        The id of its cell for nbgrader.
    choices
        The choices by their letter; without any, a number or a word is the answer.
    several
        Whether more than one choice may be right.
    right
        The letters of the right choices; or a number, a range of two numbers, a word or several words.
    within
        How far a number may be from the right one; of a word, how many letters may be wrong, missing, too
        many or exchanged with the next one. An answer that is expected as a wrong one stays wrong.
    replies
        A reply for each choice; or for each number or word that is expected, and for "otherwise".
    shuffle
        Whether each learner sees the choices in another order. Their letters, and so the answers, stay.
    exact
        Whether a word must have the right upper and lower case.
    """

    name: str
    choices: Mapping[str, str] = field(default_factory=dict)
    several: bool = False
    right: Any = None
    within: float = 0.0
    replies: Mapping[Any, str] = field(default_factory=dict)
    shuffle: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        if reason := self._fault():
            raise CourseError(f"The question {self.name!r} {reason}.")

    def _fault(self) -> str:
        """Return what its author must fix; empty if nothing."""
        letters = set(self.choices)
        if len(letters) == 1 or any(not re.fullmatch("[a-z]", letter) for letter in letters):
            return 'has choices that are not two or more, called by one letter each, as in a="the mean"'
        if self.right is None:
            return ""
        if not letters:
            words = [each for each in self._expected if isinstance(each, str)]
            short = [each for each in words if len(each) < LETTERS_FOR_A_SLIP * self.within]
            if short:
                return (
                    f"has within={self.within:g}, too much for the word {short[0]!r}: other words are as near"
                )
            return "" if self.replies else "has no reply: give one to an answer that you expect, or otherwise"
        right = set(self.right) if isinstance(self.right, str) else set()
        if not right or not right < letters or (len(right) > 1 and not self.several):
            which = "letters of some choices, not of all" if self.several else "the letter of one choice"
            return f"has right={self.right!r}, and needs {which}"
        missing = sorted(letters - set(self.replies))
        return f"has no reply for {', '.join(missing)}: say for each choice why it tempts" if missing else ""

    def credit(self, answer: str) -> float:
        """Return the share of the points that an answer earns, from 0 to 1."""
        hits = self.hits(answer)
        return sum(hits.values()) / len(hits)

    def reply(self, answer: str) -> str:
        """Return what is said about an answer; about several choices, what is said about each."""
        if self.several:
            return " ".join(f"“{self.choices[letter]}”: {self.replies[letter]}" for letter in answer)
        if self.choices:
            return self.replies.get(answer, "")
        expected = (reply for known, reply in self.replies.items() if self._agrees(answer, known))
        near = (reply for known, reply in self.replies.items() if self._is_near(answer, known))
        return next(expected, next(near, self.replies.get(OTHERWISE, "")))

    @property
    def right_answer(self) -> str:
        """Return an answer that earns all points."""
        return _one_of(self.right)

    def shown_answer(self, answer: str) -> str:
        """Return an answer as a person knows it: choices with their text."""
        return ", ".join(self.choices[letter] for letter in answer) if self.choices else answer

    def read(self, answer: object) -> str:
        """Return an answer in its one form; empty if it is none: sorted letters, or a short text."""
        is_short = isinstance(answer, str) and len(answer) <= LONGEST_ANSWER
        text = plain_line(str(answer)).strip() if is_short else ""
        if not self.choices:
            return text
        letters = "".join(sorted(set(re.findall(r"\w", text.lower()))))
        return letters if set(letters) <= set(self.choices) and (self.several or len(letters) < 2) else ""

    def hits(self, given: str) -> dict[str, bool]:
        """Return whether each right choice earns its share; without choices there is one share."""
        if not self.several:
            return {"": bool(given) and self._is_right(given)}
        ticked = [letter for letter in sorted(self.right) if letter in given]
        earned = ticked[: max(0, len(ticked) - len(set(given) - set(self.right)))]
        return {letter: letter in earned for letter in sorted(self.right)}

    @property
    def _expected(self) -> Sequence[Any]:
        is_one = not isinstance(self.right, tuple) or self._is_range
        return (self.right,) if is_one else self.right

    def _is_right(self, given: str) -> bool:
        if any(self._agrees(given, each) for each in self._expected):
            return True
        is_known = any(self._agrees(given, known) for known in self.replies)
        return not is_known and any(self._is_near(given, each) for each in self._expected)

    def _is_near(self, given: str, expected: Any) -> bool:
        """Return whether a word is right but for slips, which only right words may have."""
        is_right = isinstance(expected, str) and any(self._agrees(expected, each) for each in self._expected)
        return is_right and slips(self._plain(given), self._plain(expected)) <= self.within

    @property
    def _is_range(self) -> bool:
        return isinstance(self.right, tuple) and all(isinstance(each, (int, float)) for each in self.right)

    def _agrees(self, given: str, expected: Any) -> bool:
        if isinstance(expected, str):
            return self._plain(given) == self._plain(expected)
        try:
            number = float(given.replace("−", "-").replace(",", "."))
        except ValueError:
            return False
        low, high = expected if isinstance(expected, tuple) else (expected, expected)
        slack = self.within + 1e-9 * abs(high)
        return math.isfinite(number) and low - slack <= number <= high + slack

    def _plain(self, word: str) -> str:
        return " ".join((word if self.exact else word.casefold()).split())

    def in_order(self, learner: str) -> dict[str, str]:
        """Return the choices by their letter, in the order in which a learner sees them, always the same."""
        letters = list(self.choices)
        if self.shuffle:
            random.Random(f"{learner}/{self.name}").shuffle(letters)
        return {letter: self.choices[letter] for letter in letters}

    def as_html(self, learner: str = "") -> str:
        """Return it as HTML without scripts: each choice with its folded reply, or the choices alone."""
        if self.right is None:
            # In another order, an item needs its number to have its letter.
            item = ('<li value="{}">{}</li>' if self.shuffle else "<li>{1}</li>").format
            items = "".join(
                item(ord(letter) - ord("a") + 1, choice_as_html(text))
                for letter, text in self.in_order(learner).items()
            )
            return f'<ol type="a">{items}</ol>'
        entry = "<details><summary>{}</summary><p>{} {}</p></details>".format
        return "".join(
            entry(choice_as_html(title), sign, sentence_as_html(reply))
            for title, sign, reply in self._entries()
        )

    def _entries(self) -> list[tuple[str, str, str]]:
        """Return title, sign and reply of each choice; without choices, of each answer that is expected."""
        if self.choices:
            return [
                (f"{letter} · {text}", "✓" if letter in self.right else "✗", self.replies[letter])
                for letter, text in self.choices.items()
            ]
        return [
            ("Any other answer", "", reply)
            if known == OTHERWISE
            else (_known(known), "✓" if self.credit(_one_of(known)) else "✗", reply)
            for known, reply in self.replies.items()
        ]

    def without_key(self) -> Question:
        """Return what students have of it."""
        return replace(self, right=None, within=0.0, replies={}, exact=False)


def choice_as_html(text: str) -> str:
    """Return the text of a choice as HTML: what is in backticks as code, several lines of it as a block."""

    def code(escaped: str) -> str:
        shown = f"<code>{escaped.strip(NEWLINE)}</code>"
        return f"<pre>{shown}</pre>" if NEWLINE in escaped else shown

    return sentence_as_html(text, code)


def slips(given: str, expected: str) -> int:
    """Return how many letters are wrong, missing, too many or exchanged with the next one.

    This is the restricted Damerau-Levenshtein distance.
    """
    before, row = list[int](), list(range(len(expected) + 1))
    for i, letter in enumerate(given):
        older, before, row = before, row, [i + 1]
        for j, wanted in enumerate(expected):
            least = min(before[j] + (letter != wanted), before[j + 1] + 1, row[j] + 1)
            if i and j and letter == expected[j - 1] and given[i - 1] == wanted:
                least = min(least, older[j - 1] + 1)
            row.append(least)
    return row[-1]


def _known(expected: Any) -> str:
    return f"{expected[0]:g} to {expected[1]:g}" if isinstance(expected, tuple) else str(expected)


def _one_of(expected: Any) -> str:
    """Return the first of several words, the middle of a range, or what is expected itself."""
    if not isinstance(expected, tuple):
        return str(expected)
    return expected[0] if isinstance(expected[0], str) else str(sum(expected) / 2)


def read_question(source: str) -> Question | None:
    """Return the question that a cell asks, from its text; None if it asks none.

    Raises CourseError if an argument is no plain value, or the question cannot be answered.
    """
    if "ask(" not in source:
        return None
    try:
        statements = parsed(source).body
    except SyntaxError:
        return None
    for statement in statements:
        match statement:
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="ask"), args=[ast.Constant(value=str(name))]) as call
            ):
                return question_of(name, _arguments(name, call))
    return None


def _arguments(name: str, call: ast.Call) -> dict[str, Any]:
    try:
        return {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except ValueError:
        raise CourseError(
            f"The question {name!r} has an argument that is computed: write texts and numbers."
        ) from None


def question_of(name: str, arguments: Mapping[str, Any]) -> Question:
    """Return the question of a call of `ask`: what is no option is a choice."""
    options = {each: arguments[each] for each in ("several", "shuffle", *KEY) if each in arguments}
    choices = {each: str(text) for each, text in arguments.items() if each not in options}
    return Question(name, choices, **options)


def read_answers(content: bytes | None, cells: Sequence[str] = ()) -> dict[str, str]:
    """Return the answers in the bytes of an answers file, and those typed in cells where it has none."""
    answers = {name: answer for cell in cells for _, name, _, answer in TYPED.findall(cell)}
    if content is not None and len(content) <= LARGEST_ANSWERS:
        with suppress(ValueError, RecursionError, AttributeError):
            kept = json.loads(content).items()
            answers |= {name: answer for name, answer in kept if isinstance(answer, str)}
    return answers
