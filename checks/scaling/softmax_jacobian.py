"""The exercise `softmax_jacobian`, and the mistakes it can name."""

import torch

from attention_lab.authoring import AUTOMATIC_DIFFERENTIATION, FLOATS, Exercise, add_mistakes, case

softmax_jacobian = Exercise(
    "softmax_jacobian",
    results=("jacobian",),
    axes=(("weights", "scores"),),
    not_allowed=(AUTOMATIC_DIFFERENTIATION,),
)


@softmax_jacobian.group("one row of weights", points=1)
def one_row(draw):
    (keys,) = draw.sizes(1)
    for dtype in FLOATS:
        yield case(draw.weights(keys, dtype=dtype))


@softmax_jacobian.group("many rows, batches and heads", points=2)
def leading_dimensions(draw):
    batch, heads, queries, keys = draw.sizes(4)
    yield case(draw.weights(queries, keys))
    yield case(draw.weights(batch, queries, keys))
    yield case(draw.weights(draw.integer(2, 4), heads, queries, keys))


@softmax_jacobian.group("equal sizes, and a batch of one", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    yield case(draw.weights(size, size))
    yield case(draw.weights(size, size, size))
    yield case(draw.weights(1, 1, size))


@softmax_jacobian.group("saturated weights", points=1)
def saturated(draw):
    queries, keys = draw.sizes(2)
    yield case(torch.eye(keys)[draw.integers(0, keys - 1, queries)])
    yield case(torch.softmax(30 * draw.normal(queries, keys, dtype=torch.float64), dim=-1))


@softmax_jacobian.group("gradients", points=1)
def gradients(draw):
    queries, keys = draw.sizes(2)
    yield case(draw.weights(queries, keys), gradients=True)


def softmax_once_more(weights):
    weights = torch.softmax(weights, dim=-1)
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


add_mistakes(
    softmax_jacobian,
    only_the_diagonal=(
        "Only the diagonal is filled: all other entries are 0. When one score rises, the *other* weights "
        "fall, so entry (i, j) is -w_i · w_j.",
        lambda weights: torch.diag_embed(weights * (1 - weights)),
    ),
    signs_turned=(
        "All signs are reversed: your diagonal is negative, but a weight rises with its own score. Swap the "
        "two terms of the subtraction.",
        lambda weights: weights.unsqueeze(-1) * weights.unsqueeze(-2) - torch.diag_embed(weights),
    ),
    product_forgotten=(
        "This is only diag(w): subtract the outer product of the weights with themselves.",
        lambda weights: torch.diag_embed(weights),
    ),
    diagonal_forgotten=(
        "This is only -w wᵀ: every entry is negative, and the rows sum to -w instead of 0. Add diag(w), the "
        "weights on the diagonal.",
        lambda weights: -weights.unsqueeze(-1) * weights.unsqueeze(-2),
    ),
    identity_for_the_diagonal=(
        "The diagonal is 1 - w_i²: you used an identity matrix in place of diag(w). Put the weights on the "
        "diagonal before you subtract.",
        lambda weights: (
            torch.eye(weights.shape[-1], dtype=weights.dtype) - weights.unsqueeze(-1) * weights.unsqueeze(-2)
        ),
    ),
    inner_product=(
        "You subtract the same number from every entry: w·w, a dot product. The outer product w wᵀ is a "
        "matrix, a column of weights times a row of weights.",
        lambda weights: torch.diag_embed(weights) - (weights * weights).sum(dim=-1)[..., None, None],
    ),
    square_subtracted_twice=(
        "The square of the weight is subtracted twice on the diagonal: w_i (1 - w_i) is the finished "
        "diagonal, and the outer product subtracts w_i² there once more. Put w itself on the diagonal before "
        "you subtract.",
        lambda weights: (
            torch.diag_embed(weights * (1 - weights)) - weights.unsqueeze(-1) * weights.unsqueeze(-2)
        ),
    ),
    squares_of_its_own_weight=(
        "Every entry of a row has the same number subtracted, the square w_i²: the weights were made a "
        "column twice. One of them has to be a row, (1, T), so that entry (i, j) has w_i · w_j.",
        lambda weights: torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-1),
    ),
    queries_with_queries=(
        "The weights are multiplied as one matrix with its transpose, which gives a number for each pair of "
        "queries (and an error for a single row). Each row needs its own outer product: a column (T, 1) "
        "times a row (1, T).",
        lambda weights: torch.diag_embed(weights) - weights @ weights.mT,
    ),
    product_added=(
        "You added the two terms: no entry is negative, and the rows sum to 2w instead of 0. Subtract the "
        "outer product.",
        lambda weights: torch.diag_embed(weights) + weights.unsqueeze(-1) * weights.unsqueeze(-2),
    ),
    softmax_once_more=(
        "You took a softmax of the argument, which already holds weights. Use them as they are.",
        softmax_once_more,
    ),
    one_row_only=(
        "Right for one row, an error for more: `torch.outer` takes vectors only, and `torch.diag` of a "
        "matrix returns its diagonal. Use functions that work on the last axis of any tensor.",
        lambda weights: torch.diag(weights) - torch.outer(weights, weights),
    ),
    one_slope_a_weight=(
        "This has the shape of the weights: it holds only the derivatives w_i (1 - w_i) of each weight in "
        "its own score. Every weight reacts to every score, so each row of weights gives a (T, T) matrix.",
        lambda weights: weights * (1 - weights),
    ),
)


@softmax_jacobian.mistake(
    "The rows of weights are mixed: your matrix product sums over the queries. Each row has its own "
    "Jacobian, from the outer product of that row with itself."
)
def rows_mixed(weights):
    if weights.dim() == 1:
        return torch.diag(weights) - torch.outer(weights, weights)
    products = weights.transpose(-2, -1) @ weights
    return torch.diag_embed(weights) - products.unsqueeze(-3)


@softmax_jacobian.accepted_alternative(
    "Both cases of the derivative in one product, w_i (1 - w_j) on the diagonal and w_i (0 - w_j) "
    "elsewhere. Nothing has to be put on a diagonal, but you need an identity matrix of the right dtype."
)
def from_the_derivative(weights):
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    # A column (..., T, 1) times (T, T) less a row (..., 1, T): entry (i, j) is w_i (1 or 0 - w_j).
    return weights.unsqueeze(-1) * (identity - weights.unsqueeze(-2))


@softmax_jacobian.accepted_alternative
def by_matrix_products_in_place(weights):
    jacobian = -(weights[..., :, None] @ weights[..., None, :])
    jacobian.diagonal(dim1=-2, dim2=-1).add_(weights)
    return jacobian


@softmax_jacobian.accepted_alternative(
    "One row at a time, with diag(w) and the outer product as in the formula, which take vectors. It is a "
    "Python loop, and you have to reshape before and after."
)
def row_by_row(weights):
    rows = weights.reshape(-1, weights.shape[-1])  # all leading axes, as one list of rows
    each = [torch.diag(row) - torch.outer(row, row) for row in rows]
    return torch.stack(each).reshape(*weights.shape, weights.shape[-1])
