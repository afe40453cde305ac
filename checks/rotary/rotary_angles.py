"""The exercise `rotary_angles`, and the mistakes it can name."""

import math
from functools import partial

import torch

from attention_lab.authoring import Exercise, Tolerance, add_mistakes, case

rotary_angles = Exercise(
    "rotary_angles",
    results=("angles",),
    axes=(("positions", "pairs"),),
    # Right formulas differ in float32's last digits, which grow with the position.
    tolerance=Tolerance(float32=(1e-6, 1e-4), float64=(1e-6, 1e-4)),
)
LONG = (1999, 2033, 2047)  # positions
TOLERANCE_WHERE_LONG = 2e-3


@rotary_angles.group("angles of the usual base", points=1)
def usual_base(draw):
    for length, width in zip(draw.sizes(3), draw.even_sizes(3), strict=True):
        yield case(length, width)


@rotary_angles.group("another base", points=1)
def another_base(draw):
    for base in (500.0, 500000.0):
        (length,), (width,) = draw.sizes(1), draw.even_sizes(1)
        yield case(length, width, base)
        yield case(length, width, base=base + draw.integer(1, 99))


@rotary_angles.group("one position, 256 of them, a single pair", points=0.5)
def edges(draw):
    width, other = draw.even_sizes(2)
    yield case(1, width)
    yield case(256, other)
    yield case(256, 2)


def _right_far_out(cases, values):
    """None, a mistake's name or a sentence."""
    for drawn_case, angles in zip(cases, values, strict=True):
        expected = _right(*drawn_case.args, 10000.0).double()
        if not isinstance(angles, torch.Tensor) or angles.shape != expected.shape:
            return f"The angles are not a tensor of shape (T, D/2), here {tuple(expected.shape)}."
        missed = (angles.double() - expected).abs().nan_to_num(nan=torch.inf).amax(dim=1)
        if float(missed.max()) <= TOLERANCE_WHERE_LONG:
            continue
        for mistake in rotary_angles.mistakes:
            mistaken_angles = mistake.answer(*drawn_case.args)
            if mistaken_angles.shape == angles.shape and torch.allclose(
                angles.double(), mistaken_angles.double(), atol=1e-4
            ):
                return mistake.name
        first = int((missed > TOLERANCE_WHERE_LONG).int().argmax())
        return (
            f"The angles are off from position {first} on: there by {float(missed[first]):.4f}, and by "
            f"{float(missed.max()):.4f} at most."
        )
    return None


@rotary_angles.group("about 2,000 positions", points=0.5, verify=_right_far_out)
def far_out(draw):
    yield case(draw.shuffled(LONG)[0], draw.even_sizes(1)[0])


