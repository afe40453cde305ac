"""Every property of the statement of `is_correct`, and every path, is asked: no right check can omit one.

`python tests/test_attention_properties.py` writes the table of docs/judge.md again.
"""

from __future__ import annotations

import sys
from functools import cache, reduce
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from test_attention_candidates import COURSE, FAMILIES, callable_of

from attention_lab.authoring import Draw

PAGE = Path(__file__).parents[1] / "docs" / "judge.md"
BEGIN, END = "<!-- attention: made by tests/test_attention_properties.py -->\n", "<!-- end of attention -->"
pytestmark = [pytest.mark.integration, pytest.mark.lesson, pytest.mark.timeout(900)]
torch.set_num_threads(1)

LESSON = COURSE.assignments["silent_bugs"]
EXERCISE = LESSON.exercises["is_correct"]
CHECKS = sys.modules[EXERCISE.groups[0].make.__module__]
ATTENTION = import_module(f"{CHECKS.__name__.rpartition('.')[0]}.attention_checks")
REPAIRED = import_module(f"{CHECKS.__name__.rpartition('.')[0]}.attention_repairs")
agrees, formula, REPAIRS = ATTENTION.caught(ATTENTION.agrees), ATTENTION.formula, REPAIRED.REPAIRS
DIMENSIONS = (REPAIRED.MASKS, REPAIRED.GIVEN, REPAIRED.DTYPES)
PROPERTIES = [name for name in REPAIRS if not name.startswith("calls: ")]


# ---- a right check in another style than the accepted alternatives ------------------------------------


def _calls(sizes):
    """With one to three tensors, each mask and each dtype."""
    batch, queries, keys, width, value_width = sizes
    generator = torch.Generator().manual_seed(2)
    for dtype, count in product((torch.float32, torch.float64), (1, 2, 3)):
        seen = keys if count > 1 else queries
        shapes = (batch, queries, width), (batch, keys, width), (batch, keys, value_width)
        for shape in (None, (queries, seen), (batch, 1, seen), (batch, queries, seen)):
            given = [torch.randn(each, generator=generator, dtype=dtype) for each in shapes[:count]]
            mask = None if shape is None else torch.rand(shape, generator=generator) < 0.6
            if mask is not None:
                mask[-1, ..., :], mask[0, ..., :2] = False, torch.tensor([True, False])
            yield dict(zip(("query", "key", "value"), given, strict=False)) | {"mask": mask}


def against_torch_one_result_at_a_time(attention):
    """Torch's own attention, all arguments by position, and a random cotangent for one result at a time."""
    for call in _calls((3, 4, 5, 6, 2)):
        leaves = [value for name, value in call.items() if name != "mask"]
        mask, before = call["mask"], [value.clone() for value in leaves]
        mask_before = None if mask is None else mask.clone()
        query, key, value = (*leaves, *leaves[-1:] * 2)[:3]
        for leaf in leaves:
            leaf.requires_grad_()
        own = F.scaled_dot_product_attention(query, key, value, mask_before)
        unit = torch.eye(key.shape[1], dtype=key.dtype).expand(len(key), -1, -1)
        expected = own, F.scaled_dot_product_attention(query, key, unit, mask_before)
        results = attention(*leaves, *[None] * (3 - len(leaves)), mask)
        for result, right in zip(results, expected, strict=True):
            torch.testing.assert_close(result, right, rtol=1e-4, atol=1e-5)
            cotangent = torch.randn_like(right)
            pair = [
                torch.autograd.grad(each, leaves, cotangent, retain_graph=True, allow_unused=True)
                for each in (result, right)
            ]
            for one, other in zip(*pair, strict=True):
                assert (one is None) == (other is None)
                assert one is None or torch.allclose(one, other, rtol=1e-3, atol=1e-4)
        assert all(map(torch.equal, leaves, before)) and (mask is None or torch.equal(mask, mask_before))
    return True


STYLES = [
    LESSON.reference_answer("is_correct"),
    *EXERCISE.accepted_alternatives,
    agrees,
    ATTENTION.caught(against_torch_one_result_at_a_time),
]
every_style = pytest.mark.parametrize("check", STYLES, ids=lambda check: check.__name__)


# ---- what they are tried on --------------------------------------------------------------------------


@cache
def candidates(seed):
    """(kind, whether it is right, function) of all families."""
    drawn = (each for family in FAMILIES for each in CHECKS.drawn_candidates(Draw(seed), family))
    return [(each.kind, each.right, callable_of(each.function)) for each in drawn]


def thoroughly(attention):
    return ATTENTION.caught(lambda function: ATTENTION.agrees(function, thorough=True))(attention)


@cache
def only_fault():
    """By repair: the kinds of functions that are broken in nothing else, or are refused with it."""
    return {
        name: {kind: f for kind, right, f in candidates(0) if thoroughly(repair(f)) is not right}
        for name, repair in REPAIRS.items()
    }


def counts(name, dimension):
    """By path of a dimension, how many functions in which only a property is wrong show it there."""
    for path in dimension:
        others = [REPAIRS[f"calls: {other}"] for other in dimension if other != path]
        shown = (reduce(lambda f, repair: repair(f), others, f) for f in only_fault()[name].values())
        yield sum(not thoroughly(f) for f in shown)


def table():
    paths = [path for dimension in DIMENSIONS for path in dimension]
    lines = [f"| only this is wrong | {' | '.join(paths)} |", f"|---|{':-:|' * len(paths)}"]
    for name in PROPERTIES[:-2]:  # the last two are about right functions
        numbers = (str(number) for dimension in DIMENSIONS for number in counts(name, dimension))
        lines.append(f"| {name} | {' | '.join(numbers)} |")
    alone = (str(len(only_fault()[f"calls: {path}"])) for path in paths)
    return "\n".join([*lines, f"| everything, and only there | {' | '.join(alone)} |"])


def page_with_table():
    before, rest = PAGE.read_text().split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n\n{END}{rest.partition(END)[2]}"


# ---- tests -------------------------------------------------------------------------------------------


def test_the_table_on_the_page_is_up_to_date():
    assert page_with_table() == PAGE.read_text()


def test_each_property_is_the_only_fault_of_two():
    few = [name for name, found in only_fault().items() if len(found) < 2]
    assert few == PROPERTIES[-2:]  # these refuse right functions, which have one kind


@every_style
def test_a_check_that_leaves_out_nothing_is_right(check):
    assert [kind for kind, right, f in candidates(1) if check(f) is not right] == []


@every_style
@pytest.mark.parametrize("seed", range(3))
def test_a_check_without_one_property_loses_points(check, seed):
    for name, repair in REPAIRS.items():
        # Those that show it come first, and the rest is hardly ever needed.
        tried = sorted(candidates(seed), key=lambda each: each[0] not in only_fault()[name])
        assert any(check(repair(f)) is not right for _, right, f in tried), name


if __name__ == "__main__":
    PAGE.write_text(page_with_table())
