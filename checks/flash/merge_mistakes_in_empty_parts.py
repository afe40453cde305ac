"""What people get wrong when they `merge` parts in which a query sees nothing."""

import math

import torch

from .merge import larger, merge, right, weighed


@merge.mistake(
    "A query that sees nothing in *either* part becomes NaN: its new maximum is -inf, and -inf − (-inf) "
    "is not a number. Subtract 0 there, and divide by 1 where the total is 0."
)
def minus_infinity_from_itself(one, other):
    maximum = torch.maximum(one[1], other[1])
    first, second = (each[2] * (each[1] - maximum).exp() for each in (one, other))
    total = first + second
    return (one[0] * first[..., None] + other[0] * second[..., None]) / total[..., None], maximum, total


@merge.mistake(
    "`output` is NaN where a query sees nothing in either part: maximum and total are right, but 0 was "
    "divided by 0. Divide by 1 where the total is 0."
)
def zero_by_zero(one, other):
    maximum, shift = larger(one, other)
    first, second = (each[2] * (each[1] - shift).exp() for each in (one, other))
    total = first + second
    return (one[0] * first[..., None] + other[0] * second[..., None]) / total[..., None], maximum, total


@merge.mistake(
    "If one query sees nothing, the whole other part is returned. Decide for each query whether a part is"
    " empty: `torch.where`, or factors that are 0 there."
)
def one_empty_row_for_all(one, other):
    if one[1].isinf().any():
        return tuple(each.clone() for each in other)
    if other[1].isinf().any():
        return tuple(each.clone() for each in one)
    return right(one, other)


@merge.mistake(
    "`maximum` is 0 where a query sees nothing in either part. 0 is an ordinary score, so it would count "
    "in the next merge. It stays -inf: use the 0 for the subtraction only."
)
def zero_for_an_empty_maximum(one, other):
    output, maximum, total = right(one, other)
    return output, maximum.masked_fill(maximum == -math.inf, 0.0), total


@merge.mistake(
    "`total` is 1 where a query sees nothing in either part. Dividing by 1 there is right, but the "
    "returned total is 0."
)
def one_for_an_empty_total(one, other):
    output, maximum, total = right(one, other)
    return output, maximum, total.masked_fill(maximum == -math.inf, 1.0)


@merge.mistake(
    "-inf was replaced by a very low number: `maximum` is -1e9, or the smallest float, where a query sees"
    " nothing. Return -inf."
)
def a_fixed_low_maximum(one, other):
    output, maximum, total = right(one, other)
    return output, maximum.clamp(min=-1e9), total


@merge.mistake(
    "The results are right, but a gradient is NaN where a query sees nothing: NaN was computed there and "
    "replaced afterwards, and the backward pass still goes through it. Never compute it: subtract 0 "
    "there."
)
def repaired_afterwards(one, other):
    maximum = torch.maximum(one[1], other[1])
    first, second = (each[2] * (each[1] - maximum).exp().nan_to_num(0.0) for each in (one, other))
    return weighed(one, other, first, second, maximum)
