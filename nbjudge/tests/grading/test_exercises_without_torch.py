"""Exercises whose answers are tables, or classes of one's own: asked, compared and named as tensors are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from judged_answers import exercise_of, judged_as_text, kinds

from nbjudge.authoring import Exercise, Step, build, case
from nbjudge.authoring.cases import as_kernel_code, why_it_cannot_travel
from nbjudge.errors import CourseError
from nbjudge.values.packing import make, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

GROUPING = Step("a ready-made grouping", {"pandas.core.frame": ("DataFrame.groupby",)})
means = Exercise("mean_by_city", results=("means",), not_allowed=(GROUPING,))


@means.group("cities", points=2)
def cities(draw):
    for size in draw.sizes(2):
        named = [("Bern", "Lugano", "Genf")[draw.integer(0, 2)] for _ in range(size)]
        yield case(pd.DataFrame({"city": named, "degrees": draw.normal(size)}))


@means.group("a city without measurements", points=1)
def gaps(draw):
    yield case(pd.DataFrame({"city": ["Bern", "Bern", "Chur"], "degrees": [1.0, np.nan, np.nan]}))


def mean_by_city(table):
    rows = {city: table.loc[table["city"] == city, "degrees"].mean() for city in sorted(set(table["city"]))}
    return pd.DataFrame({"degrees": rows.values()}, index=pd.Index(rows, name="city"))


@means.mistake("The cities come in the order in which they were met: sort them by their names.")
def as_they_come(table):
    rows = {city: table.loc[table["city"] == city, "degrees"].mean() for city in dict.fromkeys(table["city"])}
    return pd.DataFrame({"degrees": rows.values()}, index=pd.Index(rows, name="city"))


@means.mistake("Missing measurements count as 0: leave them out of the mean.")
def missing_as_zero(table):
    return mean_by_city(table.fillna({"degrees": 0.0}))


@means.accepted_alternative
def by_masks(table):
    cities, at = np.unique(table["city"].to_numpy(dtype=str), return_inverse=True)
    means = [table["degrees"][at == place].mean() for place in range(len(cities))]
    return pd.DataFrame({"degrees": means}, index=pd.Index(cities, name="city", dtype="str"))


ANSWERS = {
    "right": (mean_by_city, 3, None),
    "right in another way": (by_masks, 3, None),
    "in another order": (as_they_come, 1, "as_they_come"),
    "missing as zero": (missing_as_zero, 2, "missing_as_zero"),
    "not allowed": (lambda table: table.groupby("city")[["degrees"]].mean(), 0, "not_allowed"),
    "a column": (lambda table: mean_by_city(table)["degrees"], 0, "type"),
    "another name": (
        lambda t: mean_by_city(t).rename(columns={"degrees": "mean"}),
        0,
        r"lacks \['degrees'\] and has \['mean'\] too many",
    ),
    "no names": (lambda t: mean_by_city(t).reset_index(), 0, r"has \['city'\] too many"),
    "whole numbers": (lambda t: mean_by_city(t).round(), 1, "column 'degrees' is .* in the row '.*', and"),
    "a row less": (lambda t: mean_by_city(t).iloc[1:], 0, "rows, expected"),
    "rounded away": (lambda t: mean_by_city(t).astype("float32"), 0, "dtype float32, expected float64"),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("answer", "points", "says"), ANSWERS.values(), ids=ANSWERS)
def test_a_table_is_judged(answer, points, says, seed):
    """`says` is a mistake, a kind, or what the kind of value says of the difference."""
    verdict = judged_as_text(means, mean_by_city, answer, seed)
    assert verdict.points == points
    first = next(iter(verdict.findings), None)
    assert (first is None) == (says is None)
    if first is not None and says not in (first.mistake, first.kind):
        assert first.kind == "table" and re.search(says, first.sentence), first.sentence


class Counter:
    def __init__(self, start):
        self.sum = start

    def add(self, numbers):
        self.sum += int(numbers.sum())

    def total(self, numbers):
        return self.sum


class StartsAtZero(Counter):
    def __init__(self, start):
        super().__init__(0)


class WithoutReturn(Counter):
    def total(self, numbers):
        pass


class Labelled(Counter):
    default = None

    def __init__(self, start, label=None):
        super().__init__(start)
        if label or self.default:
            self.label = label or self.default


class AlwaysLabelled(Labelled):
    default = "sum"


TOTALS = [build(at, look=("total",)) for at in (3, 4)]
LABELS = [build(3, *label, look=("attributes",)) for label in ((), ("count",))]


@pytest.mark.parametrize(
    ("reference", "answer", "cases", "kind", "fact"),
    [
        (Counter, StartsAtZero, [build(20, look=("add", "total", "attributes"))], "value", "`total`"),
        (Counter, WithoutReturn, TOTALS, "nothing_returned", "`total`"),
        (Labelled, AlwaysLabelled, LABELS, "parts_names", "have `label` too many"),
    ],
)
def test_a_class_is_made_and_its_methods_are_called(reference, answer, cases, kind, fact):
    """Methods without a return, and parts that never differ, are no answers that ignore their arguments."""
    counter = exercise_of(
        "Counter", lambda draw: [case(draw.integers(100, 900, 5), build=each) for each in cases]
    )
    assert judged_as_text(counter, reference, reference).points == 1
    verdict = judged_as_text(counter, reference, answer)
    assert verdict.points == 0 and kinds(verdict) == [kind] and fact in verdict.findings[0].facts


def given_to(*values):
    """An exercise whose answer is given each of these values."""
    return exercise_of("answer", lambda draw: [case(value) for value in values])


def count(numbers):
    """How often each number comes, and each pair."""
    things = [*numbers, *zip(numbers, numbers[1:], strict=False)]
    return {key: things.count(key) for key in things}


@pytest.mark.parametrize(
    ("reference", "right", "wrong", "kind"),
    [
        (
            count,
            lambda x: {np.int64(key) if key in x else key: entry for key, entry in count(x).items()},
            lambda x: {str(key): entry for key, entry in count(x).items()},
            "key_type",
        ),
        (count, count, lambda x: {}, "key_missing"),
        (lambda x: set(x), lambda x: {np.int64(n) for n in x}, lambda x: set(x[1:]), "value"),
        (lambda x: set(x), lambda x: set(x), lambda x: list(x), "type"),
        (lambda x: frozenset(x), lambda x: frozenset(x), lambda x: set(x), "type"),
        (lambda x: complex(*x), lambda x: np.complex128(complex(*x)), lambda x: complex(*x[::-1]), "value"),
        (lambda x: complex(*x), lambda x: complex(*x) * (1 + 1e-9), lambda x: x[1], "type"),
        (lambda x: bytes(x), lambda x: bytearray(x) and bytes(x), lambda x: str(x), "type"),
    ],
)
def test_dicts_sets_complex_and_bytes_are_compared(reference, right, wrong, kind):
    exercise = given_to([3, 7], [3, 8])
    assert judged_as_text(exercise, reference, right).points == 1
    verdict = judged_as_text(exercise, reference, wrong)
    assert verdict.points == 0 and kinds(verdict)[0] == kind


def test_a_set_that_is_handed_over_is_the_calls_own():
    def grows(numbers):
        numbers.add(99)
        return len(numbers) - 1

    exercise = given_to({3, 7}, {3, 7, 8})
    assert judged_as_text(exercise, len, len).findings == ()
    assert kinds(judged_as_text(exercise, len, grows)) == ["changes_parts"]


LONG, MANY = "x" * 25_000, list(range(9_000))
WOULD_BE_CUT = ([LONG], [10**4_300], [MANY] * 25, [np.zeros(2**22)] * 2)
ANSWERED = "Case 1 of the group “group 0” of `answer` is answered by the solution"


@pytest.mark.parametrize(
    ("given", "solution", "sentence"),
    [
        *(([3], each, ANSWERED) for each in (range, lambda n: (i for i in range(n)), lambda n: [0] * 20_000)),
        *(([*range(len(results))], results.__getitem__, " answered ") for results in WOULD_BE_CUT),
        ([LONG], id, "Case 1 of the group “group 0” of `answer` has a text of 25,000 characters: fix"),
        ([{LONG: 1}], id, "has a text of 25,000 characters"),
        ([pd.Series([LONG])], id, "has a text of 25,000 characters"),
        ([np.array([LONG])], id, "has an array of more or longer texts than are read"),
        ([10**4_300], id, "has a whole number of more than 4,300 digits"),
        ([MANY] * 25, id, "values in lists and dicts, and a message carries 150,000"),
        ([[LONG[:20_000]] * 300], id, "characters of lists, dicts and texts"),
        ([np.zeros(2**22)] * 2, id, "bytes of arrays"),
        ([[[[[[[]]]]]]], id, "The cases of the group “group 0” of `answer` hold what is nested too deeply"),
    ],
)
def test_what_would_be_cut_is_refused(given, solution, sentence):
    """What would arrive as something else, or not at all, is an error before a student loses points."""
    with pytest.raises(CourseError) as error:
        judged_as_text(given_to(*given), solution, solution)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "given",
    [[LONG[:20_000]], [10**4_300 - 1, -(10**4_300) + 1], [MANY] * 16, [{("a", 1): {LONG[:20_000]}}]],
)
def test_what_may_travel_survives_the_round_trip(given):
    """The largest that the author may use arrives as it is, in the request and in the reply."""
    exercise = given_to(*given)

    def with_a_number(value):
        return [0.25, value]

    assert judged_as_text(exercise, with_a_number, with_a_number).findings == ()


def test_a_long_text_that_is_returned_is_not_cut():
    """An answer whose beginning is right is wrong, and the text is no reason to lose the other answers."""
    verdict = judged_as_text(given_to(20_000), lambda n: "x" * n, lambda n: "x" * n + "y")
    assert verdict.points == 0 and "a text of 20,001 characters" in f"{verdict.findings}"
    assert unpack(pack([10**5_000, 3]))[1] == 3


def test_keys_that_cannot_travel_are_found():
    """A key of another class is text, and loses no other answer."""
    for value in ([{frozenset(): 1}], {"given": {(1, (frozenset(),)): 1}}):
        assert "a dict with a key that is neither" in why_it_cannot_travel(value)
    assert not why_it_cannot_travel({None: 1, 2.5: 1, True: 1, np.int64(3): 1, ("a", (1, None)): 1})
    assert unpack(pack([{type("Own", (int,), {})(3): 1}, 2])) == [{"3": 1}, 2]


def absolute(answer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda number: abs(answer(number))


def test_annotations_of_code_are_not_evaluated():
    assert make(as_kernel_code(absolute))(int)("-3") == 3
