"""Answers that keep something from one call to the next, or change what they are handed, lose points."""

import numpy as np
import pandas as pd
import pytest
import torch
from judged_answers import by_shape, exercise_of, judged, kinds
from torch_exercise import Exercise as TorchExercise

from nbjudge.authoring import Exercise, case, made_by
from nbjudge.course.course import Course
from nbjudge.errors import CourseError
from nbjudge.judge.changed_cases import changed_values
from nbjudge.torch import build


def of_calls(name, *groups, **more):
    """An exercise with one group for each list of arguments of its calls."""
    return exercise_of(
        name, *(lambda draw, group=group: [case(*args) for args in group] for group in groups), **more
    )


def numbers(*values):
    """The arguments of calls with one number each."""
    return [(np.array([value]),) for value in values]


def total(x, weights=None):
    return (x if weights is None else x * weights).sum()


def is_positive(form):
    return lambda x: form(x[0] > 0), lambda x: form(0 < x[0] < 2)


POSITIVE = of_calls("is_positive", numbers(1.2, -1.2), numbers(3.0, 4.0), retest_factor=2.0)
WRONG = {
    "right by luck": (
        of_calls("doubled", numbers(1.0), numbers(3.0)),
        lambda x: 2 * x,
        lambda x: 2 * x if x[0] >= 2 else x,
        ["factor", "right_by_chance"],
    ),
    "a constant that is right by luck": (
        of_calls("is_large", numbers(1.5, 1.6, 1.7), numbers(0.1, 0.2)),
        lambda x: bool(x[0] > 1),
        lambda x: True,
        ["always_the_same"],
    ),
    # Of two possible values nearly every call has an earlier one like it.
    "a wrong decision": (POSITIVE, *is_positive(bool), ["value", "right_by_chance"]),
    "wrong decisions": (
        POSITIVE,
        *is_positive(lambda decision: np.array([decision, True])),
        ["other_case", "right_by_chance"],
    ),
    "wrong without optional arguments": (
        of_calls("total", [(np.array([1.0, 2.0]), np.array([3.0, 4.0]))]),
        total,
        lambda x, weights=None: x.mean() if weights is None else total(x, weights),
        ["wrong_without_optional"],
    ),
}


@pytest.mark.parametrize(("exercise", "right", "answer", "found"), WRONG.values(), ids=WRONG)
def test_what_keeps_nothing_is_not_called_kept(exercise, right, answer, found):
    assert judged(exercise, right, right).findings == ()  # the control
    verdict = judged(exercise, right, answer)
    assert verdict.points == 0 and kinds(verdict) == found


@pytest.mark.parametrize(("accepts_any_order", "points"), [(True, 0), (False, 1)])
def test_whole_numbers_move_if_the_reference_agrees(accepts_any_order, points):
    def tripled(x):
        if x[0] and not accepts_any_order:
            raise ValueError("the numbers begin with 0")
        return 3 * x

    exercise = of_calls("tripled", [(np.arange(4),)])
    assert judged(exercise, tripled, by_shape(lambda x: 3 * x)).points == points
    assert judged(exercise, tripled, tripled).points == 1  # the control
    # Numbers that cannot come up are not asked.
    exercise = of_calls("root", [(np.array([1.0, 4.0]),)], retest_factor=2.0)
    assert judged(exercise, np.sqrt, lambda x: np.sqrt(np.maximum(x, 1.0))).points == 1


WORDS = {"cat": 2, "dog": 3, "sat": 5, "ran": 7, "the": 11}


def places_of_words(text):
    return [WORDS[word] * place for place, word in enumerate(text.split())]


def words_of(texts):
    return [WORDS[text] for text in texts]


VALUES_IN_ONE_CASE = {
    "a mask with different rows": (lambda x: x.sum(axis=-1), np.tri(4, dtype=bool)),
    "a mask with one row": (lambda x: x.sum(axis=-1), np.array([[True, True, False]])),
    "a mask that hides nothing": (lambda x: x.any(axis=-2), np.ones((3, 4), dtype=bool)),
    "an array of texts": (words_of, np.array(["cat", "dog"])),
    "a text": (places_of_words, "the cat sat"),
    "a text whose order does not matter": (lambda x: sum(map(len, x.split())), "three mice ran"),
    "a list of texts": (words_of, ["the", "dog", "ran"]),
    "a list of whole numbers": (sum, [3, 1, 7]),
    "a list of fractions": (sum, [0.5, 1.25]),
    "a list of flags": (sum, [True, True, False]),
    "a list of lists": (lambda x: [sum(each) for each in x], [[3, 1, 7], [2, 9, 4]]),
}


def kept_forever(right, key=lambda *args: None):
    results = {}
    return lambda *args: results.setdefault(key(*args), right(*args))


