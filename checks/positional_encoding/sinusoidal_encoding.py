"""The exercise `sinusoidal_encoding`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import Exercise, Tolerance, add_mistakes, case

sinusoidal_encoding = Exercise(
    "sinusoidal_encoding",
    results=("encoding",),
    axes=(("positions", "dimensions"),),
    # Right formulas differ by some 2e-5 in float32 over 256 positions, whose angles lose their last digits.
    tolerance=Tolerance(float32=(1e-4, 1e-4), float64=(1e-4, 1e-4)),
)
LONG = (1999, 2033, 2047)  # positions, where right formulas differ by some 1e-4
TOLERANCE_WHERE_LONG = 2e-3


@sinusoidal_encoding.group("even widths", points=1)
def even_widths(draw):
    for length, width in zip(draw.sizes(3), draw.even_sizes(3), strict=True):
        yield case(length, width)
    yield case(length, 2)


@sinusoidal_encoding.group("odd widths end on a sine", points=1)
def odd_widths(draw):
    (length,) = draw.sizes(1)
    (even,) = draw.even_sizes(1)
    for width in (even + 1, 3, 1):
        yield case(length, width)


@sinusoidal_encoding.group("as many positions as dimensions", points=1)
def square(draw):
    (size,) = draw.even_sizes(1)
    yield case(size, size)


@sinusoidal_encoding.group("a single position, and 256 of them", points=1)
def short_and_long(draw):
    width, other = draw.even_sizes(2)
    yield case(1, width)
    yield case(256, other)


def differs(table, expected, tolerance=TOLERANCE_WHERE_LONG):
    """Return whether a table of the right shape holds other numbers; NaN is another number."""
    return not torch.allclose(table.double(), expected.double(), rtol=0.0, atol=tolerance)


def mistake_with(table, *sizes):
    """The name of the mistake that gives this very table, if there is one."""
    for mistake in sinusoidal_encoding.mistakes:
        try:
            mistaken_table = mistake.answer(*sizes)
        except RuntimeError:  # one of them fails at odd widths
            continue
        if mistaken_table.shape == table.shape and not differs(table, mistaken_table, 1e-5):
            return mistake.name
    return None


def _right_far_out(cases, values):
    """None, a mistake's name or a sentence."""
    for drawn_case, table in zip(cases, values, strict=True):
        max_len, embed_dim = drawn_case.args
        expected = _waves(max_len, embed_dim)
        if not isinstance(table, torch.Tensor) or table.shape != expected.shape:
            return f"The encoding is not a tensor of shape (max_len, E), here ({max_len}, {embed_dim})."
        if differs(table, expected):
            missed = (table.double() - expected).abs().amax(dim=1)
            first = int((missed > TOLERANCE_WHERE_LONG).int().argmax())
            return mistake_with(table, *drawn_case.args) or (
                f"The encoding is off from position {first} on: there by {float(missed[first]):.4f}, and by "
                f"{float(missed.max()):.4f} at most."
            )
    return None


@sinusoidal_encoding.group("about 2,000 positions", points=1, verify=_right_far_out)
def far_out(draw):
    yield case(draw.shuffled(LONG)[0], draw.even_sizes(1)[0])


def _sine_and_cosine(angles):
    return angles.sin(), angles.cos()


