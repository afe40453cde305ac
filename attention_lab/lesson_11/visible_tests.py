"""The visible tests of lesson 11's answers: by hand, or against plain attention."""

import math

import torch

from attention_lab.examples import at_most, example, same
from attention_lab.memory import multiplications, peak_bytes

PART = ("output", "maximum", "total")


def test_part(answer):
    # Scores after the division by the root of 4: log 1, log 3, log 8 and their negatives.
    rows = 2 * torch.log(torch.tensor([1.0, 3.0, 8.0]))
    key = torch.stack([rows, torch.zeros(3), torch.ones(3), torch.zeros(3)], dim=-1)  # (T_k, d_k)
    query = torch.tensor([[1.0, 5.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 2.0]])  # (T_q, d_k)
    value = torch.tensor([[10.0, 1.0], [20.0, 0.0], [50.0, -1.0]])  # (T_k, d_v)
    outputs = [[470 / 12, 1 / 12 - 8 / 12], [(10 + 20 / 3 + 50 / 8) / (35 / 24), 0.6]]
    gives = (outputs, [math.log(8), 0.0], [12 / 8, 35 / 24])
    example("two queries, three keys", answer, query, key, value, gives=gives, names=PART)
    two = ([[17.5, 0.25], [12.5, 0.75]], [math.log(3), 0.0], [4 / 3, 4 / 3])
    visible = torch.tensor([True, True, False])
    example("a mask for all queries", answer, query, key, value, visible, gives=two, names=PART)
    empty = torch.tensor([[True, True, False], [False, False, False]])
    nothing = ([[17.5, 0.25], [0.0, 0.0]], [math.log(3), -math.inf], [4 / 3, 0.0])
    title = "a query with nothing to attend to"
    example(title, answer, query, key, value, empty, gives=nothing, names=PART, gradients=False)
    batch = [torch.stack([each, each.flip(0)]) for each in (query, key, value)]
    flipped = tuple(torch.stack([torch.tensor(value), torch.tensor(value).flip(0)]) for value in gives)
    example("two texts", answer, *batch, gives=flipped, names=PART)
    large = answer(1000 * query, key, value)
    same("large scores: the largest takes all", large[0], torch.tensor([[50.0, -1.0], [10.0, 1.0]]))
    same("large scores: the maximum", large[1], torch.tensor([1000 * math.log(8), 0.0]))

    for each in (query, value):
        each.requires_grad_()
    output, _, total = answer(query, key, value, empty)
    gradient, of_value = torch.autograd.grad(output.sum() + total.sum(), (query, value))
    same("no gradient for a query with nothing to attend to", gradient[1], torch.zeros(4))
    finite = gradient[0].isfinite().all() & gradient[0].ne(0).any()
    same("a gradient for the other query", finite, torch.tensor(True))
    weights = torch.tensor([1 / 4, 3 / 4, 0.0])  # of the other query
    same("the gradient of each value: its weight, and no NaN", of_value, weights[:, None].expand(3, 2))


def _triple(outputs, maxima, totals):
    return torch.tensor(outputs), torch.tensor(maxima), torch.tensor(totals)


def _part_of_one_query(scores, values):
    """The part of one query from its scores (1, T_k) and values (T_k, 1)."""
    maximum = scores.amax(dim=-1)
    exponentials = torch.exp(scores - maximum[..., None])
    total = exponentials.sum(dim=-1)
    return exponentials @ values / total[..., None], maximum, total


