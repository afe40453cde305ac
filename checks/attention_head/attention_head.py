"""What the grader asks about `AttentionHead`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.grading.compare import same_value
from attention_lab.grading.exercise import Exercise, Tolerance, ask, build

attention_head = Exercise(
    "AttentionHead",
    results=("output", "weights"),
    axes=(("queries", "head size"), ("queries", "keys")),
    weights=1,
    not_allowed=("fused_attention",),
)

NAMES = ("query", "key", "value")


def _weights(draw, embed_dim, head_size, dtype=torch.float32):
    """The judge's weights, of a size that leaves every key some attention."""
    shape = (head_size, embed_dim)
    return {f"{name}.weight": draw.normal(*shape, dtype=dtype) / math.sqrt(embed_dim) for name in NAMES}


def _made(draw, embed_dim, head_size, dtype=torch.float32, **how):
    state = _weights(draw, embed_dim, head_size, dtype)
    return build(embed_dim, head_size, state=state, double=dtype == torch.float64, **how)


@attention_head.group("three projections without a bias, registered", points=1)
def parameters(draw):
    embed_dim, head_size, batch, length = draw.sizes(4)
    yield ask(build=build(embed_dim, head_size, look=("parameters",)))
    yield ask(build=build(embed_dim, embed_dim, look=("parameters",)))
    # Of zeros every head without a bias makes zeros, so that fresh weights can be compared too.
    zeros = torch.zeros(batch, length, embed_dim)
    yield ask(zeros, build=build(embed_dim, head_size, look=("result", "parameters")))


@attention_head.group("self-attention, twice the same", points=1)
def self_attention(draw):
    batch, length, embed_dim, head_size = draw.sizes(4)
    twice = ("result", "result again")
    for dtype in (torch.float32, torch.float64):
        x = draw.normal(batch, length, embed_dim, dtype=dtype)
        yield ask(x, build=_made(draw, embed_dim, head_size, dtype, look=twice))
    yield ask(draw.normal(1, 1, embed_dim), build=_made(draw, embed_dim, head_size))
    for eval_mode in (False, True):
        x = draw.normal(length, length, length)
        yield ask(x, build=_made(draw, length, length, eval=eval_mode))


