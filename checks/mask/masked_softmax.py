"""The exercise `masked_softmax`, and the mistakes it can name."""

import torch
import torch.nn.functional as F

from attention_lab.authoring import FLOATS, Exercise, Tolerance, add_mistakes, case
from attention_lab.authoring.mask_sentences import (
    ADDED_AS_NUMBERS,
    ADDED_WITHOUT_CLEARING,
    FILL_TURNED_ROUND,
    FIXED_LOW_SCORE,
    HIDDEN_SCORES_ARE_ZERO,
    SCALED_UP_AFTERWARDS,
    SMALL_FILL,
    SMALL_FILL_CLEARED,
)
from nbjudge.authoring import same_value

EXACTLY = Tolerance((0.0, 0.0), (0.0, 0.0))


masked_softmax = Exercise(
    "masked_softmax",
    results=("weights",),
    axes=(("queries", "keys"),),
    weights=0,
)


@masked_softmax.group("one sequence", points=2)
def one_sequence(draw):
    queries, keys = draw.sizes(2)
    causal = torch.ones(keys, keys).tril().bool()
    for dtype in FLOATS:
        yield case(draw.normal(queries, keys, dtype=dtype), draw.mask(queries, keys))
        yield case(draw.normal(keys, keys, dtype=dtype), causal)


@masked_softmax.group("batches and heads", points=1)
def batches_and_heads(draw):
    batch, queries, keys = draw.sizes(3)
    for shape in ((queries, keys), (batch, 1, keys), (batch, queries, keys)):
        yield case(draw.normal(batch, queries, keys), draw.mask(*shape))
    yield case(draw.normal(batch, 2, queries, keys), draw.mask(queries, keys))
    yield case(draw.normal(1, 1, keys), draw.mask(1, 1, keys))
    yield case(draw.normal(queries, queries, keys), draw.mask(queries, keys))  # as many sentences as queries
    yield case(draw.normal(keys, keys, keys), draw.mask(keys, 1, keys))


def _zero_where_hidden(cases, values):
    """None, a mistake's name or a sentence: exact zeros, which a comparison with a tolerance cannot see."""
    objections = [_not_zero(*each.args, weights) for each, weights in zip(cases, values, strict=True)]
    if not any(objections):
        return None
    for mistake in masked_softmax.mistakes:
        mistaken_values = [
            mistake.answer(drawn_case.args[0].clone(), drawn_case.args[1]) for drawn_case in cases
        ]
        if same_value(values, mistaken_values, EXACTLY, equal_nan=True):
            return mistake.name
    return next(filter(None, objections))


def _not_zero(scores, mask, weights):
    if not isinstance(weights, torch.Tensor) or (weights.shape, weights.dtype) != (
        scores.shape,
        scores.dtype,
    ):
        return f"The weights should be a tensor like the scores: {tuple(scores.shape)}, {scores.dtype}."
    largest = weights[~mask.expand_as(scores)].abs().max().item()
    if largest != 0:
        return f"A hidden key gets weight {largest:.2g}. Hidden keys must weigh exactly 0, not nearly 0."
    if not torch.allclose(weights.sum(dim=-1), weights.new_ones(()), atol=1e-4):
        return "Hidden keys weigh 0, but the weights of the visible ones do not sum to 1 in every row."
    return None


# Rows that sum to 1 and are zero where the mask says so need no scores.
@masked_softmax.group(
    "what is hidden weighs exactly 0", points=1, verify=_zero_where_hidden, withhold_points=True
)
def exactly_zero(draw):
    batch, queries, keys = draw.sizes(3)
    for dtype in FLOATS:
        yield case(draw.normal(queries, keys, dtype=dtype), draw.mask(queries, keys))
        yield case(draw.normal(batch, queries, keys, dtype=dtype), draw.mask(batch, 1, keys))


@masked_softmax.group("nothing to attend to", points=1)
def nothing_to_attend_to(draw):
    batch, queries, keys = draw.sizes(3)
    for dtype in FLOATS:
        mask = draw.mask(queries, keys)
        mask[draw.integer(0, queries - 1)] = False
        yield case(draw.normal(queries, keys, dtype=dtype), mask)
    empty_sentence = draw.mask(batch, 1, keys)
    empty_sentence[draw.integer(0, batch - 1)] = False
    yield case(draw.normal(batch, queries, keys), empty_sentence)
    yield case(draw.normal(1, 1), torch.tensor([[False]]))


