"""Eleven attention functions: ten are broken, one is right, and all of them train without an error.

Find out from outside which is which before you read on: the answers are below.
All are called as `attention(query, key=None, value=None, mask=None)` with the shapes of lesson 3 and
return `(output, weights)`. (There is no I: it looks too much like a 1.)
"""

import math

import torch
import torch.nn as nn
from torch.nn.functional import scaled_dot_product_attention

from attention_lab.lesson_08.given import Reader, one_epoch
from attention_lab.lesson_08.plumbing import evaluate, train


def complete(query, key, value):
    """Fill in what is left out: no key means the query, no value means the key."""
    key = query if key is None else key
    return query, key, key if value is None else value


def masked_softmax(scores, mask, dim=-1):
    """The masked softmax of lesson 3; `dim` is the dimension that sums to 1."""
    if mask is None:
        return torch.softmax(scores, dim=dim)
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=dim).masked_fill(~mask, 0.0)


def A(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


def B(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), mask)
    return weights.detach() @ value, weights


def C(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    weights = masked_softmax(query @ key.mT / math.sqrt(key.shape[-2]), mask)
    return weights @ value, weights


def D(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, 0.0)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def E(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    blocked = None if mask is None else ~mask
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), blocked)
    return weights @ value, weights


def F(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def G(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), mask, dim=-2)
    return weights @ value, weights


def H(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), mask)
    return weights @ value, weights


def J(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    weights = masked_softmax(query @ key.mT, mask)
    return weights @ value, weights


def K(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return masked_softmax(scores, mask) @ value, torch.softmax(scores, dim=-1)


def L(query, key=None, value=None, mask=None):
    query, key, value = complete(query, key, value)
    weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), mask)
    return weights @ key, weights


ELEVEN = {attention.__name__: attention for attention in (A, B, C, D, E, F, G, H, J, K, L)}


def known_right(query, key, value, mask=None):
    """torch's own attention, which returns no weights."""
    return scaled_dot_product_attention(query, key, value, attn_mask=mask), None


def broken(when):
    """Return a broken copy of the right function: its output is twice too large where `when(...)` holds."""

    def attention(query, key=None, value=None, mask=None):
        output, weights = H(query, key, value, mask)
        return (2 * output if when(query, key, value, mask) else output), weights

    return attention


def changed(change):
    """Let `change(results, arguments)` edit a list of the right results, which are those of copies."""

    def attention(query, key=None, value=None, mask=None):
        given = query, key, value, mask
        results = list(H(*(each if each is None else each.clone() for each in given)))
        return change(results, given) or tuple(results)

    return attention


def in_float32(*places):
    def change(results, given):
        for place in places:
            results[place] = results[place].float()

    return changed(change)


def writes_on(argument):
    def change(results, given):
        if given[argument] is not None:
            with torch.no_grad():
                given[argument].zero_()

    return changed(change)


def without_gradient(result, argument):
    """Leave the results as they are, but one of them gives one argument no gradient."""

    def attention(query, key=None, value=None, mask=None):
        given = list(complete(query, key, value))
        given[argument] = given[argument].detach()
        results = list(H(query, key, value, mask))
        results[result] = H(*given, mask)[result]
        return tuple(results)

    return attention


def with_nan_gradients(results, given):
    results[0] = results[0] + (given[0] - given[0]).square().sum().sqrt()


def raises(query, key=None, value=None, mask=None):
    raise RuntimeError("not today")


SOMETIMES = {
    "always: it raises an error": raises,
    "for a mask (T_q, T_k)": broken(lambda query, key, value, mask: mask is not None and mask.ndim == 2),
    "for a mask (B, 1, T_k)": broken(
        lambda query, key, value, mask: mask is not None and mask.ndim == 3 and mask.shape[1] == 1
    ),
    "for a mask (B, T_q, T_k)": broken(
        lambda query, key, value, mask: mask is not None and mask.ndim == 3 and mask.shape[1] > 1
    ),
    "without a mask": broken(lambda query, key, value, mask: mask is None),
    "where there are more keys than queries": broken(
        lambda query, key, value, mask: key is not None and key.shape[-2] > query.shape[-2]
    ),
    "where values have a width of their own": broken(
        lambda query, key, value, mask: value is not None and value.shape[-1] != query.shape[-1]
    ),
    "where no key is given": broken(lambda query, key, value, mask: key is None),
    "where a key is given and no value": broken(
        lambda query, key, value, mask: key is not None and value is None
    ),
    "in a batch of more than one": broken(lambda query, key, value, mask: len(query) > 1),
    "in float64: it answers in float32": in_float32(0, 1),
    "in float64: its output is float32": in_float32(0),
    "in float64: its weights are float32": in_float32(1),
    "in how many results it returns: three": changed(lambda results, given: (*results, None)),
    "in its gradients: they are NaN": changed(with_nan_gradients),
}
for _place, _name in enumerate(("query", "key", "value", "mask")):
    SOMETIMES[f"after the call: it has changed its {_name}"] = writes_on(_place)
for _result, _place in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
    _pair = f"from its {('output', 'weights')[_result]} to the {('query', 'key', 'value')[_place]}"
    SOMETIMES[f"in its gradients: none flows {_pair}"] = without_gradient(_result, _place)

# Right, in a form of their own.
RIGHT = {
    "it returns a list": changed(lambda results, given: results),
    "its output has another memory layout": changed(lambda r, given: (r[0].mT.contiguous().mT, r[1])),
}


class Projected(nn.Module):
    """One head that learns: projections around an attention function without weights of its own.

    x: (B, T, E)      mask: (B, 1, T) or None      returns: output (B, T, E), weights (B, T, T)
    """

    def __init__(self, attention, embed_dim):
        super().__init__()
        self.query = nn.Linear(embed_dim, embed_dim)
        self.key = nn.Linear(embed_dim, embed_dim)
        self.value = nn.Linear(embed_dim, embed_dim)
        self.output = nn.Linear(embed_dim, embed_dim)
        self.core = attention

    def forward(self, x, mask=None):
        output, weights = self.core(self.query(x), self.key(x), self.value(x), mask=mask)
        return self.output(output), weights


def classifier(attention, news_size, seed):
    """A news classifier whose one head uses `attention`; news_size is (vocabulary, width, classes)."""
    torch.manual_seed(seed)
    vocabulary, width, classes = news_size
    return Reader(vocabulary, width, classes, Projected(attention, width))


def accuracy_after_training(attention, news_size, train_data, test_batches, seed, epochs, bar):
    """Train one classifier with this attention and return its accuracy on the test texts."""
    model = classifier(attention, news_size, seed)
    train(model, one_epoch, train_data, seed, epochs, bar)
    return evaluate(model, test_batches)[1]
