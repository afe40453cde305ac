"""What people get wrong when they `merge` two parts: what is rescaled, and by what."""

import torch

from .merge import larger, merge, right, weighed


@merge.mistake(
    "The two outputs are averaged half and half. Each counts as much as its keys have weight: its share of "
    "both totals, once these have the same maximum."
)
def half_and_half(one, other):
    _, maximum, total = right(one, other)
    return (one[0] + other[0]) / 2, maximum, total


@merge.mistake(
    "The two outputs are added, but each is a mean already. Take their weighted mean: the weights are "
    "the totals, once both belong to the common maximum."
)
def outputs_added(one, other):
    _, maximum, total = right(one, other)
    return one[0] + other[0], maximum, total


@merge.mistake(
    "The totals are used as they are, although each belongs to a maximum of its own. Rescale both to the "
    "larger one first: total · exp(old maximum − new maximum)."
)
def neither_rescaled(one, other):
    maximum, _ = larger(one, other)
    return weighed(one, other, one[2], other[2], maximum)


@merge.mistake(
    "The first part is not rescaled: its total still belongs to its own maximum. Where the second has the "
    "larger one, the old total shrinks, too."
)
def first_not_rescaled(one, other):
    maximum, shift = larger(one, other)
    return weighed(one, other, one[2], other[2] * (other[1] - shift).exp(), maximum)


@merge.mistake(
    "The second part is not rescaled: its total still belongs to its own maximum. Where the first has the "
    "larger one, the second shrinks."
)
def second_not_rescaled(one, other):
    maximum, shift = larger(one, other)
    return weighed(one, other, one[2] * (one[1] - shift).exp(), other[2], maximum)


@merge.mistake(
    "`output` is right, but `total` is the sum of both totals as they came. They belong to different "
    "maxima: return the sum of the rescaled ones."
)
def total_as_it_came(one, other):
    output, maximum, _ = right(one, other)
    return output, maximum, one[2] + other[2]


@merge.mistake(
    "The totals are rescaled, the outputs are mixed by the exp(maximum) of each part alone. A part's weight "
    "is its *rescaled total*: many keys with small scores can outweigh one with a large score."
)
def without_the_totals(one, other):
    _, maximum, total = right(one, other)
    _, shift = larger(one, other)
    output, _, _ = weighed(one, other, (one[1] - shift).exp(), (other[1] - shift).exp(), maximum)
    return output, maximum, total


@merge.mistake(
    "`output` is the sum of the values and not their mean: both outputs were multiplied by their rescaled "
    "totals, and the division by the new total is missing."
)
def not_divided(one, other):
    output, maximum, total = right(one, other)
    return output * total[..., None], maximum, total


@merge.mistake(
    "The rescaling goes the wrong way: exp(new − old) makes the smaller part larger. It is exp(old − new), "
    "at most 1."
)
def rescaled_the_wrong_way(one, other):
    maximum, _ = larger(one, other)
    first, second = (each[2] * (maximum - each[1]).exp() for each in (one, other))
    return weighed(one, other, first, second, maximum)


@merge.mistake(
    "The new maximum is the first part's, also where the second has a larger one. It is the larger of both, "
    "query by query."
)
def maximum_of_the_first(one, other):
    first, second = one[2], other[2] * (other[1] - one[1]).exp()
    return weighed(one, other, first, second, one[1])


@merge.mistake(
    "The new maximum is one number for all queries. Each query keeps its own: `torch.maximum` compares "
    "two tensors element by element."
)
def one_maximum_for_all(one, other):
    maximum = torch.maximum(one[1].max(), other[1].max()).expand_as(one[1]).clone()
    first, second = (each[2] * (each[1] - maximum).exp() for each in (one, other))
    return weighed(one, other, first, second, maximum)


@merge.mistake(
    "`maximum` and `total` are right, but the outputs are mixed by the totals as they came. Use the "
    "rescaled totals for the outputs, too."
)
def output_by_old_totals(one, other):
    _, maximum, total = right(one, other)
    return weighed(one, other, one[2], other[2], maximum)[0], maximum, total


@merge.mistake("The maxima were added. The largest score over all keys is the larger of the two maxima.")
def maxima_added(one, other):
    output, _, total = right(one, other)
    return output, one[1] + other[1], total


@merge.mistake(
    "`maximum` holds the logarithm of the sum, and `total` is 1 then: the same information, but not these"
    " three results. `maximum` is the largest score, `total` the sum of exp(score − maximum)."
)
def logarithm_and_one(one, other):
    output, maximum, total = right(one, other)
    return output, maximum + total.log(), (total > 0).to(total.dtype)


@merge.mistake(
    "The larger maximum is never subtracted: exp(maximum) by itself overflows for large scores, or "
    "becomes 0 for very small ones. Only differences are safe: exp(old − new)."
)
def without_a_shift(one, other):
    maximum, shift = larger(one, other)
    first, second = (each[2] * each[1].exp() for each in (one, other))
    output, _, total = weighed(one, other, first, second, maximum)
    return output, maximum, total / shift.exp()


@merge.mistake("The rescaling is in base 2, but scores and totals are in base e: `torch.exp`, not `2 **`.")
def base_two(one, other):
    maximum, shift = larger(one, other)
    first, second = (each[2] * (each[1] - shift).exp2() for each in (one, other))
    return weighed(one, other, first, second, maximum)


@merge.mistake("The three results are in the wrong order: return output, maximum, total.")
def another_order(one, other):
    output, maximum, total = right(one, other)
    return output, total, maximum


@merge.mistake(
    "The result is right, but the first part was changed on the way: it was written into. Make new tensors."
)
def writes_into_the_first(one, other):
    output, maximum, total = right(one, other)
    for old, new in zip(one, (output, maximum, total), strict=True):
        old.data.copy_(new)
    return one


@merge.mistake(
    "The numbers are right, but the gradient is not: the factors exp(old − new) left the graph. Totals and "
    "maxima depend on the scores, and the gradient has to go through both."
)
def factors_detached(one, other):
    maximum, shift = larger(one, other)
    first, second = (each[2] * (each[1] - shift).detach().exp() for each in (one, other))
    return weighed(one, other, first, second, maximum)