@masked_softmax.group("large scores, hidden and visible", points=1)
def large_scores(draw):
    queries, keys = draw.sizes(2)
    mask = draw.mask(queries, keys)
    yield case(draw.normal(queries, keys) + 1000 * ~mask, mask)
    # Hundreds apart, so that each row decides for one key however it is computed.
    ranks = draw.normal(queries, keys).argsort(dim=-1)
    yield case(ranks * 800.0 - 8000, mask)
    yield case(ranks * 400.0 - 9900, mask)
    # A number in the place of hidden scores is to be far below what scores may be; added to them, further.
    # Each row has one visible key: what several share hangs on the rounding of such scores.
    one = torch.zeros(queries, keys, dtype=torch.bool).scatter_(
        -1, draw.integers(0, keys - 1, queries, 1), True
    )
    yield case(torch.where(one, -10_000.0, draw.normal(queries, keys)), one)
    yield case(torch.where(one, -10_000.0, 10_000.0), one)
    yield case(draw.normal(1, 1), torch.tensor([[True]]))


@masked_softmax.group("gradients, also of a row with nothing to attend to", points=2)
def gradients(draw):
    batch, queries, keys = draw.sizes(3)
    for dtype in FLOATS:
        yield case(draw.normal(queries, keys, dtype=dtype), draw.mask(queries, keys), gradients=True)
    empty = draw.mask(batch, queries, keys)
    empty[draw.integer(0, batch - 1), draw.integer(0, queries - 1)] = False
    yield case(draw.normal(batch, queries, keys), empty, gradients=True)


def result_thrown_away(scores, mask):
    scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


add_mistakes(
    masked_softmax,
    true_means_hidden=(
        'The meaning of True is inverted: the weight sits where `mask` is False. Here True means "may '
        'attend", so it is the False entries that have to be hidden.',
        lambda scores, mask: torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1).masked_fill(
            mask, 0.0
        ),
    ),
    fill_turned_round=(
        FILL_TURNED_ROUND,
        lambda scores, mask: torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1).masked_fill(
            ~mask, 0.0
        ),
    ),
    after_the_softmax=(
        "Masked after the softmax: hidden weights are 0, but they had already taken their share, so the rows "
        "sum to less than 1. Hide the *scores*, before the softmax, so that the visible keys share "
        "everything.",
        lambda scores, mask: torch.softmax(scores, dim=-1) * mask,
    ),
    fills_with_zero=(
        HIDDEN_SCORES_ARE_ZERO,
        lambda scores, mask: torch.softmax(scores * mask, dim=-1),
    ),
    result_thrown_away=(
        "Nothing is hidden: these are the weights without any mask. `masked_fill` (without underscore) "
        "leaves `scores` as it is and returns a new tensor, so keep what it returns and use it.",
        result_thrown_away,
    ),
    zero_times_infinity=(
        "Every weight is NaN: minus infinity times 0 is NaN, and it was multiplied with the entries that "
        "should stay. Put -inf only where `mask` is False instead of multiplying.",
        lambda scores, mask: torch.softmax(scores + (~mask).to(scores.dtype) * float("-inf"), dim=-1),
    ),
    over_the_queries=(
        "The columns sum to 1, the rows do not: row i is how query i spreads its attention. Normalise over "
        "the keys, the last dimension.",
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-2).masked_fill(
            ~mask, 0.0
        ),
    ),
    second_axis_from_the_front=(
        "One sentence is right and a batch is not: there the weights sum to 1 over the queries. The axis of "
        "the softmax is counted from the front, and with a batch in front axis 1 holds the queries. The keys "
        "are the last axis: count from the end.",
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=1).masked_fill(
            ~mask, 0.0
        ),
    ),
    empty_row_is_nan=(
        "A row with nothing to attend to is NaN: with every key hidden, the softmax has nothing to divide "
        "by. Such a row should be all zeros: clear the hidden entries of the weights afterwards.",
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1),
    ),
    empty_row_is_uniform=(
        "A row with nothing to attend to comes out uniform: a fill of -1e9 hides a key only beside a higher "
        "score, and where all are equal each gets 1/T. Such a row should be all zeros: clear the hidden "
        "entries of the weights too.",
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1),
    ),
    added_without_clearing=(
        ADDED_WITHOUT_CLEARING,
        lambda scores, mask: torch.softmax(scores + mask.to(scores.dtype).log(), dim=-1),
    ),
    added_as_numbers=(
        ADDED_AS_NUMBERS,
        lambda scores, mask: torch.softmax(scores + mask.to(scores.dtype), dim=-1),
    ),
    additive_mask=(
        "The weights are right, but the gradient of a row with nothing to attend to is NaN: -inf was *added* "
        "to the scores, or written into them in place, so the backward pass goes straight through the NaN. "
        "Replace the hidden scores by `masked_fill`, which blocks it.",
        lambda scores, mask: torch.softmax(
            scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, float("-inf")), dim=-1
        ).nan_to_num(),
    ),
)