@attention_head.group("cross-attention: other keys and values", points=1)
def cross_attention(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    value = draw.normal(batch, keys, embed_dim)
    yield ask(query, key, value, build=_made(draw, embed_dim, head_size))
    yield ask(query, key, build=_made(draw, embed_dim, head_size))
    yield ask(query, key=draw.normal(batch, queries, embed_dim), build=_made(draw, embed_dim, head_size))
    yield ask(key, value=value, build=_made(draw, embed_dim, head_size))


@attention_head.group("masks of all three shapes", points=1)
def masks(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    for mask in (draw.mask(queries, keys), draw.mask(batch, 1, keys), draw.mask(batch, queries, keys)):
        yield ask(query, key, mask=mask, build=_made(draw, embed_dim, head_size))
    causal = torch.ones(keys, keys).tril().bool()
    x = draw.normal(keys, keys, keys, dtype=torch.float64)
    for mask in (causal, draw.mask(keys, 1, keys)):
        yield ask(x, mask=mask, build=_made(draw, keys, keys, torch.float64))


def _some_rows_empty(draw, batch, queries, keys):
    mask = draw.mask(batch, queries, keys)
    mask[draw.integer(0, batch - 1), draw.integer(0, queries - 1)] = False
    return mask


@attention_head.group("nothing to attend to", points=1)
def nothing_to_attend_to(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    query, key = draw.normal(batch, queries, embed_dim), draw.normal(batch, keys, embed_dim)
    empty_text = draw.mask(batch, 1, keys)
    empty_text[draw.integer(0, batch - 1)] = False
    for mask in (_some_rows_empty(draw, batch, queries, keys), empty_text):
        yield ask(query, key, mask=mask, build=_made(draw, embed_dim, head_size))


@attention_head.group("gradients of inputs and of every projection", points=2)
def gradients(draw):
    batch, queries, keys, embed_dim, head_size = draw.sizes(5)
    for dtype in (torch.float32, torch.float64):
        query = draw.normal(batch, queries, embed_dim, dtype=dtype)
        key, value = (draw.normal(batch, keys, embed_dim, dtype=dtype) for _ in range(2))
        made = _made(draw, embed_dim, head_size, dtype)
        yield ask(query, key, value, _some_rows_empty(draw, batch, queries, keys), build=made, gradients=True)
        yield ask(query, build=_made(draw, embed_dim, head_size, dtype), gradients=True)


def _from_its_own_weights(cases, values):
    """None, a mistake's name or a sentence: does the head use the weights that it says it has?"""
    for case, seen in zip(cases, values, strict=True):
        state, result, again = seen["state"], seen["result"], seen["result again"]
        if not state:
            return "nothing_registered"
        if not same_value(result, again, Tolerance()):
            return "layers_built_in_forward"
        if set(state) != {f"{name}.weight" for name in NAMES}:
            return ""  # the group of the parameters says it better
        if not same_value(result, _one_query_at_a_time(*case.args, state), Tolerance()):
            return _the_mistake_that_makes(case, state, result)
    return None


def _one_query_at_a_time(x, state):
    query, key, value = (F.linear(x, state[f"{name}.weight"]) for name in NAMES)
    scores = [(key * row.unsqueeze(1)).sum(dim=-1) / math.sqrt(query.shape[-1]) for row in query.unbind(1)]
    weights = torch.stack(scores, dim=1).softmax(dim=-1)
    return weights @ value, weights


def _the_mistake_that_makes(case, state, result):
    for mistake in attention_head.mistakes[3:]:  # those with the right parameters
        head = mistake.answer(*case.build.args)
        head.load_state_dict(state)
        if same_value(result, [part.detach() for part in head(*case.args)], Tolerance()):
            return mistake.name
    return "With the head's own fresh weights, the result is not that of the projections it holds."


@attention_head.group("its own fresh weights", points=1, verify=_from_its_own_weights)
def fresh_weights(draw):
    batch, length, embed_dim, head_size = draw.sizes(4)
    made = build(embed_dim, head_size, look=("result", "result again", "state"))
    yield ask(draw.normal(batch, length, embed_dim), build=made)


class _Head(nn.Module):
    """Right as it stands: most mistakes below change one thing about it."""

    def __init__(self, embed_dim, head_size):
        super().__init__()
        for name in NAMES:
            self.add_module(name, nn.Linear(embed_dim, head_size, bias=False))

    def project(self, query, key, value):
        return self.query(query), self.key(key), self.value(value)

    def scale(self, embed_dim, head_size):
        return 1 / math.sqrt(head_size)

    def weigh(self, scores, mask):
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask, 0.0)

    def forward(self, query, key=None, value=None, mask=None):
        embed_dim, key = query.shape[-1], query if key is None else key
        query, key, value = self.project(query, key, key if value is None else value)
        scores = query @ key.transpose(-2, -1) * self.scale(embed_dim, query.shape[-1])
        weights = self.weigh(scores, mask)
        return weights @ value, weights


@attention_head.mistake(
    "The head has no parameters: `parameters()` is empty, so nothing in it is trained or saved. Neither a "
    "bare tensor nor a layer that lives only inside `forward` is registered: make three layers in `__init__` "
    "and keep them as attributes."
)
class nothing_registered(_Head):
    def __init__(self, embed_dim, head_size):
        nn.Module.__init__(self)
        self.tensors = [torch.randn(embed_dim, head_size) for _ in NAMES]

    def project(self, query, key, value):
        return tuple(x @ w.to(x.dtype) for x, w in zip((query, key, value), self.tensors))


@attention_head.mistake(
    "The layers are built in `forward`: after construction the head has no parameters, and each call gets "
    "new random ones, so two calls on the same text differ. Build `query`, `key` and `value` once, in "
    "`__init__`."
)
class layers_built_in_forward(_Head):
    def __init__(self, embed_dim, head_size):
        nn.Module.__init__(self)
        self.sizes = embed_dim, head_size

    def project(self, query, key, value):
        for name in NAMES:
            self.add_module(name, nn.Linear(*self.sizes, bias=False, dtype=query.dtype))
        return super().project(query, key, value)


@attention_head.mistake(
    "The projections have a bias: `query.bias`, `key.bias` and `value.bias` are parameters too many. "
    "A linear layer adds one unless it is told not to."
)
class bias_left_on(_Head):
    def __init__(self, embed_dim, head_size):
        nn.Module.__init__(self)
        for name in NAMES:
            self.add_module(name, nn.Linear(embed_dim, head_size))


@attention_head.mistake(
    "The keys are made by the query's projection: changing the weights of `key` changes nothing. "
    "Each of the three inputs goes through the layer of its own name."
)
class key_by_the_query_projection(_Head):
    def project(self, query, key, value):
        return self.query(query), self.query(key), self.value(value)


@attention_head.mistake(
    "The values are made by the key's projection: changing the weights of `value` changes nothing. "
    "Each of the three inputs goes through the layer of its own name."
)
class value_by_the_key_projection(_Head):
    def project(self, query, key, value):
        return self.query(query), self.key(key), self.key(value)


@attention_head.mistake(
    "The weights are right, but they mix the values as they came in: `output` is `embed_dim` wide instead "
    "of `head_size`, and the layer `value` is never used. Project the values too."
)
class values_not_projected(_Head):
    def project(self, query, key, value):
        return self.query(query), self.key(key), value


@attention_head.mistake(
    "`key` and `value` are never looked at: all three projections are made from `query`, so the head "
    "cannot attend to another text. Project the `key` and the `value` that were passed."
)
class self_attention_only(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        return super().forward(query, mask=mask)


@attention_head.mistake(
    "Where `value` is None, the queries were used in its place. What is retrieved belongs to the keys: "
    "the default of `value` is `key`."
)
class value_defaults_to_query(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        return super().forward(query, key, query if value is None else value, mask)


@attention_head.mistake(
    "The scores are not scaled, so the weights are too sharp. Queries and keys are `head_size` wide: "
    "divide the scores by the square root of that."
)
class unscaled(_Head):
    def scale(self, embed_dim, head_size):
        return 1.0


@attention_head.mistake(
    "The scores are divided by the square root of `embed_dim`. A score sums as many products as the "
    "*projected* query is wide, and that is `head_size`."
)
class scaled_by_embed_dim(_Head):
    def scale(self, embed_dim, head_size):
        return 1 / math.sqrt(embed_dim)


@attention_head.mistake(
    "The scores are divided by `head_size` itself, so the weights are too even. Their spread grows with the "
    "square root of the width: divide by the root."
)
class divided_by_head_size(_Head):
    def scale(self, embed_dim, head_size):
        return 1 / head_size


@attention_head.mistake(
    "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
    "softmax, and mind that a method like `masked_fill` returns a new tensor that has to be kept."
)
class mask_ignored(_Head):
    def weigh(self, scores, mask):
        return scores.softmax(dim=-1)


@attention_head.mistake(
    'The meaning of True is inverted: the weight sits where `mask` is False. Here True means "may '
    'attend", so it is the False entries that have to be hidden.'
)
class true_means_hidden(_Head):
    def weigh(self, scores, mask):
        return super().weigh(scores, None if mask is None else ~mask)


@attention_head.mistake(
    "A query with nothing to attend to is NaN: a row of nothing but -inf cannot be normalised. Clear the "
    "hidden weights after the softmax, before they meet the values."
)
class empty_row_is_nan(_Head):
    def weigh(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(dim=-1)


@attention_head.also_right
class WithEinsumAndWhere(nn.Module):
    def __init__(self, embed_dim, head_size):
        super().__init__()
        self.value, self.key, self.query = (nn.Linear(embed_dim, head_size, bias=False) for _ in range(3))

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        scores = torch.einsum("bqd,bkd->bqk", self.query(query) / self.query.out_features**0.5, self.key(key))
        mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
        weights = torch.where(mask, torch.where(mask, scores, -torch.inf).softmax(dim=-1), 0.0)
        return torch.einsum("bqk,bkd->bqd", weights, self.value(value)), weights


@attention_head.also_right
class TextByText(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        texts = zip(query, query if key is None else key, strict=True)
        results = []
        for index, (one_query, one_key) in enumerate(texts):
            one_value = one_key if value is None else value[index]
            one_mask = mask if mask is None or mask.dim() == 2 else mask[index]
            results.append(super().forward(one_query, one_key, one_value, one_mask))
        return [torch.stack(parts) for parts in zip(*results, strict=True)]


@attention_head.also_right
class WithBmmAndNanToNum(_Head):
    def __init__(self, embed_dim, head_size):
        super().__init__(embed_dim, head_size)
        self.root = math.sqrt(head_size)
        nn.init.xavier_uniform_(self.query.weight)

    def forward(self, query, key=None, value=None, mask=None):
        if key is None:
            key = query
        if value is None:
            value = key
        scores = torch.bmm(F.linear(query, self.query.weight), self.key(key).permute(0, 2, 1)).div_(self.root)
        if mask is not None:
            scores.masked_fill_(mask.logical_not(), float("-inf"))
        weights = torch.nan_to_num(F.softmax(scores, dim=2))
        return torch.bmm(weights, self.value(value)), weights


@attention_head.also_right
class MixesBeforeItProjects(_Head):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        asks = self.query(query) @ self.key.weight  # (B, T_q, E): the key's projection, put before the score
        weights = self.weigh(asks @ key.mT / math.sqrt(self.key.weight.size(0)), mask)
        return self.value(weights @ (key if value is None else value)), weights
