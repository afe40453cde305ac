"""The exercise `merge`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import FLOATS, SUMS_OF_PRODUCTS, Exercise, add_mistakes, case

merge = Exercise(
    "merge",
    results=("output", "maximum", "total"),
    axes=(("queries", "numbers of a value"), ("queries",), ("queries",)),
    tolerance=SUMS_OF_PRODUCTS,
    retest_factor=2.0,  # the total of a part with a key is at least 1
)


def _part(draw, *shape, dtype=torch.float32, apart=1.0, empty=()):
    """A part (output, maximum, total) for queries `shape[:-1]`; those at `empty` see no key."""
    output, maximum = draw.normal(*shape, dtype=dtype), apart * draw.normal(*shape[:-1], dtype=dtype)
    total = 1 + 5 * draw.uniform(*shape[:-1], dtype=dtype)
    for place in empty:
        output[..., place, :], maximum[..., place], total[..., place] = 0.0, -math.inf, 0.0
    return output, maximum, total


@merge.group("two parts of one text", points=1)
def one_text(draw):
    for dtype in FLOATS:
        shape = draw.sizes(2)
        yield case(_part(draw, *shape, dtype=dtype), _part(draw, *shape, dtype=dtype))


@merge.group("batches, and batches with heads", points=1)
def batches(draw):
    for dtype in FLOATS:
        for shape in (draw.sizes(3), draw.sizes(4)):
            yield case(_part(draw, *shape, dtype=dtype), _part(draw, *shape, dtype=dtype))


@merge.group("equal sizes, a single query", points=1)
def edges(draw):
    (size,) = draw.sizes(1)
    for shape in ((size, size), (size, size, size), (1, size), (1, 1), (size, 1), (1, 1, size)):
        yield case(_part(draw, *shape), _part(draw, *shape))


@merge.group("maxima far apart, and large ones", points=1)
def far_apart(draw):
    for dtype in FLOATS:
        shape = draw.sizes(2)
        yield case(_part(draw, *shape, dtype=dtype, apart=30), _part(draw, *shape, dtype=dtype, apart=30))
    # Beside a maximum of thousands float32 has no digits left for the logarithm of a total.
    one, other = (_part(draw, *shape, dtype=torch.float64) for _ in range(2))
    for shift in (5e3, -5e3):
        yield case((one[0], one[1] + shift, one[2]), (other[0], other[1] + shift, other[2]))
    yield case(*(_part(draw, *shape, dtype=torch.float64, apart=4e3) for _ in range(2)))


@merge.group("queries that see nothing in one part, or in both", points=1)
def empty_rows(draw):
    for dtype in FLOATS:
        shape = draw.sizes(3)
        first, second, both = draw.shuffled(range(shape[-2]))[:3]
        one = _part(draw, *shape, dtype=dtype, empty=(first, both))
        other = _part(draw, *shape, dtype=dtype, empty=(second, both))
        yield case(one, other)
        nothing = _part(draw, *shape, dtype=dtype, empty=range(shape[-2]))
        yield case(one, nothing)
        yield case(nothing, other)


def from_scores(answer):
    """The parts of two sets of scores, merged: the output, and the maximum + log(total) of both."""

    def part_of(scores, value):
        maximum = scores.amax(dim=-1)
        exponentials = (scores - maximum.masked_fill(maximum == -math.inf, 0.0)[..., None]).exp()
        total = exponentials.sum(dim=-1)
        return exponentials @ value / total.masked_fill(total == 0, 1.0)[..., None], maximum, total

    def called(scores, value, other_scores, other_value, seen, other_seen):
        scores, other_scores = (
            each.masked_fill(~visible[..., None], -math.inf)
            for each, visible in ((scores, seen), (other_scores, other_seen))
        )
        output, maximum, total = answer(part_of(scores, value), part_of(other_scores, other_value))
        empty = total == 0
        return output, maximum.masked_fill(empty, 0.0) + total.masked_fill(empty, 1.0).log()

    return called


def as_logarithm(answer):
    """Of the merged part the output, and maximum + log(total); both 0 where it is empty.

    A gradient with respect to an empty row may be any number, but not NaN.
    """

    def where_not_empty(part):
        empty = part[2].detach() == 0
        return tuple(
            only_where(each.view_as(each), ~rows)
            for rows, each in zip((empty[..., None], empty, empty), part, strict=True)
        )

    def only_where(tensor, rows):
        if tensor.requires_grad:
            tensor.register_hook(lambda gradient: gradient.masked_fill(~rows & ~gradient.isnan(), 0.0))
        return tensor

    def called(one, other):
        output, maximum, total = answer(where_not_empty(one), where_not_empty(other))
        empty = total == 0
        return output.masked_fill(empty[..., None], 0.0), maximum.masked_fill(empty, 0.0) + total.masked_fill(
            empty, 1.0
        ).log()

    return called


@merge.group("gradients", points=1)
def gradients(draw):
    for dtype in FLOATS:
        shape = draw.sizes(3)
        one, other = (_part(draw, *shape, dtype=dtype, empty=places) for places in ((0, 1), (1, 2)))
        yield case(one, other, through=as_logarithm, gradients=True)
        batch, queries, keys, others, width = draw.sizes(5)
        seen = [torch.ones(batch, queries, dtype=torch.bool) for _ in range(2)]
        for places, visible in zip(((0, 1), (1, 2)), seen, strict=True):
            visible[:, list(places)] = False
        yield case(
            draw.normal(batch, queries, keys, dtype=dtype),
            draw.normal(batch, keys, width, dtype=dtype),
            draw.normal(batch, queries, others, dtype=dtype),
            draw.normal(batch, others, width, dtype=dtype),
            *seen,
            through=from_scores,
            gradients=True,
        )


def larger(one, other):
    """The larger maximum, and the same with 0 for -inf, which can be taken off."""
    maximum = torch.maximum(one[1], other[1])
    return maximum, maximum.masked_fill(maximum == -math.inf, 0.0)


def weighed(one, other, first, second, maximum):
    """The part of both, whose shares of the total are `first` and `second`."""
    total = first + second
    sums = one[0] * first[..., None] + other[0] * second[..., None]
    return sums / total.masked_fill(total == 0, 1.0)[..., None], maximum, total


def rescaled(part, shift):
    return part[2] * (part[1] - shift).exp()


def as_it_came(part, shift):
    return part[2]


def right(one, other, first=rescaled, second=rescaled, ends=lambda merged, one, other: merged):
    """Right; a mistake changes the share of a part, or the results in the end."""
    maximum, shift = larger(one, other)
    return ends(weighed(one, other, first(one, shift), second(other, shift), maximum), one, other)


@merge.accepted_alternative(
    "Both parts stacked in a new axis: the same lines would merge three of them, or a hundred."
)
def stacked(one, other):
    outputs, maxima, totals = (torch.stack(pair) for pair in zip(one, other, strict=True))
    maximum = maxima.amax(dim=0)
    totals = totals * (maxima - maximum.masked_fill(maximum == -math.inf, 0.0)).exp()
    total = totals.sum(dim=0)
    shares = totals / total.masked_fill(total == 0, 1.0)
    return (shares[..., None] * outputs).sum(dim=0), maximum, total


@merge.accepted_alternative(
    "By the logsumexp of each part, with a sigmoid for the share: what ring attention does between machines."
)
def by_logarithms(one, other):
    maximum, shift = larger(one, other)
    totals = [each[2] * (each[1] - shift).exp() for each in (one, other)]
    first, second = (
        (each[1].masked_fill(each[2] == 0, 0.0) + each[2].masked_fill(each[2] == 0, 1.0).log()).masked_fill(
            each[2] == 0, -1e30
        )
        for each in (one, other)
    )
    share = torch.sigmoid(second - first)[..., None]
    return one[0] + share * (other[0] - one[0]), maximum, totals[0] + totals[1]


@merge.accepted_alternative
def in_a_wider_tensor(one, other):
    maximum, shift = larger(one, other)
    both = sum(
        torch.cat([each[0] * each[2][..., None], each[2][..., None]], dim=-1)
        * (each[1] - shift).exp()[..., None]
        for each in (one, other)
    )
    total = both[..., -1]
    return both[..., :-1] / (total + (total == 0))[..., None], maximum, total


def _exponential(part, shift):
    return (part[1] - shift).exp()


def maximum_of_the_first(one, other):
    first, second = one[2], other[2] * (other[1] - one[1]).exp()
    return weighed(one, other, first, second, one[1])


def one_maximum_for_all(one, other):
    maximum = torch.maximum(one[1].max(), other[1].max()).expand_as(one[1]).clone()
    first, second = (each[2] * (each[1] - maximum).exp() for each in (one, other))
    return weighed(one, other, first, second, maximum)


def without_a_shift(one, other):
    maximum, shift = larger(one, other)
    first, second = (each[2] * each[1].exp() for each in (one, other))
    output, _, total = weighed(one, other, first, second, maximum)
    return output, maximum, total / shift.exp()


add_mistakes(
    merge,
    right,
    half_and_half=(
        "The two outputs are averaged half and half. Each counts as much as its keys have weight: its share "
        "of both totals, once these have the same maximum.",
        {"ends": lambda merged, one, other: ((one[0] + other[0]) / 2, *merged[1:])},
    ),
    outputs_added=(
        "The two outputs are added, but each is a mean already. Take their weighted mean: the weights are "
        "the totals, once both belong to the common maximum.",
        {"ends": lambda merged, one, other: (one[0] + other[0], *merged[1:])},
    ),
    neither_rescaled=(
        "The totals are used as they are, although each belongs to a maximum of its own. Rescale both to the "
        "larger one first: total · exp(old maximum − new maximum).",
        {"first": as_it_came, "second": as_it_came},
    ),
    first_not_rescaled=(
        "The first part is not rescaled: its total still belongs to its own maximum. Where the second has "
        "the larger one, the old total shrinks, too.",
        {"first": as_it_came},
    ),
    second_not_rescaled=(
        "The second part is not rescaled: its total still belongs to its own maximum. Where the first has "
        "the larger one, the second shrinks.",
        {"second": as_it_came},
    ),
    total_as_it_came=(
        "`output` is right, but `total` is the sum of both totals as they came. They belong to different "
        "maxima: return the sum of the rescaled ones.",
        {"ends": lambda merged, one, other: (*merged[:2], one[2] + other[2])},
    ),
    divided_by_the_old_totals=(
        "The outputs are weighed by the rescaled totals, and then divided by the sum of the totals as they "
        "came. The new total is the sum of the *rescaled* ones: divide by it, and return it.",
        {
            "ends": lambda merged, one, other: (
                merged[0] * (merged[2] / (one[2] + other[2]).clamp(min=1))[..., None],
                merged[1],
                one[2] + other[2],
            )
        },
    ),
    without_the_totals=(
        "The totals are rescaled, the outputs are mixed by the exp(maximum) of each part alone. A part's "
        "weight is its *rescaled total*: many keys with small scores can outweigh one with a large score.",
        {"ends": lambda merged, one, other: (right(one, other, _exponential, _exponential)[0], *merged[1:])},
    ),
    not_divided=(
        "`output` is the sum of the values and not their mean: both outputs were multiplied by their "
        "rescaled totals, and the division by the new total is missing.",
        {"ends": lambda merged, one, other: (merged[0] * merged[2][..., None], *merged[1:])},
    ),
    rescaled_the_wrong_way=(
        "The rescaling goes the wrong way: exp(new − old) makes the smaller part larger. It is exp(old − "
        "new), at most 1.",
        {
            "first": lambda part, shift: part[2] * (shift - part[1]).exp(),
            "second": lambda part, shift: part[2] * (shift - part[1]).exp(),
        },
    ),
    maximum_of_the_first=(
        "The new maximum is the first part's, also where the second has a larger one. It is the larger of "
        "both, query by query.",
        maximum_of_the_first,
    ),
    one_maximum_for_all=(
        "The new maximum is one number for all queries. Each query keeps its own: `torch.maximum` compares "
        "two tensors element by element.",
        one_maximum_for_all,
    ),
    output_by_old_totals=(
        "`maximum` and `total` are right, but the outputs are mixed by the totals as they came. Use the "
        "rescaled totals for the outputs, too.",
        {"ends": lambda merged, one, other: (right(one, other, as_it_came, as_it_came)[0], *merged[1:])},
    ),
    maxima_added=(
        "The maxima were added. The largest score over all keys is the larger of the two maxima.",
        {"ends": lambda merged, one, other: (merged[0], one[1] + other[1], merged[2])},
    ),
    logarithm_and_one=(
        "`maximum` holds the logarithm of the sum, and `total` is 1 then: the same information, but not "
        "these three results. `maximum` is the largest score, `total` the sum of exp(score − maximum).",
        {
            "ends": lambda merged, one, other: (
                merged[0],
                merged[1] + merged[2].log(),
                (merged[2] > 0).to(merged[2].dtype),
            )
        },
    ),
    without_a_shift=(
        "The larger maximum is never subtracted: exp(maximum) by itself overflows for large scores, or "
        "becomes 0 for very small ones. Only differences are safe: exp(old − new).",
        without_a_shift,
    ),
    base_two=(
        "The rescaling is in base 2, but scores and totals are in base e: `torch.exp`, not `2 **`.",
        {
            "first": lambda part, shift: part[2] * (part[1] - shift).exp2(),
            "second": lambda part, shift: part[2] * (part[1] - shift).exp2(),
        },
    ),
    factors_detached=(
        "The numbers are right, but the gradient is not: the factors exp(old − new) left the graph. Totals "
        "and maxima depend on the scores, and the gradient has to go through both.",
        {
            "first": lambda part, shift: part[2] * (part[1] - shift).detach().exp(),
            "second": lambda part, shift: part[2] * (part[1] - shift).detach().exp(),
        },
    ),
)


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
    "The results are right, but a gradient is NaN where a query sees nothing: NaN was computed there and "
    "replaced afterwards, and the backward pass still goes through it. Never compute it: subtract 0 "
    "there."
)
def repaired_afterwards(one, other):
    maximum = torch.maximum(one[1], other[1])
    first, second = (each[2] * (each[1] - maximum).exp().nan_to_num(0.0) for each in (one, other))
    return weighed(one, other, first, second, maximum)
