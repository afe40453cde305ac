"""Exercises whose answers are tables, or classes of one's own: asked, compared and named as tensors are."""

from __future__ import annotations

import base64
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import nbformat
import numpy as np
import pandas as pd
import pytest

from nbjudge.authoring import Exercise, Step, build, case
from nbjudge.authoring.cases import as_kernel_code
from nbjudge.calls import read_reply
from nbjudge.errors import CourseError
from nbjudge.judge.scoring import judge_exercise
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.probe import respond
from nbjudge.settings import Limits
from nbjudge.values.obstacles import why_it_cannot_travel
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
    "right": (mean_by_city, 3, "Right in every case."),
    "right in another way": (by_masks, 3, "Right in every case."),
    "in another order": (as_they_come, 1, "sort them by their names"),
    "missing as zero": (missing_as_zero, 2, "leave them out of the mean"),
    "not allowed": (lambda table: table.groupby("city")[["degrees"]].mean(), 0, "a ready-made grouping"),
    "a column": (lambda table: mean_by_city(table)["degrees"], 0, "a Series of .*, expected a DataFrame of"),
    "another name": (
        lambda t: mean_by_city(t).rename(columns={"degrees": "mean"}),
        0,
        "lacks \\['degrees'\\]",
    ),
    "no names": (lambda t: mean_by_city(t).reset_index(), 0, "has \\['city'\\] too many"),
    "whole numbers": (lambda t: mean_by_city(t).round(), 1, "column 'degrees' is .* in the row '.*', and"),
    "a row less": (lambda t: mean_by_city(t).iloc[1:], 0, "rows, expected"),
    "rounded away": (lambda t: mean_by_city(t).astype("float32"), 0, "dtype float32, expected float64"),
}


def by_text(answer):
    """As to a kernel."""

    def put(name, calls, watched_calls):
        request = pack({"target": name, "calls": calls, "watched_calls": watched_calls})
        return read_reply(unpack(respond.respond(request, {name: answer})), len(calls))

    return put


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("answer", "points", "says"), ANSWERS.values(), ids=ANSWERS)
def test_a_table_is_judged(answer, points, says, seed):
    verdict = judge_exercise(means, mean_by_city, by_text(answer), seed)
    assert verdict.points == points
    assert re.search(says, verdict.message), verdict.message


counter = Exercise("Counter", results=("count",))


@counter.group("adding up", points=1)
def adding_up(draw):
    start, numbers = draw.integer(10, 99), draw.integers(100, 900, *draw.sizes(1))
    yield case(numbers, build=build(start, look=("add", "total", "attributes")))


class Counter:
    def __init__(self, start):
        self.sum = start

    def add(self, numbers):
        self.sum += int(numbers.sum())

    def total(self, numbers):
        return self.sum


class StartsAtZero(Counter):
    def __init__(self, start):
        self.sum = 0


def test_a_class_is_made_and_its_methods_are_called():
    assert judge_exercise(counter, Counter, by_text(Counter), 4).points == 1
    verdict = judge_exercise(counter, Counter, by_text(StartsAtZero), 4)
    assert verdict.points == 0 and re.match(r"`total` is \d+, and \d+ is right", verdict.message)


def test_a_method_without_a_return_is_not_called_blind_to_its_arguments():
    two_calls = Exercise("Counter", results=("count",))

    @two_calls.group("the total", points=1)
    def the_total(draw):
        for start in draw.sizes(2):
            yield case(draw.integers(100, 900, 5), build=build(start, look=("total",)))

    class WithoutReturn(Counter):
        def total(self, numbers):
            pass

    verdict = judge_exercise(two_calls, Counter, by_text(WithoutReturn), 4)
    assert re.match(
        r"`total` returns nothing, expected an int\. Is the `return` line missing\?", verdict.message
    )


def test_an_empty_dict_is_told_by_what_is_missing():
    totals = Exercise("totals", results=("totals",))

    @totals.group("sums", points=1)
    def sums(draw):
        for size in draw.sizes(2):
            yield case(draw.integers(100, 900, size))

    verdict = judge_exercise(totals, lambda x: {"sum": int(x.sum())}, by_text(lambda x: {}), 4)
    assert verdict.message.startswith("`sum` is missing from what `totals` gives.")