@masked_softmax.mistake(
    "Exponentials times the mask, divided by their sum, is 0/0 where nothing (or only underflow) is left;"
    " clearing the NaN afterwards fixes the weights, but the gradient stays NaN. Hide the *scores*, "
    "before any exponential."
)
def exponentials_times_mask(scores, mask):
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * mask
    return (exponentials / exponentials.sum(dim=-1, keepdim=True)).nan_to_num()


@masked_softmax.mistake(
    "Hidden scores take part in the softmax and the rest is scaled up afterwards. When a hidden score is "
    "much higher (by 1000 here), the visible weights underflow to 0 and nothing is left to scale up: hide"
    " the scores first."
)
def scaled_up_afterwards(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)


@masked_softmax.mistake(SCALED_UP_AFTERWARDS)
def scaled_up_to_nan(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)


add_mistakes(
    masked_softmax,
    fixed_low_score=(
        "Hidden keys get a fixed score of about -100. Where the visible scores are thousands below zero, "
        "that is the highest and takes all the weight; only minus infinity is below everything. And clear "
        "the hidden weights of rows with no visible key.",
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -100.0), dim=-1),
    ),
    low_score_and_cleared=(
        FIXED_LOW_SCORE,
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -1e4), dim=-1).masked_fill(~mask, 0.0),
    ),
    filled_with_ten=(
        SMALL_FILL,
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -10.0), dim=-1),
    ),
    filled_with_ten_and_cleared=(
        SMALL_FILL_CLEARED,
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -10.0), dim=-1).masked_fill(~mask, 0.0),
    ),
    filled_with_a_hundred_and_cleared=(
        "Hidden scores become a number such as -100. Beside scores of ordinary size that hides them; where "
        "visible scores are thousands below zero they take all the weight, and clearing leaves none. Only "
        "minus infinity is below every score.",
        lambda scores, mask: torch.softmax(scores.masked_fill(~mask, -100.0), dim=-1).masked_fill(~mask, 0.0),
    ),
)


@masked_softmax.accepted_alternative(
    "where reads as a sentence: the score where the mask says so, else -inf. It makes new tensors both "
    "times; the second where also clears the rows that were NaN."
)
def with_where(scores, mask):
    weights = torch.where(mask, scores, -torch.inf).softmax(dim=-1)
    return torch.where(mask, weights, 0.0)


@masked_softmax.accepted_alternative
def with_nan_to_num(scores, mask):
    return F.softmax(scores.masked_fill(mask == False, -torch.inf), -1).nan_to_num(nan=0.0)  # noqa: E712


@masked_softmax.accepted_alternative
def with_a_large_number_and_cleared(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1) * mask


@masked_softmax.accepted_alternative(
    "No -inf, and so never a NaN to clear: hidden exponentials become 0 by a product, and a sum of 0 is "
    "raised to 1. Useful where NaN must not occur at all, for example while you search for one. It is "
    "longer to read."
)
def by_hand(scores, mask):
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    exponentials = torch.exp(filled - filled.amax(dim=-1, keepdim=True)) * mask
    return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1)


@masked_softmax.accepted_alternative
def row_by_row(scores, mask):
    rows, keep = scores.reshape(-1, scores.shape[-1]), mask.expand_as(scores).reshape(-1, scores.shape[-1])
    weights = torch.zeros_like(rows)
    for row in range(len(rows)):
        weights[row, keep[row]] = torch.softmax(rows[row, keep[row]], dim=0)
    return weights.view(scores.shape)


@masked_softmax.accepted_alternative
def by_logarithms_in_place(scores, mask):
    filled = scores.clone()
    filled.masked_fill_(~mask, -torch.inf)
    return torch.exp(filled - filled.logsumexp(dim=-1, keepdim=True)).masked_fill(~mask, 0.0)
