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
    "The rows sum to the factor, not to 1: you multiplied the weights, after the softmax. Multiply the "
    "scores, before it."
)
def weights_multiplied(scores, factor):
    return factor * torch.softmax(scores, dim=-1)


@sharpen.mistake(
    "You raised the weights to the power of the factor, so the rows no longer sum to 1. Multiply the scores "
    "before the softmax instead."
)
def power_not_normalised(scores, factor):
    return torch.softmax(scores, dim=-1) ** factor


@sharpen.mistake(
    "You raised the weights to the power of the factor and normalised them again. In exact arithmetic that "
    "is the same, but if scores are far apart, the softmax rounds small weights to 0, and no power brings "
    "them back. Multiply the scores before the softmax."
)
def power_normalised(scores, factor):
    powers = torch.softmax(scores, dim=-1) ** factor
    return powers / powers.sum(dim=-1, keepdim=True)


@sharpen.mistake(
    "You divide the scores by the factor, so a factor above 1 makes the weights more equal. (The divisor is "
    "called a temperature.) Multiply by the factor."
)
def divided_by_the_factor(scores, factor):
    return torch.softmax(scores / factor, dim=-1)


@sharpen.mistake(
    "The factor has no effect: these are the weights of the unchanged scores. Adding the factor to all "
    "scores, for example, does not change a softmax: multiply the scores by it."
)
def factor_without_effect(scores, factor):
    return torch.softmax(scores + factor, dim=-1)


@sharpen.mistake(
    "You take the softmax twice: the weights are sharpened as if they were scores. Multiply the scores by "
    "the factor and take one softmax."
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
    "You also divide the scores by the root of their last size. Whether scores are scaled is up to the "
    "caller: multiply by the factor only."
)
def scaled_once_more(scores, factor):
    return torch.softmax(factor * scores / math.sqrt(scores.shape[-1]), dim=-1)


@sharpen.mistake(
    "Right for one row, but with more dimensions you take the softmax over the first one. The weights "
    "should sum to 1 over the keys, the last dimension."
)
def over_the_first_dimension(scores, factor):
    return torch.softmax(factor * scores, dim=0)


@sharpen.mistake(
    "Right for a matrix; with more or fewer dimensions, dimension 1 is not the last one, or does not exist. "
    "Count the dimension from the end."
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
    "These are the multiplied scores; the rows do not sum to 1. Turn them into weights with a softmax."
)
def no_softmax(scores, factor):
    return factor * scores


@sharpen.accepted_alternative(
    "Without torch's softmax: you see why nothing overflows, because the largest exponent is 0. It takes "
    "three lines instead of one."
)
def by_hand_with_the_maximum(scores, factor):
    louder = scores * factor
    exponentials = (louder - louder.max(dim=-1, keepdim=True).values).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@sharpen.accepted_alternative(
    "Through the logarithms of the weights, which the loss of a language model needs anyway. It costs one "
    "more exp."
)
def by_logarithms(scores, factor):
    return torch.log_softmax(scores * factor, dim=-1).exp()


@sharpen.accepted_alternative
def in_place_on_a_copy(scores, factor):
    louder = scores.clone()
    louder *= factor
    return louder.softmax(-1)


@sharpen.accepted_alternative
def row_by_row(scores, factor):
    rows = scores.reshape(-1, scores.shape[-1])
    weights = torch.stack([torch.softmax(row * factor, dim=0) for row in rows])
    return weights.view(scores.shape)
