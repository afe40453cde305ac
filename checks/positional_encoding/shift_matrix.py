"""The exercise `shift_matrix`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import Exercise, Tolerance, add_mistakes, case

# Angles of some hundred lose their last digits in float32: right formulas differ by some 2e-5.
TOLERANCE = Tolerance(float32=(1e-4, 1e-4), float64=(1e-4, 1e-4))
LENGTH = 256  # positions that the tables of this lesson are held to

shift_matrix = Exercise(
    "shift_matrix",
    results=("matrix",),
    axes=(("rows", "columns"),),
    tolerance=TOLERANCE,
)


def _carries_every_position(cases, values):
    """Put each matrix to work on the table: None, the mistake that made it, or what it misses."""
    for drawn_case, matrix in zip(cases, values, strict=True):
        offset, embed_dim = drawn_case.args
        if not isinstance(matrix, torch.Tensor) or matrix.shape != (embed_dim, embed_dim):
            return f"The matrix is not a tensor of shape (E, E), here ({embed_dim}, {embed_dim})."
        positions = torch.arange(max(0, -offset), LENGTH - max(0, offset))
        table = _table(LENGTH, embed_dim)
        carried = matrix.double() @ table[positions].T  # (E, positions)
        missed = (carried - table[positions + offset].T).abs().amax(dim=0)
        if float(missed.nan_to_num(nan=torch.inf).max()) > 1e-3:
            return _named(cases, values) or (
                f"The matrix for offset {offset} does not carry pe[{int(positions[0])}] to "
                f"pe[{int(positions[0]) + offset}]: the largest difference there is "
                f"{float(missed[0]):.4f}, and over all positions {float(missed.max()):.4f}."
            )
    return None


def _named(cases, values):
    """The mistake that gives exactly these matrices, if there is one."""
    for mistake in shift_matrix.mistakes:
        wrong = [mistake.answer(*drawn_case.args) for drawn_case in cases]
        # Shapes first: of two that differ, a comparison would make one of all their axes.
        shaped = all(a.shape == b.shape for a, b in zip(wrong, values, strict=True))
        pairs = zip(wrong, values, strict=True)
        if shaped and all(torch.allclose(a.double(), b.double(), atol=1e-4) for a, b in pairs):
            return mistake.name
    return None


def _table(max_len, embed_dim):
    angles = torch.arange(max_len).double().unsqueeze(1) * _rates(embed_dim)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # (max_len, E)


def _rates(embed_dim):
    return 10000 ** (-torch.arange(0, embed_dim, 2, dtype=torch.float64) / embed_dim)


@shift_matrix.group("one step ahead", points=1)
def one_step(draw):
    (width,) = draw.even_sizes(1)
    yield case(1, width)
    yield case(1, 2)


@shift_matrix.group("any number of steps ahead", points=1)
def ahead(draw):
    width, other = draw.even_sizes(2)
    yield case(draw.integer(2, 6), width)
    yield case(draw.integer(30, 200), other)
    yield case(width, width)


@shift_matrix.group("steps back, and none at all", points=1)
def back(draw):
    width, other = draw.even_sizes(2)
    yield case(-draw.integer(1, 6), width)
    yield case(-draw.integer(30, 200), other)
    yield case(0, width)


@shift_matrix.group("carries every position to its neighbour", points=2, verify=_carries_every_position)
def at_work(draw):
    width, other = draw.even_sizes(2)
    yield case(draw.integer(1, 6), width)
    yield case(draw.integer(30, 200), other)
    yield case(-draw.integer(2, 20), width)


def _blocks(angles, signs=(1, -1)):
    """A matrix with cosines on the diagonal and signed sines beside them, for each pair of columns."""
    right, left = signs
    blocks = [
        torch.tensor([[math.cos(a), right * math.sin(a)], [left * math.sin(a), math.cos(a)]])
        for a in angles.tolist()
    ]
    return torch.block_diag(*blocks)


def for_halves_side_by_side(offset, embed_dim):
    angles = (offset * _rates(embed_dim)).float()
    cosines, sines = torch.diag(angles.cos()), torch.diag(angles.sin())
    return torch.cat([torch.cat([cosines, sines], dim=1), torch.cat([-sines, cosines], dim=1)])


add_mistakes(
    shift_matrix,
    turned_the_other_way=(
        "The matrix moves each position *back* by `offset` instead of ahead: the sines have the wrong sign. "
        "Our pairs are (sine, cosine), not (cosine, sine) as in most pictures of a rotation, so the minus is "
        "in the other corner.",
        lambda offset, embed_dim: _blocks(offset * _rates(embed_dim), signs=(-1, 1)),
    ),
    no_minus=(
        "Both sines of a block have the same sign, so it is no rotation: lengths change. Write out both "
        "addition theorems, for the sine and for the cosine of a sum: only one of them has a minus.",
        lambda offset, embed_dim: _blocks(offset * _rates(embed_dim), signs=(1, 1)),
    ),
    only_cosines=(
        "The matrix is diagonal: each number is only multiplied by a cosine, and nothing turns. When a clock "
        "hand turns, its new sine depends on its old cosine too: fill the two other corners of each block.",
        lambda offset, embed_dim: _blocks(offset * _rates(embed_dim), signs=(0, 0)),
    ),
    one_speed_for_all=(
        "All pairs are turned by the same angle. Each clock hand has its own speed: pair i turns by `offset` "
        "divided by 10000^(2i/E), as in the table.",
        lambda offset, embed_dim: _blocks(offset * torch.ones(embed_dim // 2)),
    ),
    exponent_doubled=(
        "The first pair is turned by the right angle, the later ones by too little: the exponent grows by "
        "4/E from pair to pair. If your index already counts 0, 2, 4, ..., do not double it.",
        lambda offset, embed_dim: _blocks(offset * _rates(embed_dim) ** 2),
    ),
    for_halves_side_by_side=(
        "This is the matrix for a table with all sines on the left and all cosines on the right. In ours "
        "they alternate, so the numbers of one frequency are a block of 2 by 2 on the diagonal.",
        for_halves_side_by_side,
    ),
    sign_lost=(
        "Steps back are treated as steps ahead: -3 gives the same matrix as 3. Keep the sign of `offset` in "
        "the angle; the sine does the rest.",
        lambda offset, embed_dim: _blocks(abs(offset) * _rates(embed_dim)),
    ),
    one_step_too_far=(
        "The shift is one step too large: offset 0 should give the identity matrix. The angle is `offset` "
        "times the frequency, with nothing added.",
        lambda offset, embed_dim: _blocks((offset + 1) * _rates(embed_dim)),
    ),
    columns_moved=(
        "This matrix moves the *columns* of an encoding to other positions. A shift in the text leaves every "
        "column where it is and turns each pair of sine and cosine by an angle.",
        lambda offset, embed_dim: torch.roll(torch.eye(embed_dim), offset, dims=0),
    ),
)


@shift_matrix.accepted_alternative(
    "Fills the four diagonals of all blocks at once, with one index for the sines: no loop, and one line "
    "for each corner of the blocks."
)
def filled_by_strides(offset, embed_dim):
    even = torch.arange(0, embed_dim, 2)
    angles = offset / 10000 ** (even / embed_dim)
    matrix = torch.zeros(embed_dim, embed_dim)
    matrix[even, even] = torch.cos(angles)
    matrix[even + 1, even + 1] = torch.cos(angles)
    matrix[even, even + 1] = torch.sin(angles)
    matrix[even + 1, even] = -torch.sin(angles)
    return matrix


@shift_matrix.accepted_alternative(
    "One clock after the other: the matrix of the formula, block by block. It is a loop in Python, which "
    "does not matter for a matrix that is made once."
)
def pair_by_pair(offset, embed_dim):
    matrix = torch.eye(embed_dim)
    for pair in range(embed_dim // 2):
        angle = offset * math.exp(-2 * pair / embed_dim * math.log(10000))
        block = [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        matrix[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = torch.tensor(block)
    return matrix


@shift_matrix.accepted_alternative
def exponential_of_a_generator(offset, embed_dim):
    rates = _rates(embed_dim)
    turn = torch.zeros(embed_dim - 1, dtype=torch.float64)
    turn[::2] = rates
    generator = torch.diag(turn, 1) - torch.diag(turn, -1)
    return torch.linalg.matrix_exp(offset * generator).float()
