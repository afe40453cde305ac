"""What is handed to an answer stays as it was (models, lists and dicts, too), and what a change costs."""

from __future__ import annotations

import pandas as pd
import pytest
import torch
from torch_exercise import Exercise

from nbjudge.authoring import case, made_by
from nbjudge.calls import caller_of
from nbjudge.course.course import Course
from nbjudge.errors import CourseError
from nbjudge.judge.scoring import judge_exercise
from nbjudge.torch import build


def verdict_on(exercise, reference, answer, seed=5):
    return judge_exercise(exercise, reference, caller_of(answer), seed)


def counter(words):
    class Counter:
        def __init__(self, known):
            self.known, self.calls = {"numbers": known}, 0
            self.mean = torch.zeros(2)

        def count(self, word):
            self.calls += 1
            return self.known["numbers"].get(word, 0)

    return Counter(words)


exercise = Exercise("total", results=("total",), changed_arguments="all groups")


@exercise.group("words", points=2)
def words(draw):
    known = {"a": draw.integer(20, 90), "b": draw.integer(20, 90)}
    yield case(made_by(counter, words=known), ["a", "b", "c"], {"weights": [1, 2, 3]})


def total(counter, words, options):
    return sum(counter.count(word) * weight for word, weight in zip(words, options["weights"], strict=True))


def after(change):
    def answer(counter, words, options):
        result = total(counter, words, options)
        change(counter, words, options)
        return result

    return answer


CHANGES = {
    "a list": (lambda counter, words, options: words.sort(reverse=True), "input `words`"),
    "a list that is emptied": (lambda counter, words, options: words.clear(), "input `words`"),
    "a dict": (lambda counter, words, options: options.update(seen=1), "input `options`"),
    "a list in a dict": (lambda counter, words, options: options["weights"].pop(), "input `options`"),
    "an attribute": (lambda counter, words, options: setattr(counter, "name", 3), "`counter`"),
    "what an object knows": (
        lambda counter, words, options: counter.known["numbers"].update(a=1),
        "`known.numbers.a` of `counter`",
    ),
    "an object's tensor": (lambda counter, words, options: counter.mean.add_(1), "`mean` of `counter`"),
}


@pytest.mark.parametrize(("change", "named"), CHANGES.values(), ids=CHANGES)
def test_changed_arguments_cost_the_points(change, named):
    """What the right answer changes may be changed."""
    assert verdict_on(exercise, total, after(lambda *_: None)).points == 2
    verdict = verdict_on(exercise, total, after(change))
    assert verdict.points == 0
    assert f"changes {'its ' if named.startswith('input') else ''}{named}" in verdict.message


def tables(setting):
    """An exercise that is given a table, in three groups of which one only refuses."""
    table_exercise = Exercise("shares", results=("shares",), changed_arguments=setting)

    @table_exercise.group("one table", points=2)
    def one(draw):
        yield case(pd.DataFrame({"size": [draw.integer(20, 40) * 0.7, 3.1]}))

    @table_exercise.group("more rows", points=3)
    def more(draw):
        yield case(pd.DataFrame({"size": [draw.integer(20, 40) * 0.7, 2.5, 4.1]}))

    @table_exercise.group("no row", points=1)
    def none(draw):
        yield case(pd.DataFrame({"size": [1.5] * 0}), refuses=(0,))

    return table_exercise


def shares(table):
    if not len(table):
        raise ValueError("a table of 0 rows")
    return list(table["size"] / table["size"].sum())


def adds_a_column(table):
    table["share"] = shares(table)
    return list(table["share"])


def adds_a_column_to_longer_tables(table):
    return adds_a_column(table) if len(table) > 2 else shares(table)


def is_wrong_in_short_tables(table):
    return [0.0] if len(table) == 2 else adds_a_column(table)


@pytest.mark.parametrize("setting", [None, "remark", "one group", "all groups"])
def test_a_copy_may_be_changed(setting):
    verdict = verdict_on(tables(setting), shares, lambda table: adds_a_column(table.copy()))
    assert verdict.points == 6 and not verdict.findings


