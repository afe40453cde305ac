"""The exercise `softmax`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, SOFTMAX, Exercise, add_mistakes, case

softmax = Exercise(
    "softmax",
    results=("weights",),
    axes=(("queries", "keys"),),
    weights=0,
    not_allowed=(SOFTMAX,),
)


@softmax.group("one row of scores", points=1)
def one_row(draw):
    (length,) = draw.sizes(1)
    for dtype in FLOATS:
        yield case(draw.normal(length, dtype=dtype))


@softmax.group("a table of scores", points=1)
def table(draw):
    rows, columns = draw.sizes(2)
    for dtype in FLOATS:
        yield case(draw.normal(rows, columns, dtype=dtype) * 3)


@softmax.group("batches of tables", points=2)
def batches(draw):
    batch, heads, rows, columns = draw.sizes(4)
    yield case(draw.normal(batch, rows, columns))
    yield case(draw.normal(batch, heads, rows, columns))


@softmax.group("all axes of one size, a batch of one, and a single score", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    yield case(draw.normal(size, size))
    yield case(draw.normal(size, size, size))
    yield case(draw.normal(size, 1))
    yield case(draw.normal(1, 1, size))


@softmax.group("large scores", points=2)
def large(draw):
    rows, columns = draw.sizes(2)
    level = torch.where(torch.arange(rows) % 2 == 0, 1.0, -1.0).unsqueeze(-1)
    # Digits are asked for only where every right formula has them: float32 near 100, float64 near 10,000.
    yield case(draw.normal(rows, columns) + 100 * level)
    yield case(draw.normal(rows, columns, dtype=torch.float64) + 10_000 * level.double())
    # In float32 near 10,000 the gaps are wide: one key takes all.
    order = torch.stack([draw.permutation(columns) for _ in range(rows)])
    yield case((order / (columns - 1) * 2 - 1) * 10_000)


@softmax.group("gradients", points=1)
def gradients(draw):
    rows, columns = draw.sizes(2)
    yield case(draw.normal(rows, columns), gradients=True)


def _peak(scores, dim):
    return scores.amax(dim=dim, keepdim=True)


def _total(exponentials, dim):
    return exponentials.sum(dim=dim, keepdim=True)


def _nothing(scores, dim):
    return 0.0


def _softmax(scores, dim=-1, peak=_peak, total=_total):
    """Right; most mistakes change what is subtracted from the scores, or what divides the exponentials."""
    exponentials = torch.exp(scores - peak(scores, dim))
    return exponentials / total(exponentials, dim)


def logarithms(scores):
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


def sigmoid(scores):
    return torch.sigmoid(scores)


add_mistakes(
    softmax,
    _softmax,
    over_the_first_dimension=(
        "The columns sum to 1, the rows do not. Row i is how query i spreads its attention over the keys: "
        "normalise over the last dimension, not the first.",
        {"dim": 0},
    ),
    over_the_queries=(
        "You normalise over the second-last dimension, the queries: the columns sum to 1, the rows do not, "
        "and a single row of scores fails. Row i is how query i spreads its attention: use the last "
        "dimension.",
        {"dim": -2},
    ),
    over_dimension_one=(
        "Dimension 1 is the last one only in a table: a single row has no dimension 1, and in a batch it is "
        "the queries. Count from the end: dimension -1 is always the last one.",
        {"dim": 1},
    ),
    sum_over_dimension_one=(
        "The sum runs over dimension 1. That is the last one only in a table: a single row has no such "
        "dimension, and in a batch it is the queries. Count from the end: dimension -1 is always "
        "the last one.",
        {"total": lambda exponentials, dim: exponentials.sum(dim=1, keepdim=True)},
    ),
    nothing_subtracted=(
        "Right for small scores; for large ones exp overflows to inf and the weights are NaN. Adding one "
        "number to a whole row changes nothing, so first shift each row until its largest score is 0.",
        {"peak": _nothing},
    ),
    one_sum_and_nothing_subtracted=(
        "Two things are missing: each row needs its own sum, and large scores overflow. Sum over the last "
        "dimension only, and shift each row first until its largest score is 0.",
        {"peak": _nothing, "total": lambda exponentials, dim: exponentials.sum()},
    ),
    maximum_with_its_positions=(
        "`max` with a `dim` returns two tensors, the maxima and their positions, and a pair cannot be "
        "subtracted. Take the maxima, its `values`, or use `amax`.",
        {"peak": lambda scores, dim: scores.max(dim=dim, keepdim=True)},
    ),
    maximum_of_everything=(
        "You subtract one maximum from the whole tensor. In a row far below it all exponentials are 0, and 0 "
        "/ 0 is NaN: subtract each row's own maximum.",
        {"peak": lambda scores, dim: scores.max()},
    ),
    clipped=(
        "The scores are clipped before exp: it no longer overflows, but large scores that differ get the "
        "same weight. Subtract each row's own maximum instead; that loses nothing.",
        lambda scores: _softmax(scores.clamp(-50, 50), peak=_nothing),
    ),
    scores_over_their_sum=(
        "Some weights are negative: the scores themselves are divided by their sum. Make them positive with "
        "exp first, then divide by the sum of the exponentials.",
        lambda scores: scores / scores.sum(dim=-1, keepdim=True),
    ),
    one_sum_for_everything=(
        "The whole tensor sums to 1, so each row sums to less: you divided by one sum over everything. Every "
        "row has its own sum; sum over the last dimension only.",
        {"total": lambda exponentials, dim: exponentials.sum()},
    ),
    sum_without_its_dimension=(
        "The sum over the last dimension removes that dimension, so it no longer lines up with the rows: a "
        "table fails, and a square table divides row i by the sums of other rows. Use keepdim=True.",
        {"total": lambda exponentials, dim: exponentials.sum(dim=dim)},
    ),
    not_normalised=(
        "The largest number of every row is 1, and the rows sum to more than 1: these are the exponentials. "
        "Divide each row by its sum.",
        {"total": lambda exponentials, dim: 1.0},
    ),
    logarithms=(
        "These are the logarithms of the weights: none of them is above 0. Take exp at the end.",
        logarithms,
    ),
    upside_down=(
        "The order is reversed: the largest score gets the smallest weight. The sign before exp is wrong: "
        "subtract the maximum from the scores, not the scores from the maximum.",
        lambda scores: _softmax(-scores, peak=lambda scores, dim: scores.amin(dim=dim, keepdim=True)),
    ),
    sigmoid=(
        "Each weight depends on its own score only, and the rows do not sum to 1: that is a sigmoid. In a "
        "softmax the scores of a row compete: divide each exponential by the sum over its row.",
        sigmoid,
    ),
    changes_the_scores=(
        "The weights are right, but the caller's scores are changed: -= or a method that ends in an "
        "underscore writes into the caller's tensor. Put the shifted scores into a new tensor.",
        lambda scores: _softmax(scores.sub_(_peak(scores, -1)), peak=_nothing),
    ),
    always_float32=(
        "float64 scores come back as float32: .float() or a new tensor fixes the dtype. The result should "
        "have the dtype of the scores.",
        lambda scores: _softmax(scores.float()),
    ),
    cut_off_from_the_gradient=(
        "The weights are right, but no gradient reaches the scores: .detach(), .data, .numpy() or no_grad "
        "cuts it off. Compute from the scores directly.",
        lambda scores: _softmax(scores.detach()),
    ),
)


@softmax.accepted_alternative(
    "Through the logarithms of the weights: losses need these, and they stay exact where a weight is too "
    "small for a float. It costs one more exp and one log."
)
def by_logarithms(scores):
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    # The logarithm of a quotient is a difference: s - log of the sum of exp(s).
    return torch.exp(shifted - shifted.exp().sum(dim=-1, keepdim=True).log())


@softmax.accepted_alternative
def in_place_on_its_own(scores):
    weights = scores.clone()
    weights -= scores.max(dim=-1, keepdim=True).values.detach()
    weights = weights.exp_()
    return weights / weights.sum(-1, keepdim=True)


@softmax.accepted_alternative(
    "One row at a time: there is no dimension to keep, and each line is the formula. It is a Python loop, "
    "so it is slow for many rows."
)
def row_by_row(scores):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):  # all leading axes, as one list of rows
        exponentials = (row - row.max()).exp()
        rows.append(exponentials / exponentials.sum())
    return torch.stack(rows).reshape(scores.shape)


@softmax.accepted_alternative
def by_gaps(scores):
    gaps = scores.unsqueeze(-2) - scores.unsqueeze(-1)
    return 1 / torch.exp(gaps).sum(dim=-1)


@softmax.accepted_alternative
def logarithm_at_full_height(scores):
    largest = scores.amax(dim=-1, keepdim=True)
    total = largest + torch.log(torch.exp(scores - largest).sum(dim=-1, keepdim=True))
    return torch.exp(scores - total)