def test_keys_of_a_dict_are_compared_as_what_they_are():
    counts = Exercise("count", results=("counts",))

    @counts.group("numbers and pairs", points=1)
    def numbers(draw):
        drawn = draw.integers(0, 4, 20).tolist()
        yield case([*drawn, *zip(drawn, drawn[1:], strict=False)])

    @counts.group("numbers in a dict that is handed over", points=1)
    def handed_over(draw):
        yield case({key: draw.integer(0, 9) for key in range(5)})

    def count(things):
        return {key: things[key] if isinstance(things, dict) else things.count(key) for key in things}

    def with_texts(things):
        return {str(key): entry for key, entry in count(things).items()}

    assert judge_exercise(counts, count, by_text(count), 4).points == 2
    numpy_keys = by_text(
        lambda given: {np.int64(k) if k in range(9) else k: v for k, v in count(given).items()}
    )
    assert judge_exercise(counts, count, numpy_keys, 4).points == 2
    verdict = judge_exercise(counts, count, by_text(with_texts), 4)
    assert verdict.points == 0
    assert re.match(r"The key '\d' in what `count` gives is a string, expected an int\.", verdict.message)


def exercise_of(*given):
    exercise = Exercise("answer", results=("result",))

    @exercise.group("each", points=1)
    def each(draw):
        yield from (case(value) for value in given)

    return exercise


@pytest.mark.parametrize(
    ("reference", "right", "wrong", "sentence"),
    [
        (lambda x: set(x), lambda x: {np.int64(n) for n in x}, lambda x: set(x[1:]), "and {3, 7} is right"),
        (lambda x: set(x), lambda x: set(x), lambda x: list(x), "returns a list of 2, expected a set"),
        (lambda x: frozenset(x), lambda x: frozenset(x), lambda x: set(x), "a set, expected a frozenset"),
        (
            lambda x: complex(*x),
            lambda x: np.complex128(complex(*x)),
            lambda x: complex(*x[::-1]),
            "(3+7j) is",
        ),
        (
            lambda x: complex(*x),
            lambda x: complex(*x) * (1 + 1e-9),
            lambda x: x[1],
            "expected a complex number",
        ),
        (lambda x: bytes(x), lambda x: bytearray(x) and bytes(x), lambda x: str(x), "expected a bytes"),
    ],
)
def test_sets_complex_numbers_and_bytes_are_compared(reference, right, wrong, sentence):
    exercise = exercise_of([3, 7], [3, 8])
    assert judge_exercise(exercise, reference, by_text(right), 4).points == 1
    verdict = judge_exercise(exercise, reference, by_text(wrong), 4)
    assert verdict.points == 0 and sentence in verdict.message


def test_a_set_that_is_handed_over_is_the_calls_own():
    def grows(numbers):
        numbers.add(99)
        return len(numbers) - 1

    exercise = exercise_of({3, 7}, {3, 7, 8})
    assert judge_exercise(exercise, len, by_text(len), 4).findings == ()
    verdict = judge_exercise(exercise, len, by_text(grows), 4)
    assert "This is a remark" in verdict.findings[-1].sentence


@pytest.mark.parametrize("answer", [range, lambda n: (i for i in range(n)), lambda n: [0] * 20_000])
def test_a_result_that_cannot_travel_is_said_to_the_author(answer):
    with pytest.raises(
        CourseError, match="Case 1 of the group “each” of `answer` is answered by the solution"
    ):
        judge_exercise(exercise_of(3), answer, by_text(answer), 4)


LONG, MANY = "x" * 25_000, list(range(9_000))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([LONG], "Case 1 of the group “each” of `answer` has a text of 25,000 characters: fix"),
        ([{LONG: 1}], "has a text of 25,000 characters"),
        ([pd.Series([LONG])], "has a text of 25,000 characters"),
        ([np.array([LONG])], "has an array of more or longer texts than are read"),
        ([10**4_300], "has a whole number of more than 4,300 digits"),
        ([MANY] * 25, "values in lists and dicts, and a message carries 150,000"),
        ([[LONG[:20_000]] * 300], "characters of lists, dicts and texts"),
        ([np.zeros(2**22)] * 2, "bytes of arrays"),
        ([[[[[[[]]]]]]], "The cases of the group “each” of `answer` hold what is nested too deeply"),
    ],
)
def test_arguments_that_would_be_cut_are_said_to_the_author(given, sentence):
    """What would arrive as something else, or not at all, is an error before a student loses points."""
    with pytest.raises(CourseError, match=re.escape(sentence)):
        judge_exercise(exercise_of(*given), lambda _: 1, by_text(lambda _: 1), 4)


@pytest.mark.parametrize("given", [[LONG], [10**4_300], [MANY] * 25, [np.zeros(2**22)] * 2])
def test_solutions_that_would_be_cut_are_said(given):
    """The solution's answers, too, arrive as they are, or the author is told."""
    with pytest.raises(CourseError, match="(is|are) answered"):
        judge_exercise(exercise_of(*range(len(given))), lambda at: given[at], by_text(len), 4)


