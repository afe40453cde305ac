"""The functions that `is_correct` is asked about: their labels are right, and nothing tells them.

Every property of the exercise's statement, and every path, is asked: no right check can omit one.
`python tests/test_attention_properties.py` writes the table of docs/judge.md again.
"""

import sys
from functools import cache, reduce
from importlib import import_module
from itertools import product
from pathlib import Path
from types import CodeType

import pytest
import torch
import torch.nn.functional as F

from attention_lab.authoring import Draw
from nbjudge.calls import caller_of
from nbjudge.course import open_course
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.values.packing import pack, unpack

pytestmark = [pytest.mark.integration, pytest.mark.lesson, pytest.mark.timeout(900)]
PAGE = Path(__file__).parents[1] / "docs" / "judge.md"
BEGIN, END = "<!-- attention: made by tests/test_attention_properties.py -->\n", "<!-- end of attention -->"
torch.set_num_threads(1)

LESSON = open_course(Path(__file__).parents[1]).assignments["silent_bugs"]
EXERCISE, REFERENCE = LESSON.exercises["is_correct"], LESSON.reference_answer("is_correct")
CHECKS = sys.modules[EXERCISE.groups[0].make.__module__]
ATTENTION = import_module(f"{CHECKS.__name__.rpartition('.')[0]}.attention_checks")
REPAIRED = import_module(f"{CHECKS.__name__.rpartition('.')[0]}.attention_repairs")
REPAIRS = REPAIRED.REPAIRS
DIMENSIONS = (REPAIRED.MASKS, REPAIRED.GIVEN, REPAIRED.DTYPES)
PROPERTIES = [name for name in REPAIRS if not name.startswith("calls: ")]
FAMILIES = tuple(CHECKS.FAMILIES)
every_family = pytest.mark.parametrize("family", FAMILIES)
# What a function may hold besides names of one letter: the words of its signature, and torch's and Python's.
SIGNATURE = {"attention", "query", "key", "value", "mask", "number", "made"}
PYTHON = {"len", "list", "zip", "max", "math", "sqrt", "inf", "torch"}


def drawn(seed, family):
    return CHECKS.drawn_candidates(Draw(seed), family)


def callable_of(function):
    """The function as the student's process gets it: from the compiled code that was sent."""
    return respond.make(unpack(pack(function), with_code=True))


def code_of(candidate) -> CodeType:
    return callable_of(candidate.function).__code__


# ---- the labels are right -----------------------------------------------------------------------


@every_family
def test_the_reference_answers_what_the_labels_say(family):
    for seed in range(5):
        for candidate in drawn(seed, family):
            label = REFERENCE(callable_of(candidate.function))
            assert label is candidate.right, f"seed {seed}: {candidate.kind}\n{candidate.function.code}"


# ---- no guessing, no telling ----------------------------------------------------------------------


@every_family
def test_a_group_holds_both_kinds_in_drawn_order(family):
    """And in one code, of which each draw has its own."""
    orders, codes = set(), set()
    for seed in range(6):
        candidates = drawn(seed, family)
        labels = [candidate.right for candidate in candidates]
        assert len(labels) >= 8
        assert 3 <= sum(labels) <= len(labels) - 5
        orders.add(tuple(labels))
        (code,) = {code_of(candidate) for candidate in candidates}
        codes.add(code)
    assert len(orders) >= 4 and len(codes) == 6


def test_every_family_is_asked_about():
    asked = [len(group.cases(Draw(2))) for group in EXERCISE.groups]
    assert asked == [len(drawn(2, family)) for family in FAMILIES]


def test_guessing_earns_nothing():
    coin = torch.Generator().manual_seed(0)
    seen = {True: set(), False: set()}
    for seed, family in product(range(6), FAMILIES):
        for candidate in drawn(seed, family):
            seen[candidate.right].add(code_of(candidate).co_code)

    def thrown(_attention):
        return bool(torch.rand(1, generator=coin) < 0.5)

    def looked_up(attention):
        return attention.__code__.co_code in seen[True] - seen[False]

    for guess in (thrown, looked_up, lambda _attention: True, lambda _attention: False):
        assert judge_exercise(EXERCISE, REFERENCE, caller_of(guess), seed=5).points == 0


@every_family
def test_no_text_in_a_function_tells_its_label(family):
    for seed in range(3):
        for candidate in drawn(seed, family):
            sent = unpack(pack(candidate.function), with_code=True)
            assert sent.code == ""
            function = respond.make(sent)
            assert function.__doc__ is None
            assert (function.__name__, function.__qualname__) == ("attention", "attention")
            assert telling(function.__code__) == set(), candidate.function.code
            known = {"torch", "nn", "F", "math", "number", "attention", "made", "n", "__builtins__"}
            assert function.__globals__.keys() <= known


def telling(code: CodeType) -> set[str]:
    """The words in a function's code that are neither the signature's, nor torch's, nor one letter."""
    texts = [constant for constant in code.co_consts if isinstance(constant, str)]
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    known = SIGNATURE | PYTHON | set(dir(torch)) | set(dir(torch.Tensor)) | set(dir(torch.nn.functional))
    words = {name for name in names - known if len(name) > 1 and not name.startswith(".")}
    # An einsum's equation is the only text.
    words |= {text for text in texts if "->" not in text and not text.startswith("attention.<locals>")}
    return words.union(*map(telling, inner))


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
    REFERENCE,
    *EXERCISE.accepted_alternatives,
    ATTENTION.caught(ATTENTION.agrees),
    ATTENTION.caught(against_torch_one_result_at_a_time),
]
every_style = pytest.mark.parametrize("check", STYLES, ids=lambda check: check.__name__)


# ---- what they are tried on --------------------------------------------------------------------------


@cache
def candidates(seed):
    """(kind, whether it is right, function) of all families."""
    found = (each for family in FAMILIES for each in drawn(seed, family))
    return [(each.kind, each.right, callable_of(each.function)) for each in found]


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