def test_merge(answer):
    low, high = math.log(2), math.log(8)
    # The second part of query 0 has the larger maximum, the first part of query 1.
    one = _triple([[10.0, 1.0], [30.0, 0.0]], [low, high], [2.0, 1.5])
    other = _triple([[40.0, 4.0], [90.0, 2.0]], [high, low], [1.0, 6.0])
    both = ([[30.0, 3.0], [60.0, 1.0]], [high, high], [1.5, 3.0])
    example("two queries", answer, one, other, gives=both, names=PART)
    example("in the other order", answer, other, one, gives=both, names=PART)
    nothing = _triple([[0.0, 0.0]] * 2, [-math.inf] * 2, [0.0] * 2)
    same_as_one = tuple(each.clone() for each in one)
    title = "with an empty part"
    example(title, answer, one, nothing, gives=same_as_one, names=PART, gradients=False)
    example("the empty part first", answer, nothing, one, gives=same_as_one, names=PART, gradients=False)
    title = "two empty parts"
    example(title, answer, nothing, nothing, gives=nothing, names=PART, gradients=False)
    mixed = tuple(torch.stack([full[0], empty[1]]) for full, empty in zip(one, nothing, strict=True))
    half = ([[30.0, 3.0], [90.0, 2.0]], [high, low], [1.5, 6.0])
    example("one query empty", answer, mixed, other, gives=half, names=PART, gradients=False)
    far = _triple([[10.0, 1.0], [30.0, 0.0]], [5000.0, -5000.0], [2.0, 1.5])
    gives = ([[10.0, 1.0], [90.0, 2.0]], [5000.0, low], [2.0, 6.0])
    example("maxima far apart", answer, far, other, gives=gives, names=PART)
    deep = [tuple(torch.stack([each, each]) for each in triple) for triple in (one, other)]
    gives = tuple(torch.stack([torch.tensor(each)] * 2) for each in both)
    example("two texts", answer, *deep, gives=gives, names=PART)

    scores = torch.tensor([[0.5, 2.0, 1.0]], dtype=torch.float64, requires_grad=True)
    values = torch.tensor([[1.0], [5.0], [2.0]], dtype=torch.float64)
    pieces = [_part_of_one_query(scores[:, keys], values[keys]) for keys in ([0], [1, 2])]
    output, maximum, total = answer(*pieces)
    gradient = torch.autograd.grad(output.sum() + (maximum + total.log()).sum(), scores)[0]
    plain = torch.softmax(scores, dim=-1) @ values
    expected = torch.autograd.grad(plain.sum() + scores.logsumexp(dim=-1).sum(), scores)[0]
    same("the gradient through both parts", gradient, expected)

    full = _triple([[0.5, 0.25, 0.25]], [low], [1.5])
    nothing = (torch.zeros(1, 3), torch.tensor([-math.inf]), torch.zeros(1))
    output = answer(tuple(each.requires_grad_() for each in nothing), nothing)[0]
    gradients = torch.autograd.grad(output.sum(), nothing, allow_unused=True, materialize_grads=True)
    for name, gradient in zip(PART, gradients, strict=True):
        assert not gradient.isnan().any(), f"two empty parts: the gradient of {name} is NaN"
    same("a part merged with an empty one is unchanged", answer(full, nothing)[0], full[0])