@pytest.mark.parametrize("setting", [None, "remark"])
def test_changed_argument_is_a_remark_by_default(setting):
    verdict = verdict_on(tables(setting), shares, adds_a_column)
    assert verdict.points == 6
    assert "changes its input `table`" in verdict.message
    assert "costs no points" in verdict.message


@pytest.mark.parametrize(
    ("answer", "lost"),
    [
        (adds_a_column, ["one table"]),
        (adds_a_column_to_longer_tables, ["more rows"]),
        (is_wrong_in_short_tables, ["one table", "more rows", "no row"]),  # the last needs one of the others
    ],
)
def test_one_group_is_lost(answer, lost):
    """It is the first that is right and shows the change."""
    verdict = verdict_on(tables("one group"), shares, answer)
    assert [group.name for group in verdict.groups if not group.is_earned] == lost[:2]
    assert any("changed arguments cost one group" in each.sentence for each in verdict.findings)


def test_all_groups_that_show_the_change_are_lost():
    """Wrong values are spoken of before a changed argument."""
    verdict = verdict_on(tables("all groups"), shares, adds_a_column)
    assert verdict.points == 0 and "changes its input `table`" in verdict.message
    verdict = verdict_on(tables("all groups"), shares, lambda table: [2.0, *adds_a_column(table)[1:]])
    assert verdict.points == 0 and "changes" not in verdict.message


def test_change_in_a_later_call_costs_one_group():
    calls = []

    def answer(table):
        calls.append(len(table))
        return adds_a_column(table) if len(calls) > 3 else shares(table)

    verdict = verdict_on(tables("one group"), shares, answer)
    assert verdict.points == 4
    assert "leaves its input alone at first" in verdict.message


def test_second_result_has_arguments_of_its_own():
    class Doubles(torch.nn.Module):
        def forward(self, x):
            return 2 * x

    class InPlace(torch.nn.Module):
        def forward(self, x):
            return x.mul_(2)

    layer = Exercise("layer", results=("x",), changed_arguments="one group")
    build_call = build(look=("result", "result again"))
    layer.group("twice", points=1)(lambda draw: [case(draw.normal(7), build=build_call)])
    layer.group("gradients", points=1)(lambda draw: [case(draw.normal(7), build=build_call, gradients=True)])
    verdict = verdict_on(layer, Doubles, InPlace)
    assert [group.is_earned for group in verdict.groups] == [False, True]


def test_unknown_setting_names_the_allowed_ones(tmp_path):
    with pytest.raises(CourseError, match="'remark', 'one group', 'all groups'"):
        Exercise("shares", results=("shares",), changed_arguments="never")
    (tmp_path / "nbgrader_config.py").write_text('c.RunAndJudge.changed_arguments = "some"')
    with pytest.raises(CourseError, match="'remark', 'one group', 'all groups'"):
        _ = Course(tmp_path).changed_arguments


def small_model(weight):
    model = torch.nn.Linear(*weight.shape[::-1], bias=False)
    model.weight = torch.nn.Parameter(weight)
    return model


looked_at = Exercise("looked_at", results=("outputs",), changed_arguments="all groups")


@looked_at.group("one call", points=1)
def one_call(draw):
    rows, columns, count = draw.sizes(3)
    yield case(made_by(small_model, weight=draw.normal(rows, columns)), draw.normal(count, columns))


def outputs(model, x):
    return model(x).detach()


def spoiled(spoil):
    def answer(model, x):
        result = outputs(model, x)
        spoil(model)
        return result

    return answer


def moved(model):
    with torch.no_grad():
        next(model.parameters()).add_(0.5)


def with_gradients(model):
    sum(parameter.sum() for parameter in model.parameters()).backward()


def frozen(model):
    for parameter in model.parameters():
        parameter.data = parameter.data.double()


@pytest.mark.parametrize("spoil", [moved, with_gradients, frozen])
def test_model_that_is_called_is_left_as_it_was(spoil):
    assert verdict_on(looked_at, outputs, outputs).points == 1
    verdict = verdict_on(looked_at, outputs, spoiled(spoil))
    assert verdict.points < verdict.max_points
    assert "of `model`: leave what belongs to the caller as it was" in verdict.message
