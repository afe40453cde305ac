"""The exercise `sharpen`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import FLOATS, Exercise, case

sharpen = Exercise("sharpen", results=("weights",), axes=(("queries", "keys"),), weights=0)


@sharpen.group("one row of scores", points=1)
def one_row(draw):
    (keys,) = draw.sizes(1)
    for dtype in FLOATS:
        yield case(draw.normal(keys, dtype=dtype), draw.integer(2, 24))


@sharpen.group("any number of dimensions", points=1)
def any_rank(draw):
    batch, heads, queries, keys = draw.sizes(4)
    yield case(draw.normal(queries, keys), draw.integer(2, 24))
    yield case(draw.normal(batch, queries, keys), draw.integer(2, 24))
    yield case(draw.normal(batch, heads, queries, keys), draw.integer(2, 24))
    yield case(draw.normal(keys, keys, keys), draw.integer(2, 24))


@sharpen.group("factors that are not whole", points=1)
def fractions(draw):
    queries, keys = draw.sizes(2)
    yield case(draw.normal(queries, keys), draw.integer(1, 9) / 10)
    yield case(draw.normal(queries, keys), draw.integer(11, 49) / 10)


@sharpen.group("large scores", points=1)
def large_scores(draw):
    queries, keys = draw.sizes(2)
    # Whole numbers: their products are exact in float32 too.
    yield case(draw.integers(-1_000, 1_000, queries, keys).float(), draw.integer(2, 24))
    yield case(1_000 * draw.normal(queries, keys, dtype=torch.float64), draw.integer(2, 24))
    # Weights that have underflowed to 0 are brought back by no power.
    yield case(draw.integers(-1_000, 1_000, queries, keys).float(), draw.integer(2, 9) / 1_000)


@sharpen.group("gradients", points=1)
def gradients(draw):
    queries, keys = draw.sizes(2)
    yield case(draw.normal(queries, keys), draw.integer(2, 6), gradients=True)


@sharpen.mistake(
    "The rows sum to the factor, not to 1: the weights were multiplied after the softmax. The factor belongs "
    "on the scores, before it."
)
def weights_multiplied(scores, factor):
    return factor * torch.softmax(scores, dim=-1)


@sharpen.mistake(
    "The weights were raised to the power of the factor and left like that, so the rows no longer sum to 1. "
    "Make the scores louder before the softmax instead."
)
def power_not_normalised(scores, factor):
    return torch.softmax(scores, dim=-1) ** factor


@sharpen.mistake(
    "The weights were raised to the power of the factor and normalised again. On paper that is the same; but "
    "where scores lie far apart, the softmax has rounded small weights to 0 by then, and no power brings "
    "them back. Multiply the scores before the softmax."
)
def power_normalised(scores, factor):
    powers = torch.softmax(scores, dim=-1) ** factor
    return powers / powers.sum(dim=-1, keepdim=True)


@sharpen.mistake(
    "A factor above 1 makes the weights more alike here: the scores are divided by the factor. (That is a "
    "temperature, its inverse.) Multiply them by it."
)
def divided_by_the_factor(scores, factor):
    return torch.softmax(scores / factor, dim=-1)


@sharpen.mistake(
    "These are the weights of the scores as they came, whatever the factor. Adding the factor to all scores, "
    "for example, changes nothing in a softmax: multiply the scores by it."
)
def factor_without_effect(scores, factor):
    return torch.softmax(scores + factor, dim=-1)


@sharpen.mistake(
    "The softmax is taken twice: weights were sharpened as if they were scores. Multiply the scores by the "
    "factor and take one softmax."
)
def softmax_twice(scores, factor):
    return torch.softmax(factor * torch.softmax(scores, dim=-1), dim=-1)


@sharpen.mistake(
    "The scores are raised to the power of the factor, which loses their signs or gives NaN for negative "
    "ones. Multiply the scores by the factor."
)
def power_of_the_scores(scores, factor):
    return torch.softmax(scores**factor, dim=-1)


@sharpen.mistake(
    "The scores are divided by the root of their last size as well. They are scaled already, or not, as the "
    "caller wishes: only the factor belongs here."
)
def scaled_once_more(scores, factor):
    return torch.softmax(factor * scores / math.sqrt(scores.shape[-1]), dim=-1)


@sharpen.mistake(
    "Right for one row, but with more dimensions the softmax runs over the first one. The weights should sum "
    "to 1 over the keys, the last dimension."
)
def over_the_first_dimension(scores, factor):
    return torch.softmax(factor * scores, dim=0)


@sharpen.mistake(
    "Right for a matrix; with another number of dimensions, dimension 1 is not the last one, or does not "
    "exist. Count the dimension from the end."
)
def over_dimension_one(scores, factor):
    return torch.softmax(factor * scores, dim=1)


@sharpen.mistake(
    "Large scores give NaN: the exponential of the product is infinite. Subtract each row's maximum before "
    "the exponential, or use torch's softmax."
)
def exponential_without_maximum(scores, factor):
    exponentials = torch.exp(factor * scores)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@sharpen.mistake(
    "The result is right, but the caller's `scores` were multiplied too: an in-place operation changed the "
    "argument. Make a new tensor."
)
def scores_multiplied_in_place(scores, factor):
    with torch.no_grad():
        scores *= factor
    return torch.softmax(scores, dim=-1)


@sharpen.mistake(
    "These are the louder scores themselves; the rows do not sum to 1. Turn them into weights with a softmax."
)
def no_softmax(scores, factor):
    return factor * scores


@sharpen.also_right(
    "Without torch's softmax: you see why nothing overflows, as the largest exponent is 0; three lines "
    "for one."
)
def by_hand_with_the_maximum(scores, factor):
    louder = scores * factor
    exponentials = (louder - louder.max(dim=-1, keepdim=True).values).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@sharpen.also_right(
    "By way of the logarithms of the weights, which sampling from a language model and its loss need "
    "anyway; an exp more."
)
def by_logarithms(scores, factor):
    return torch.log_softmax(scores * factor, dim=-1).exp()


@sharpen.also_right
def in_place_on_a_copy(scores, factor):
    louder = scores.clone()
    louder *= factor
    return louder.softmax(-1)


@sharpen.also_right
def row_by_row(scores, factor):
    rows = scores.reshape(-1, scores.shape[-1])
    weights = torch.stack([torch.softmax(row * factor, dim=0) for row in rows])
    return weights.view(scores.shape)
