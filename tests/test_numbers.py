"""The course's worked numbers, to four digits: from the reference answers, and in the stored outputs."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn as nn

from nbjudge.course import open_course

COURSE = open_course(Path(__file__).parents[1])
POSITIONS = COURSE.assignments["positional_encoding"]

pytestmark = pytest.mark.lesson


def answer(lesson, name):
    return COURSE.assignments[lesson].reference_answer(name)


def assert_prints(tensor, numbers):
    """The tensor is these numbers, as torch prints them: rounded to four digits."""
    torch.testing.assert_close(tensor, torch.tensor(numbers), rtol=0, atol=5.1e-5)


@pytest.fixture
def four_tokens():
    """ "I am learning this", and the three projections drawn after it."""
    torch.manual_seed(42)
    return torch.rand(4, 3), (torch.rand(3, 2), torch.rand(3, 2), torch.rand(3, 2))


@pytest.fixture
def three_tokens():
    """Query, key and value of the three tokens of width 5, each (1, 3, 16)."""
    torch.manual_seed(89)
    x = torch.randn(1, 3, 5)
    layers = [nn.Linear(5, 16, bias=False) for _ in range(3)]
    with torch.no_grad():
        return [layer(x) for layer in layers]


def test_all_tokens_at_once_have_the_same_row_two(four_tokens):
    tokens, _ = four_tokens
    scores = answer("dot_product", "attention_scores")(tokens, tokens)
    assert_prints(scores[2], [1.3127, 1.1213, 1.5807, 1.3343])
    assert_prints(answer("dot_product", "softmax")(scores)[2], [0.2407, 0.1987, 0.3146, 0.2459])
    output, weights = answer("dot_product", "dot_product_attention")(tokens)
    assert_prints(weights[2], [0.2407, 0.1987, 0.3146, 0.2459])
    assert_prints(output[2], [0.5165, 0.7774, 0.6536])


def test_projected_tokens_score_and_mix_scaled(four_tokens):
    tokens, widths = four_tokens
    query, key, value = answer("dot_product", "project")(tokens, *widths)
    assert_prints(query[2], [1.6442, 1.0264])
    assert_prints(answer("dot_product", "attention_scores")(query, key)[2], [2.2888, 2.1945, 2.2514, 1.7783])
    for lesson, name in (("scaling", "scaled_dot_product_attention"), ("mask", "masked_attention")):
        output, weights = answer(lesson, name)(query, key, value)
        assert_prints(weights[2], [0.2773, 0.2594, 0.2700, 0.1933])
        assert_prints(output[2], [0.6762, 0.3120])


def test_three_tokens_through_one_layer(three_tokens):
    rows = [[0.3668, 0.3001, 0.3331], [0.2955, 0.4472, 0.2573], [0.3729, 0.2933, 0.3338]]
    for lesson, name in (("scaling", "scaled_dot_product_attention"), ("mask", "masked_attention")):
        _, weights = answer(lesson, name)(*three_tokens)
        assert_prints(weights[0], rows)


def test_sharpened_twelve_times_the_first_row_decides(three_tokens):
    query, key, _ = three_tokens
    scores = answer("scaling", "scaled_scores")(query, key)
    assert_prints(torch.softmax(12 * scores, dim=-1)[0, 0], [0.7122, 0.0640, 0.2237])


@pytest.mark.parametrize(
    ("lesson", "numbers"),
    [
        ("dot_product", "1.3127 1.1213 1.5807 1.3343"),
        ("dot_product", "0.2407 0.1987 0.3146 0.2459"),
        ("dot_product", "0.5165 0.7774 0.6536"),
        ("dot_product", "0.2773 0.6307 0.2594 0.5699 0.2700 0.8266 0.1933 0.6742 0.6762"),  # on paper
        ("dot_product", "1.6442 1.0264"),
        ("dot_product", "2.2888 2.1945 2.2514 1.7783"),
        ("scaling", "0.2773 0.2594 0.2700 0.1933 0.6762 0.3120"),
        ("scaling", "0.3668 0.3001 0.3331 0.2955 0.4472 0.2573 0.3729 0.2933 0.3338"),
        ("scaling", "0.7122 0.0640 0.2237"),
        ("mask", "1.3127 1.1213 1.5807 1.3343"),
        ("attention_head", "0.3668 0.3001 0.3331 0.2955 0.4472 0.2573 0.3729 0.2933 0.3338"),
        ("positional_encoding", "2.0630 2.1630 2.1523 2.2523 2.0020 2.1020"),  # how are you
        ("positional_encoding", "2.0020 2.1020 2.0630 2.1630 2.1523 2.2523"),  # you how are
    ],
)
def test_a_reader_of_the_solution_sees_the_numbers(lesson, numbers):
    cells = nbformat.read(COURSE.assignments[lesson].solution_path, as_version=4).cells
    printed = " ".join(o.get("text", "") for cell in cells for o in cell.get("outputs", []))
    assert numbers in " ".join(re.findall(r"\d+\.\d{4}\b", printed))


def test_a_head_gives_the_three_tokens_their_weights():
    head = answer("attention_head", "AttentionHead")(5, 16)  # draws weights of its own first
    torch.manual_seed(89)
    x = torch.randn(1, 3, 5)
    for name in ("query", "key", "value"):
        setattr(head, name, nn.Linear(5, 16, bias=False))
    _, weights = head(x)
    assert_prints(
        weights[0].detach(), [[0.3668, 0.3001, 0.3331], [0.2955, 0.4472, 0.2573], [0.3729, 0.2933, 0.3338]]
    )


@pytest.fixture
def how_are_you():
    """Scores (3, 3) and value (3, 2) of the three words."""
    scores = torch.tensor([[0.5, 0.1, 0.4], [0.1, 0.8, 0.3], [0.4, 0.3, 0.1]])
    return scores, torch.tensor([[1.1, 1.2], [2.1, 2.2], [3.1, 3.2]])


def test_how_are_you_by_pencil_and_by_weights(how_are_you):
    scores, value = how_are_you
    assert_prints(scores[0] @ value, [2.0, 2.1])
    weights = answer("dot_product", "softmax")(scores)
    assert_prints(weights @ value, [[2.0630, 2.1630], [2.1523, 2.2523], [2.0020, 2.1020]])


def test_how_are_you_in_the_lesson_on_positions(how_are_you):
    cells = {cell.id: cell for cell in nbformat.read(POSITIONS.solution_path, as_version=4).cells}
    code = cells["shuffled"].source
    for name, numbers in zip(("scores", "value"), how_are_you, strict=True):
        (written,) = re.findall(rf"^{name} = torch.tensor\((.+?)\)  #", code, re.MULTILINE)
        torch.testing.assert_close(torch.tensor(ast.literal_eval(written)), numbers)