@pytest.mark.parametrize(
    "given",
    [[LONG[:20_000]], [10**4_300 - 1, -(10**4_300) + 1], [MANY] * 16, [{("a", 1): {LONG[:20_000]}}]],
)
def test_what_may_travel_survives_the_round_trip(given):
    """The largest that the author may use arrives as it is, in the request and in the reply."""
    exercise = exercise_of(*given)

    def with_a_number(value):
        return [0.25, value]

    assert judge_exercise(exercise, with_a_number, by_text(with_a_number), 4).findings == ()


def test_a_long_text_that_is_returned_is_not_cut():
    """An answer whose beginning is right is wrong, and the text is no reason to lose the other answers."""
    verdict = judge_exercise(exercise_of(20_000), lambda n: "x" * n, by_text(lambda n: "x" * n + "y"), 4)
    assert verdict.points == 0 and "a text of 20,001 characters" in f"{verdict.findings}"
    assert unpack(pack([10**5_000, 3]))[1] == 3


def test_keys_that_cannot_travel_are_said_to_the_author():
    assert "a dict with a key that is neither" in why_it_cannot_travel([{frozenset(): 1}])
    assert "a dict with a key that is neither" in why_it_cannot_travel({"given": {(1, (frozenset(),)): 1}})
    assert not why_it_cannot_travel({None: 1, 2.5: 1, True: 1, np.int64(3): 1, ("a", (1, None)): 1})


@pytest.mark.parametrize("keys", [range(1, 10_000), [(0, number) for number in range(1, 10_000)]])
def test_keys_of_one_hash_are_refused_before_they_are_looked_up(keys):
    usual = dict.fromkeys(keys, 0)
    assert unpack(pack(usual)) == usual
    # Numbers apart by this prime have one hash: 10,000 of them in a dict take 50 million comparisons.
    colliding = [[sys.hash_info.modulus * key if isinstance(key, int) else key, 0] for key in keys]
    if isinstance(keys, list):
        colliding = [[{"tuple": [0, sys.hash_info.modulus * key[1]]}, 0] for key in keys]
    tree = base64.b64encode(json.dumps({"dict": colliding}).encode()).decode()
    with pytest.raises(ValueError, match="keys that take long to look up"):
        unpack(f"{tree} ")


def test_a_key_of_a_class_of_ones_own_is_text_and_loses_no_other_answer():
    class Own(int):
        pass

    assert unpack(pack([{Own(3): 1}, 2])) == [{"3": 1}, 2]


def test_a_key_that_is_no_key_is_refused():
    tree = base64.b64encode(json.dumps({"dict": [[{"list": []}, 0]]}).encode()).decode()
    with pytest.raises(ValueError, match="no key of a dict"):
        unpack(f"{tree} ")


def test_parts_that_never_differ_are_told_by_name():
    """They are no answer that ignores its arguments."""
    parts = Exercise("Counter", results=("count",))

    class Labelled(Counter):
        def __init__(self, start, label=None):
            super().__init__(start)
            if label is not None:
                self.label = label

    class AlwaysLabelled(Labelled):
        def __init__(self, start, label="sum"):
            super().__init__(start, label)

    @parts.group("the attributes", points=1)
    def the_attributes(draw):
        yield case(build=build(3, look=("attributes",)))
        yield case(build=build(3, "count", look=("attributes",)))

    verdict = judge_exercise(parts, Labelled, by_text(AlwaysLabelled), 4)
    assert "`Counter` have `label` too many" in verdict.message


@pytest.mark.integration
def test_a_table_crosses_the_sandbox(tmp_path):
    source = (
        "import pandas as pd\ndef mean_by_city(table):\n"
        "    rows = {city: table.degrees[table.city == city].mean() for city in sorted(set(table.city))}\n"
        "    means = pd.DataFrame({'degrees': rows.values()}, index=pd.Index(rows, name='city'))\n"
        "    return means.sort_index(ascending=False)"
    )
    with open_kernel(tmp_path, KernelEnvironment(limits=Limits(cell=60), modules=("pandas",))) as kernel:
        assert kernel.run_cell(nbformat.v4.new_code_cell(source)) == "done"
        verdict = judge_exercise(means, mean_by_city, kernel.call, 1)
    assert "rows in another order" in verdict.message


def absolute(answer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda number: abs(answer(number))


def test_annotations_of_code_for_a_kernel_are_not_evaluated():
    assert make(as_kernel_code(absolute))(int)("-3") == 3