@rotary_angles.group("equal sizes: as many positions as pairs, and as numbers", points=1)
def equal_sizes(draw):
    (width,) = draw.even_sizes(1)
    yield case(width // 2, width)
    yield case(width, width)


@rotary_angles.group("an odd head size is refused", points=1)
def refusals(draw):
    (length,), (width,) = draw.sizes(1), draw.even_sizes(1)
    yield case(length, width + 1, refuses=(width + 1,))
    yield case(length, 1, refuses=(1,))


def _even(head_size):
    if head_size % 2:
        raise ValueError(f"a head of {head_size} numbers cannot be cut into pairs")


def _right(length, head_size, base, first=0, power=2.0, divided_by=None, first_pair=0):
    """A correct answer; most mistakes below change one thing about it."""
    _even(head_size)
    pair = torch.arange(first_pair, first_pair + head_size // 2, dtype=torch.float64)
    rates = base ** (-power * pair / (divided_by or head_size))
    positions = torch.arange(first, first + length, dtype=torch.float64)
    return torch.outer(positions, rates).to(torch.get_default_dtype())


def in_half_precision(length, head_size, base=10000.0):
    _even(head_size)
    rates = base ** (-torch.arange(0, head_size, 2) / head_size)
    return torch.outer(torch.arange(length).bfloat16(), rates.bfloat16()).float()


add_mistakes(
    rotary_angles,
    exponent_halved=(
        "The pairs slow down half as fast as they should: the exponent grows by 1/D from one pair to the "
        "next. Pair i has the exponent 2i/D; if you count 0, 1, 2, … multiply by 2, or count 0, 2, 4 and so "
        "on.",
        lambda length, head_size, base=10000.0: _right(length, head_size, base, power=1.0),
    ),
    exponent_doubled=(
        "The pairs slow down twice as fast as they should: the exponent grows by 4/D. If your index counts "
        "0, 2, 4, … the 2 of the formula is in it already.",
        lambda length, head_size, base=10000.0: _right(length, head_size, base, power=4.0),
    ),
    positions_from_one=(
        "Row 0 is turned by one step already, and every row is one ahead. Positions count from 0, so row 0 "
        "is all zeros.",
        lambda length, head_size, base=10000.0: _right(length, head_size, base, first=1),
    ),
    base_ignored=(
        "The result is right with the usual base, but `base` is not used, so another base changes nothing. "
        "Put it in the place of 10000.",
        lambda length, head_size, base=10000.0: _right(length, head_size, 10000.0),
    ),
    base_of_a_thousand=(
        "The angles follow a base of 1000 where none is given: count the zeros of the default, 10000.",
        lambda length, head_size, base=1000.0: _right(length, head_size, base),
    ),
    faster_and_faster=(
        "Later pairs turn faster instead of slower: the position is multiplied by the power of the base. "
        "Divide by it.",
        lambda length, head_size, base=10000.0: _right(length, head_size, base, power=-2.0),
    ),
    in_half_precision=(
        "The angles are rounded: they went through a half-precision dtype on the way, where far positions "
        "lose their digits. Make positions and rates in float32 or better.",
        in_half_precision,
    ),
    both_ends=(
        "The exponent is divided by the number of pairs minus one, as `linspace` with both ends does, so "
        "that the last pair is slowed by the whole base. The formula divides 2i by D.",
        lambda length, head_size, base=10000.0: _right(
            length, head_size, base, divided_by=max(head_size - 2, 1)
        ),
    ),
    odd_sizes_accepted=(
        "An odd head size is not refused, and one number would have no partner. Raise a ValueError that "
        "names the size.",
        lambda length, head_size, base=10000.0: torch.outer(
            torch.arange(length).float(), base ** (-torch.arange(0, head_size, 2) / head_size)
        ),
    ),
)


@rotary_angles.mistake(
    "An odd head size is refused with a ValueError, but its sentence does not contain the size. Say which "
    "number was given."
)
def size_not_named(length, head_size, base=10000.0):
    if head_size % 2:
        raise ValueError("the head size has to be even")
    return _right(length, head_size, base)


@rotary_angles.mistake(
    "The angles are right up to some position and rough beyond it: positions were kept in half precision, "
    "which cannot hold every whole number above 256 (or 2048). Count them in float32 or whole numbers."
)
def positions_in_half_precision(length, head_size, base=10000.0):
    _even(head_size)
    rates = base ** (-torch.arange(0, head_size, 2) / head_size)
    return torch.outer(torch.arange(length).bfloat16().float(), rates)


@rotary_angles.accepted_alternative("One line of broadcasting: a column of positions times a row of rates.")
def by_broadcasting(length, head_size, base=10000.0):
    _even(head_size)
    rates = 1.0 / base ** (torch.arange(0, head_size, 2) / head_size)
    return torch.arange(length)[:, None] * rates


@rotary_angles.accepted_alternative("The power through a logarithm, as much published code has it.")
def by_exponential(length, head_size, base=10000.0):
    _even(head_size)
    rates = torch.exp(torch.arange(0, head_size, 2) * (-math.log(base) / head_size))
    return torch.einsum("t,i->ti", torch.arange(length).float(), rates)


for _clause, _answer in {
    "the pairs counted from 1": partial(_right, first_pair=1),
    "the pairs counted from -1": partial(_right, first_pair=-1),
    "all pairs turned equally fast": partial(_right, power=0.0),
}.items():
    rotary_angles.cause(_clause, _answer)
