"""The exercise `order_matters`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, Exercise, Obfuscation, add_mistakes, case, in_any_order

order_matters = Exercise(
    "order_matters",
    results=("answer",),
)

# Each returns (B, T, E) for x (B, T, E), with the tensors that `_case` hands over.
ATTENTION = "return torch.softmax(x @ w @ x.mT / math.sqrt(x.shape[-1]), dim=-1) @ x"
# Number by number, so that it is exact: on some processors a product rounds a row by its position.
WORD_BY_WORD = "return torch.relu(x * w[0])"
SHARED_MEAN = "return x + x.mean(dim=1, keepdim=True)"
POSITIONS_ADDED = "return x + places"
ATTENTION_WITH_POSITIONS = """
x = x + places
return torch.softmax(x @ w @ x.mT / math.sqrt(x.shape[-1]), dim=-1) @ x
"""
CAUSAL = """
hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
scores = (x @ w @ x.mT / math.sqrt(x.shape[-1])).masked_fill(hidden, -math.inf)
return torch.softmax(scores, dim=-1) @ x
"""
CONVOLUTION = "return F.conv1d(x.mT, w.expand(3, -1, -1).permute(1, 2, 0), padding=1).mT"
# Comparing place by place sees no difference here: each place adds its own to what all share.
MEAN_AND_POSITIONS = "return x.mean(dim=1, keepdim=True) + places"
RUNNING_SUM = "return x.cumsum(dim=1)"
WITH_ORDER = (
    POSITIONS_ADDED,
    ATTENTION_WITH_POSITIONS,
    MEAN_AND_POSITIONS,
    CAUSAL,
    CONVOLUTION,
    RUNNING_SUM,
)
WITHOUT_ORDER = (ATTENTION, WORD_BY_WORD, SHARED_MEAN)
WAYS = (*WITH_ORDER, *WITHOUT_ORDER)
_FUNCTION = """
def made(x):
    <way>