@pytest.mark.parametrize(("right", "value"), VALUES_IN_ONE_CASE.values(), ids=VALUES_IN_ONE_CASE)
def test_a_kept_first_result_is_found(right, value):
    exercise = of_calls("tallied", [(value,)])
    verdict = judged(exercise, right, kept_forever(right))
    assert verdict.points == 0 and kinds(verdict) == ["keeps_state"]
    assert judged(exercise, right, right).points == 1  # the control


def test_a_word_becomes_that_of_another_case():
    def chosen(numbers, choice):
        return {"sum": sum, "largest": max}[choice](numbers)

    exercise = of_calls("chosen", [([4, 9], "sum"), ([4, 9, 1], "largest")])
    by_length = kept_forever(chosen, key=lambda numbers, _: len(numbers))
    assert [judged(exercise, chosen, answer).points for answer in (by_length, chosen)] == [0, 1]


def test_changed_values_keep_their_form():
    """They keep what an exercise may rely on."""
    padding = np.array([[True, True, False], [True, False, False], [True, True, True]])
    ordered, order, text = [1, 2, 5, 9], [2, 0, 1, 3], "the cat sat"
    values = (padding, padding[:1], ordered, order, ["a", "b"], text, 7, True)
    for changed in changed_values(values, 0.5):
        masks, (ordered_again, order_again, names, text_again, number, flag) = changed[:2], changed[2:]
        for mask, before in zip(masks, values, strict=False):
            assert mask.shape == before.shape and mask[..., 0].all()
            assert (np.diff(mask.astype(int)) <= 0).all()  # padding is at the end
        assert ordered_again == sorted(set(ordered_again)) and len(ordered_again) == 4
        assert min(ordered_again) == 1 and max(ordered_again) == 9
        assert sorted(order_again) == [0, 1, 2, 3]
        assert names == ["a", "b"] and (number, flag) == (7, True)
        assert set(text_again.split()) <= set(text.split()) and len(text_again.split()) == 3


def test_a_mask_stays_if_moving_it_shows_nan():
    def sums(x, mask):
        return np.where(mask, x, 0.0).sum(axis=-1)

    mask = np.array([[True, False], [True, True]])
    exercise = of_calls("sums", [(np.array([[1.0, np.nan], [2.0, 3.0]]), mask)])
    assert judged(exercise, sums, lambda x, mask: np.nan_to_num(np.where(mask, x, 0)).sum(-1)).points == 1
    assert judged(exercise, sums, kept_forever(sums)).points == 0


# ---- what is handed to an answer stays as it was -------------------------------------------------


def counter(words):
    class Counter:
        def __init__(self, known):
            self.known, self.calls = {"numbers": known}, 0
            self.mean = torch.zeros(2)

        def count(self, word):
            self.calls += 1
            return self.known["numbers"].get(word, 0)

    return Counter(words)


def words(draw):
    known = {"a": draw.integer(20, 90), "b": draw.integer(20, 90)}
    yield case(made_by(counter, words=known), ["a", "b", "c"], {"weights": [1, 2, 3]})


def tally(counter, words, options):
    return sum(counter.count(word) * weight for word, weight in zip(words, options["weights"], strict=True))


def small_model():
    model = torch.nn.Linear(3, 5, bias=False)
    torch.nn.init.eye_(model.weight)
    return model


def outputs(model, x):
    return model(x).detach()


def in_double(model, *_):
    for parameter in model.parameters():
        parameter.data = parameter.data.double()


TALLIED = exercise_of("total", words, changed_arguments="all groups"), tally
CALLED = (
    exercise_of(
        "outputs",
        lambda draw: [case(made_by(small_model), draw.normal(7, 3))],
        base=TorchExercise,
        changed_arguments="all groups",
    ),
    outputs,
)
CHANGES = {
    "a list": (TALLIED, lambda _, words, options: words.sort(reverse=True), "its input `words`"),
    "a list that is emptied": (TALLIED, lambda _, words, options: words.clear(), "its input `words`"),
    "a dict": (TALLIED, lambda _, words, options: options.update(seen=1), "its input `options`"),
    "a list in a dict": (TALLIED, lambda _, words, options: options["weights"].pop(), "its input `options`"),
    "an attribute": (TALLIED, lambda counter, *_: setattr(counter, "name", 3), "`counter`"),
    "what an object knows": (
        TALLIED,
        lambda counter, *_: counter.known["numbers"].update(a=1),
        "`known.numbers.a` of `counter`",
    ),
    "an object's tensor": (TALLIED, lambda counter, *_: counter.mean.add_(1), "`mean` of `counter`"),
    "a model's weights": (
        CALLED,
        lambda model, _: model.weight.data.add_(0.5),
        "of `model`: leave what belongs",
    ),
    "a model's gradients": (CALLED, lambda model, _: model.weight.sum().backward(), "of `model`: leave what"),
    "a model's dtype": (CALLED, in_double, "of `model`: leave what belongs to the caller as it was"),
}


