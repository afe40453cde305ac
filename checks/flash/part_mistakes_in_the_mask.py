"""What people get wrong about a `part`: what is hidden, and queries with nothing to attend to."""

import math

from attention_lab.authoring.mask_sentences import HIDDEN_SCORES_ARE_ZERO

from .part import finish, part, scaled_scores, shares


@part.mistake("The mask is inverted: True means that a query may attend. Hide where it is False: `~mask`.")
def mask_turned_round(query, key, value, mask=None):
    return _part(scaled_scores(query, key, None if mask is None else ~mask), value)


@part.mistake("The mask changes nothing: every query sees every key. Set hidden scores to -inf.")
def mask_left_out(query, key, value, mask=None):
    return _part(scaled_scores(query, key), value)


@part.mistake(HIDDEN_SCORES_ARE_ZERO)
def hidden_scores_are_zero(query, key, value, mask=None):
    scores = scaled_scores(query, key)
    return _part(scores if mask is None else scores * mask, value)


@part.mistake(
    "The maximum was taken over hidden scores as well. The mean hardly shows it, but maximum and total "
    "are those of the visible keys: hide first, then take the maximum."
)
def maximum_of_the_hidden(query, key, value, mask=None):
    maximum = scaled_scores(query, key).amax(dim=-1)
    return finish(shares(scaled_scores(query, key, mask), maximum), value, maximum)


@part.mistake(
    "Hidden keys are missing in `output`, but not in `total`: they were cleared after the sum was taken. "
    "Clear them before, or the mean is divided by too much."
)
def total_of_the_hidden_too(query, key, value, mask=None):
    maximum = scaled_scores(query, key, mask).amax(dim=-1)
    every = shares(scaled_scores(query, key), maximum)
    total = every.sum(dim=-1)
    seen = every if mask is None else every.masked_fill(~mask, 0.0)
    return seen @ value / total[..., None], maximum, total


@part.mistake(
    "A query with nothing to attend to becomes NaN: its maximum is -inf, and -inf − (-inf) is not a "
    "number. Subtract 0 in such a row instead, and divide by 1 where the total is 0."
)
def minus_infinity_from_itself(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-1)
    exponentials = (scores - maximum[..., None]).exp()
    total = exponentials.sum(dim=-1)
    return exponentials @ value / total[..., None], maximum, total


@part.mistake(
    "`output` is NaN for a query with nothing to attend to: maximum and total are right, but 0 was divided "
    "by 0. Divide by 1 where the total is 0."
)
def zero_by_zero(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-1)
    exponentials = shares(scores, maximum)
    total = exponentials.sum(dim=-1)
    return exponentials @ value / total[..., None], maximum, total


@part.mistake(
    "A query with nothing to attend to has a fixed low number, -1e9 or the smallest float, as its "
    "maximum, and counts its hidden keys. Its part is (0, -inf, 0): hide with -inf, and make sure that no"
    " NaN results."
)
def a_fixed_low_score(query, key, value, mask=None):
    scores = scaled_scores(query, key)
    return _part(scores if mask is None else scores.masked_fill(~mask, -1e9), value)


@part.mistake(
    "`maximum` is 0 for a query with nothing to attend to. 0 is an ordinary score: merged with another part "
    "it would count. It is -inf."
)
def zero_for_an_empty_maximum(query, key, value, mask=None):
    output, maximum, total = _part(scaled_scores(query, key, mask), value)
    return output, maximum.masked_fill(maximum == -math.inf, 0.0), total


@part.mistake(
    "`total` is 1 for a query with nothing to attend to. Dividing by 1 there is right, but its total is "
    "0: it has no key at all."
)
def one_for_an_empty_total(query, key, value, mask=None):
    output, maximum, total = _part(scaled_scores(query, key, mask), value)
    return output, maximum, total.masked_fill(maximum == -math.inf, 1.0)


@part.mistake(
    "The results are right, but a gradient is NaN where a query has nothing to attend to: NaN was "
    "computed there and replaced afterwards, and the backward pass still goes through it. Never compute "
    "it: subtract 0 in such a row."
)
def repaired_afterwards(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-1)
    exponentials = (scores - maximum[..., None]).exp()
    total = exponentials.sum(dim=-1)
    # Not a matrix product: whether its gradient multiplies NaN with 0 depends on the machine's library.
    sums = (exponentials[..., None] * value[..., None, :, :]).sum(dim=-2)
    return (sums / total[..., None]).nan_to_num(0.0), maximum, total.nan_to_num(0.0)


def _part(scores, value):
    maximum = scores.amax(dim=-1)
    return finish(shares(scores, maximum), value, maximum)