"""


def _obfuscation(draw):
    """The code that all functions of a group share, so that it does not tell which of them has an order."""
    return Obfuscation(draw, _FUNCTION, {"way": WAYS})


def _case(draw, obfuscation, way, sizes, permutation=None, dtype=torch.float32, places=None):
    batch, length, width = sizes
    given = {
        "w": draw.normal(width, width, dtype=dtype) / width**0.5,
        "places": draw.normal(length, width, dtype=dtype) if places is None else places,
    }
    order = _order(draw, length) if permutation is None else permutation
    attention = obfuscation.draw_function({"way": WAYS.index(way)}, given)
    return case(attention, draw.normal(batch, length, width, dtype=dtype), order)


def _order(draw, length):
    """Moves every token, and is not undone by itself: two such steps are no way back."""
    order = draw.permutation(length)
    while torch.equal(order[order], torch.arange(length)):
        order = draw.permutation(length)
    return order


# Every group holds both answers, so that one that never changes is worth nothing; and so many of each in
# the first two that no dice are right.
@order_matters.group("attention alone and word by word, beside a running sum", points=1)
@in_any_order
def alone(draw):
    obfuscation = _obfuscation(draw)
    for dtype in FLOATS:
        for way in WITHOUT_ORDER:
            yield _case(draw, obfuscation, way, draw.sizes(3), dtype=dtype)
            yield _case(draw, obfuscation, RUNNING_SUM, draw.sizes(3), dtype=dtype)


@order_matters.group("positions, a mask or a convolution, beside plain attention", points=1)
@in_any_order
def with_places(draw):
    obfuscation = _obfuscation(draw)
    for way in WITH_ORDER:
        yield _case(draw, obfuscation, way, draw.sizes(3))
        yield _case(draw, obfuscation, ATTENTION, draw.sizes(3))


@order_matters.group("as many sentences as tokens and dimensions", points=1)
@in_any_order
def equal_sizes(draw):
    obfuscation = _obfuscation(draw)
    (size,) = draw.sizes(1)
    for way in (ATTENTION, CAUSAL, RUNNING_SUM, WORD_BY_WORD):
        yield _case(draw, obfuscation, way, (size, size, size))
        yield _case(draw, obfuscation, way, (1, size, size))


@order_matters.group("in one place only, or hardly at all", points=1)
@in_any_order
def small_differences(draw):
    obfuscation = _obfuscation(draw)
    batch, length, width = draw.sizes(3)
    order = _order(draw, length)
    # Neither the first token nor the one that becomes the first: a look at the first must not see it.
    place = next(p for p in range(length - 1, 0, -1) if p != int(order[0]))
    bump, first_bump = torch.zeros(2, length, width)
    bump[place, width - 1] = first_bump[0, width - 1] = 0.05
    last_sentence = torch.zeros(batch, length, width)
    last_sentence[-1] = draw.normal(length, width)
    for places in (bump, first_bump, last_sentence):
        yield _case(draw, obfuscation, POSITIONS_ADDED, (batch, length, width), order, places=places)
    rounding = draw.uniform(length, width, dtype=torch.float64) * 1e-6
    sizes = (batch, length, width)
    yield _case(draw, obfuscation, POSITIONS_ADDED, sizes, dtype=torch.float64, places=rounding)


@order_matters.group("nothing moved, and then something", points=1)
@in_any_order
def nothing_moved(draw):
    obfuscation = _obfuscation(draw)
    for way in (RUNNING_SUM, ATTENTION):
        batch, length, width = draw.sizes(3)
        yield _case(draw, obfuscation, way, (batch, length, width), torch.arange(length))
    yield _case(draw, obfuscation, RUNNING_SUM, (batch, length, width))


add_mistakes(
    order_matters,
    output_not_permuted=(
        "You report that order matters to plain self-attention. You compare the outputs position by "
        "position, but a permuted sentence has its outputs in other positions: permute the old outputs in "
        "the same way before you compare.",
        lambda attend, x, permutation: bool(((attend(x[:, permutation]) - attend(x)).abs() > 1e-4).any()),
    ),
    upside_down=(
        "The answer is the wrong way round: it is True for plain self-attention and False for a running sum. "
        "Return True where permuting the tokens does *more* than permute the outputs.",
        lambda attend, x, permutation: bool(
            ((attend(x[:, permutation]) - attend(x)[:, permutation]).abs() <= 1e-4).all()
        ),
    ),
    sentences_permuted=(
        "You permute the sentences of the batch instead of the tokens. x is (B, T, E): the permutation has T "
        "entries and belongs to the second dimension.",
        lambda attend, x, permutation: bool(
            ((attend(x[permutation]) - attend(x)[permutation]).abs() > 1e-4).any()
        ),
    ),
    dimensions_permuted=(
        "You permute the numbers inside each token instead of the tokens. x is (B, T, E): the permutation "
        "has T entries and belongs to the second dimension, not to the last.",
        lambda attend, x, permutation: bool(
            ((attend(x[..., permutation]) - attend(x)[..., permutation]).abs() > 1e-4).any()
        ),
    ),
    permuted_twice=(
        "You report that order matters to plain self-attention: you compare with outputs that are not moved, "
        "or are moved by the inverse permutation, or are moved twice. Move the outputs of x exactly as the "
        "tokens were moved, and compare.",
        lambda attend, x, permutation: bool(
            ((attend(x[:, permutation])[:, permutation] - attend(x)).abs() > 1e-4).any()
        ),
    ),
    exactly_equal=(
        "You report that order matters to plain self-attention, because you compare for exactly equal "
        "numbers. Sums in another order are rounded differently; only differences above 1e-4 count.",
        lambda attend, x, permutation: not torch.equal(attend(x[:, permutation]), attend(x)[:, permutation]),
    ),
    averages_compared=(
        "You compare only averages over the sentence. Where every position adds something of its own, the "
        "tokens change and their average does not: compare token by token.",
        lambda attend, x, permutation: bool(
            ((attend(x[:, permutation]).mean(dim=1) - attend(x).mean(dim=1)).abs() > 0.0001).any()
        ),
    ),
    first_token_only=(
        "You compare only the first token's output. Order may show at any other position: compare all tokens "
        "of all sentences.",
        lambda attend, x, permutation: bool(
            ((attend(x[:, permutation])[:, 0] - attend(x)[:, permutation[0]]).abs() > 0.0001).any()
        ),
    ),
    first_sentence_only=(
        "You compare only the first sentence of the batch, and another one differs. Compare all sentences.",
        lambda attend, x, permutation: bool(
            ((attend(x[:, permutation])[0] - attend(x)[0, permutation]).abs() > 0.0001).any()
        ),
    ),
    only_large_differences=(
        "You count only large differences. Order matters as soon as one number of one token differs by more "
        "than 1e-4.",
        lambda attend, x, permutation: bool(
            ((attend(x[:, permutation]) - attend(x)[:, permutation]).abs() > 0.1).any()
        ),
    ),
    all_must_differ=(
        "You report a difference only where *every* number differs. Order matters as soon as one number of "
        "one token differs by more than 1e-4.",
        lambda attend, x, permutation: bool(
            ((attend(x[:, permutation]) - attend(x)[:, permutation]).abs() > 1e-4).all()
        ),
    ),
)


@order_matters.accepted_alternative(
    "One call says what is compared and how closely. Set rtol to 0, or large outputs may differ by more."
)
def with_allclose(attend, x, permutation):
    return not torch.allclose(attend(x[:, permutation, :]), attend(x)[:, permutation, :], rtol=0, atol=1e-4)


@order_matters.accepted_alternative(
    "Permute, call the layer, and undo the permutation: argsort gives its inverse. This is the definition "
    "of equivariance, read the other way round."
)
def put_back_in_order(attend, x, permutation):
    back = torch.argsort(permutation)
    return (attend(x.index_select(1, permutation))[:, back] - attend(x)).abs().max().item() > 1e-4


@order_matters.accepted_alternative
def token_by_token(attend, x, permutation):
    before, after = attend(x), attend(torch.stack([x[:, place] for place in permutation], dim=1))
    for new_place, old_place in enumerate(permutation.tolist()):
        if (after[:, new_place] - before[:, old_place]).abs().amax() > 1e-4:
            return True
    return False