def test_flash_attention(answer):
    names = ("output", "logsumexp")
    torch.manual_seed(42)
    query, key, value = torch.randn(2, 10, 4), torch.randn(2, 10, 4), torch.randn(2, 10, 3)
    later = torch.ones(10, 10).triu(1).bool()

    def plain(query, key, hidden=None):
        scores = query @ key.transpose(-2, -1) / 2
        scores = scores if hidden is None else scores.masked_fill(hidden, -math.inf)
        return scores.softmax(dim=-1) @ value[:, : key.shape[1]], scores.logsumexp(dim=-1)

    everything, earlier = plain(query, key), plain(query, key, later)
    for block_size in (5, 4, 1, 16):
        title = f"blocks of {block_size}"
        example(title, answer, query, key, value, block_size, gives=everything, names=names)
        title = f"causal, blocks of {block_size}"
        example(title, answer, query, key, value, block_size, True, gives=earlier, names=names)
    few = (query[:, :3], key, value)
    gives = plain(query[:, :3], key)
    example("three queries, ten keys", answer, *few, 4, gives=gives, names=names)
    alone = answer(query[0], key[0], value[0], 4)
    same("one text without a batch axis", alone[0], everything[0][0])
    heads = answer(*(each[:, None].expand(-1, 3, -1, -1) for each in (query, key, value)), 4)
    same("with heads", heads[0][:, 1], everything[0])
    large, expected = answer(500 * query, key, value, 4), plain(500 * query, key)
    for name, one, right in zip(names, large, expected, strict=True):
        same(f"large scores: {name}", one, right)
    falling = torch.linspace(0.0, -900.0, 10)[:, None] * torch.ones(4)
    fallen = answer(torch.ones(2, 1, 4), falling.expand(2, 10, 4), value, 2)
    same("falling scores", fallen[0], value[:, :1])

    hidden_nan = value.clone()
    hidden_nan[:, 4:] = math.nan  # visible to the queries from 4 on, and to no other
    output = answer(query, key, hidden_nan, 4, causal=True)[0][:, :4]
    same("blocks that are hidden as a whole are not computed", output, earlier[0][:, :4])
    # Blocks of 4 hide 32 of the 100 scores as a whole. 90 may be computed, each with 4 + 3 multiplications.
    with torch.no_grad():
        counted = multiplications(answer, query, key, value, 4, causal=True)
    at_most("causal, no score computed twice", counted, 2 * 90 * (4 + 3), "multiplications")

    # One matrix of all scores takes more than twelve rows of blocks.
    long, row = torch.randn(3, 416, 4), 4 * 416 * 32  # bytes of a row
    held = {}
    with torch.no_grad():
        for causal in (False, True):
            held[causal] = peak_bytes(answer, *long, 32, causal)
            at_most(f"held at once, causal={causal}", held[causal], 12 * row, "bytes")
    masks = max(0, held[True] - held[False])
    at_most("of these, for causal masks", masks, 6 * row, "bytes")


def test_flash_backward(answer):
    names = ("the gradient of query", "the gradient of key", "the gradient of value")
    torch.manual_seed(42)
    shapes = ((2, 10, 4), (2, 10, 4), (2, 10, 3))
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    numbers = [each.detach() for each in inputs]
    grad_output = torch.randn(2, 10, 3)
    later = torch.ones(10, 10).triu(1).bool()

    def plain(query, key, value, hidden):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(hidden, -math.inf)
        return scores.softmax(dim=-1) @ value, scores.logsumexp(dim=-1)

    def by_autograd(query, key, value, hidden, grad_output):
        output, logsumexp = plain(query, key, value, hidden)
        gradients = torch.autograd.grad(output, (query, key, value), grad_output)
        return output.detach(), logsumexp.detach(), gradients

    def compare(title, given, expected):
        example(title, answer, *given, gives=expected, names=names, gradients=False)

    for causal, hidden in ((False, torch.zeros_like(later)), (True, later)):
        output, logsumexp, expected = by_autograd(*inputs, hidden, grad_output)
        given = (*numbers, output, logsumexp, grad_output)
        for block_size in (5, 4, 1, 16):
            compare(f"blocks of {block_size}, causal={causal}", (*given, block_size, causal), expected)
    few = [inputs[0][:, :3], *inputs[1:]]
    output, logsumexp, expected = by_autograd(*few, torch.tensor(False), grad_output[:, :3])
    given = (numbers[0][:, :3], *numbers[1:], output, logsumexp, grad_output[:, :3], 4)
    compare("three queries, ten keys", given, expected)

    steep = [each.double().requires_grad_() for each in (50 * numbers[0], *numbers[1:])]
    output, logsumexp, expected = by_autograd(*steep, later, grad_output.double())
    given = (*(each.detach() for each in steep), output, logsumexp, grad_output.double(), 4, True)
    compare("large scores, causal", given, expected)

    long, grad_output = torch.randn(3, 416, 4), torch.randn(416, 4)
    row = 4 * 416 * 32  # bytes of a row of blocks
    with torch.no_grad():
        output, logsumexp = plain(*long, torch.ones(416, 416).triu(1).bool())
        held = peak_bytes(answer, *long, output, logsumexp, grad_output, 32, True)
    at_most("held at once", held, 12 * row, "bytes")