@pytest.mark.parametrize(("exercise_and_right", "change", "named"), CHANGES.values(), ids=CHANGES)
def test_changed_arguments_cost_the_points(exercise_and_right, change, named):
    """What the right answer changes may be changed."""
    exercise, right = exercise_and_right

    def changes(*args):
        result = right(*args)
        change(*args)
        return result

    assert judged(exercise, right, right).points == 1
    verdict = judged(exercise, right, changes)
    assert verdict.points == 0 and named in verdict.message


def tables(setting):
    """An exercise that is given a table, in three groups of which one only refuses."""
    exercise = Exercise("shares", results=("shares",), changed_arguments=setting)
    for name, points, rest in (("one table", 2, [3.1]), ("more rows", 3, [2.5, 4.1])):
        exercise.group(name, points=points)(
            lambda draw, rest=rest: [case(pd.DataFrame({"size": [draw.integer(20, 40) * 0.7, *rest]}))]
        )
    empty = pd.DataFrame({"size": [1.5] * 0})
    exercise.group("no row", points=1)(lambda draw: [case(empty, refuses=(0,))])
    return exercise


def shares(table):
    if not len(table):
        raise ValueError("a table of 0 rows")
    return list(table["size"] / table["size"].sum())


def adds_a_column(table):
    table["share"] = shares(table)
    return list(table["share"])


def in_longer_tables(otherwise):
    return lambda table: (adds_a_column if len(table) != 2 and len(table) else otherwise)(table)


@pytest.mark.parametrize(
    ("setting", "answer", "lost", "says"),
    [
        *(
            (each, lambda t: adds_a_column(t.copy()), [], "")
            for each in (None, "remark", "one group", "all groups")
        ),
        (None, adds_a_column, [], "costs no points"),
        ("remark", adds_a_column, [], "costs no points"),
        # One group is lost, the first that is right and shows the change.
        ("one group", adds_a_column, ["one table"], "changed arguments cost one group"),
        ("one group", in_longer_tables(shares), ["more rows"], "changed arguments cost one group"),
        ("one group", in_longer_tables(lambda t: [0.0]), ["one table", "more rows"], "cost one group"),
        ("all groups", adds_a_column, ["one table", "more rows", "no row"], "changes its input `table`"),
    ],
)
def test_what_a_change_costs_is_a_setting(setting, answer, lost, says):
    """A copy may be changed."""
    verdict = judged(tables(setting), shares, answer, seed=5)
    assert [group.name for group in verdict.groups if not group.is_earned][: len(lost) or 3] == lost
    text = " ".join([verdict.message, *(finding.sentence for finding in verdict.findings)])
    assert says in text and bool(says) == ("changes its input `table`" in text or "changed arg" in text)


def test_wrong_values_come_before_a_changed_argument():
    """A change in a later call costs one group."""
    verdict = judged(tables("all groups"), shares, lambda table: [2.0, *adds_a_column(table)[1:]], seed=5)
    assert verdict.points == 0 and "changes" not in verdict.message
    calls = []

    def answer(table):
        calls.append(len(table))
        return adds_a_column(table) if len(calls) > 3 else shares(table)

    verdict = judged(tables("one group"), shares, answer, seed=5)
    assert verdict.points == 4 and "leaves its input alone at first" in verdict.message


def test_second_result_has_arguments_of_its_own():
    doubles, in_place = (
        type("Layer", (torch.nn.Module,), {"forward": forward})
        for forward in (lambda self, x: 2 * x, lambda self, x: x.mul_(2))
    )
    twice = build(look=("result", "result again"))
    layer = exercise_of(
        "layer",
        lambda draw: [case(draw.normal(7), build=twice)],
        lambda draw: [case(draw.normal(7), build=twice, gradients=True)],
        base=TorchExercise,
        changed_arguments="one group",
    )
    verdict = judged(layer, doubles, in_place)
    assert [group.is_earned for group in verdict.groups] == [False, True]


def test_unknown_setting_names_the_allowed_ones(tmp_path):
    with pytest.raises(CourseError, match="'remark', 'one group', 'all groups'"):
        Exercise("shares", results=("shares",), changed_arguments="never")
    (tmp_path / "nbgrader_config.py").write_text('c.RunAndJudge.changed_arguments = "some"')
    with pytest.raises(CourseError, match="'remark', 'one group', 'all groups'"):
        _ = Course(tmp_path).changed_arguments