def _interleaved(sines, cosines, embed_dim):
    """Sines on the even columns, cosines on the odd ones; each (max_len, at least as many as needed)."""
    encoding = torch.empty(len(sines), embed_dim)
    encoding[:, 0::2] = sines[:, : (embed_dim + 1) // 2]
    encoding[:, 1::2] = cosines[:, : embed_dim // 2]
    return encoding


def _angles(max_len, embed_dim, positions=torch.arange, base=10000, power=1):
    """The right angles, (max_len, pairs): most mistakes below change one thing about them."""
    even = torch.arange(0, embed_dim, 2)
    return positions(max_len).unsqueeze(1) / base ** (power * even / embed_dim)


def _waves(max_len, embed_dim, waves=_sine_and_cosine, **changed):
    return _interleaved(*waves(_angles(max_len, embed_dim, **changed)), embed_dim)


def _by_column(max_len, embed_dim, exponent):
    """An angle of its own for every column."""
    column = torch.arange(embed_dim)
    angles = torch.arange(max_len).unsqueeze(1) / 10000 ** (exponent(column) / embed_dim)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


def halves_side_by_side(max_len, embed_dim):
    angles = _angles(max_len, embed_dim)
    return torch.cat([angles.sin(), angles[:, : embed_dim // 2].cos()], dim=1)


def odd_width_fails(max_len, embed_dim):
    angles = _angles(max_len, embed_dim)
    encoding = torch.zeros(max_len, embed_dim)
    encoding[:, 0::2] = angles.sin()
    encoding[:, 1::2] = angles.cos()
    return encoding


add_mistakes(
    sinusoidal_encoding,
    _waves,
    exponent_doubled=(
        "The waves slow down twice as fast as they should: the exponent grows by 4/E from one pair to the "
        "next. If your index already counts 0, 2, 4, ..., it contains the factor 2 of the formula; do not "
        "double it again.",
        {"power": 2},
    ),
    exponent_doubled_for_each_column=(
        "Each column has an exponent of its own, and the exponents grow by 4/E from one pair to the next. An "
        "index that counts 0, 2, 4, ... contains the factor 2 already, and the cosine shares its sine's "
        "exponent.",
        lambda max_len, embed_dim: _by_column(max_len, embed_dim, lambda column: 2 * column),
    ),
    exponent_halved=(
        "The waves slow down half as fast as they should: the exponent grows by 1/E from one pair to the "
        "next. If your index counts the pairs 0, 1, 2, ..., the formula needs twice that index.",
        {"power": 0.5},
    ),
    cosine_of_its_own=(
        "The sines are right, but each cosine has its own frequency, slower than that of the sine on its "
        "left. Both belong to one clock hand: columns 2i and 2i+1 share the angle with exponent 2i/E.",
        lambda max_len, embed_dim: _by_column(max_len, embed_dim, lambda column: column),
    ),
    base_of_a_thousand=(
        "The slow waves are too fast, and more so the further right they are: they have a base of 1000. The "
        "formula divides by a power of 10000; count the zeros.",
        {"base": 1000},
    ),
    integer_division=(
        "All pairs of columns are the same, and every wave has frequency 1: the exponent 2i/E is 0. Is it an "
        "integer division? `//` drops the fraction.",
        {"power": 0},
    ),
    positions_from_one=(
        "Row 0 holds the encoding of position 1, and every row is one step ahead. Positions count from 0, so "
        "the first row has 0 in all sine columns and 1 in all cosine columns.",
        {"positions": lambda max_len: torch.arange(1, 1 + max_len)},
    ),
    positions_twice_as_fast=(
        "Every wave is twice as fast as it should be, the first one too: row 1 holds the encoding of "
        "position 2. The angle is the position divided by the power of 10000; do not double the position.",
        {"waves": lambda angles: ((2 * angles).sin(), (2 * angles).cos())},
    ),
    halves_side_by_side=(
        "The numbers are right but in other columns: first all sines, then all cosines. Here they alternate: "
        "column 2i is a sine, and column 2i+1 beside it the cosine of the same angle.",
        halves_side_by_side,
    ),
    cosine_first=(
        "Sine and cosine are swapped: row 0 begins with 1, 0. Even columns are sines, so row 0 begins with "
        "0, 1.",
        {"waves": lambda angles: (angles.cos(), angles.sin())},
    ),
    sines_only=(
        "There are sines in all columns: the second column of each pair repeats the first. Odd columns are "
        "the cosine of the angle, the other coordinate of the clock hand.",
        {"waves": lambda angles: (angles.sin(), angles.sin())},
    ),
    cosine_of_the_sine=(
        "Odd columns hold the cosine of the sine on their left. Take the cosine of the angle that this sine "
        "was made of.",
        {"waves": lambda angles: (angles.sin(), angles.sin().cos())},
    ),
    faster_and_faster=(
        "Columns further right turn faster instead of slower: the position is multiplied by the power of "
        "10000. Divide by it, so that the last columns hardly change.",
        {"power": -1},
    ),
    odd_width_fails=(
        "An odd width fails: it has one more sine column than cosine columns, so there are more angles than "
        "columns for cosines. Leave the last angle out of the cosines where `embed_dim` is odd.",
        odd_width_fails,
    ),
    positions_in_half_precision=(
        "The table is right up to some position and inexact beyond it: positions are in half precision, "
        "which cannot represent every whole number above 256 (or 2048). Count them in float32 or whole "
        "numbers.",
        {"positions": lambda max_len: torch.arange(max_len).bfloat16().float()},
    ),
)


@sinusoidal_encoding.accepted_alternative(
    "What most published code writes: the power as an exponential, which was once faster and more exact "
    "in float32. In 0, 2, 4, … the factor 2 is included already."
)
def by_exponential_and_logarithm(max_len, embed_dim):
    positions = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
    rates = torch.exp(torch.arange(0, embed_dim, 2).float() * (-math.log(10000.0) / embed_dim))
    encoding = torch.zeros(max_len, embed_dim)
    encoding[:, 0::2] = torch.sin(positions * rates)
    encoding[:, 1::2] = torch.cos(positions * rates)[:, : embed_dim // 2]
    return encoding


@sinusoidal_encoding.accepted_alternative(
    "Sine and cosine are made as pairs, and flatten puts them side by side: nothing is written with a "
    "stride, and the clock is visible as an axis. For an odd width the last cosine is cut off."
)
def stacked_and_flattened(max_len, embed_dim):
    width = embed_dim + embed_dim % 2
    angles = torch.outer(torch.arange(max_len).float(), 10000 ** (-torch.arange(0, width, 2) / embed_dim))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :embed_dim]
