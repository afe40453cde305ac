"""What people get wrong in `flash_backward`: the derivative itself."""

import math

import torch

from .flash_backward import backward, flash_backward


@flash_backward.mistake(
    "The gradients of query and key are too large by √d_k: the scores were divided by it, so what flows "
    "back to query and key is divided, too."
)
def scale_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    return backward(*told, scaled=(False, False))


@flash_backward.mistake(
    "The gradient of key is too large by √d_k, that of query is right. Both come from the same scores: "
    "scale what flows back to the scores, once, before it goes on to either."
)
def key_not_scaled(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    return backward(
        query, key, value, output, logsumexp, grad_output, block_size, causal, scaled=(True, False)
    )


@flash_backward.mistake(
    "The gradient of query is too large by √d_k, that of key is right. Both come from the same scores: "
    "scale what flows back to the scores, once, before it goes on to either."
)
def query_not_scaled(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    return backward(
        query, key, value, output, logsumexp, grad_output, block_size, causal, scaled=(False, True)
    )


@flash_backward.mistake(
    "The gradients of query and key are too small by √d_k: the scale was applied twice on the way "
    "back. Apply it once."
)
def scaled_twice(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    of_query, of_key, of_value = backward(*told)
    return of_query / math.sqrt(query.shape[-1]), of_key / math.sqrt(query.shape[-1]), of_value


@flash_backward.mistake(
    "The scores, computed again, are not scaled: the weights differ from those of the forward pass, and "
    "so do all gradients. Divide by √d_k before you subtract the logsumexp."
)
def scores_not_scaled(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def plain(some_queries, some_keys):
        return some_queries @ some_keys.mT

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, score=plain)


@flash_backward.mistake(
    "Nothing is subtracted in the rows: the gradient of a softmax is weights · (g − the row's weighted "
    "mean of g), and that mean is the sum of output · grad_output."
)
def row_sum_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def nothing(output, grad_output):
        return torch.zeros_like(output[..., :1])

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=nothing)


@flash_backward.mistake(
    "What is subtracted in a row is the *mean* of output · grad_output. It is the sum over the numbers of"
    " the value."
)
def mean_for_the_row_sum(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def mean(output, grad_output):
        return (output * grad_output).mean(dim=-1, keepdim=True)

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=mean)


@flash_backward.mistake("The row sum is added instead of subtracted: weights · (g − row sum), with a minus.")
def row_sum_added(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def negative(output, grad_output):
        return -(output * grad_output).sum(dim=-1, keepdim=True)

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=negative)


@flash_backward.mistake(
    "What is subtracted in a row is the sum of grad_output alone. It is the sum of output · grad_output."
)
def without_the_output(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def alone(output, grad_output):
        return grad_output.sum(dim=-1, keepdim=True)

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=alone)


@flash_backward.mistake(
    "The gradient that reaches the weights was sent on to query and key as it is: the softmax between has a "
    "gradient of its own, weights · (g − row sum)."
)
def softmax_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    scale = query.shape[-1] ** -0.5
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    of_weights = grad_output @ value.mT * scale
    return of_weights @ key, of_weights.mT @ query, backward(*told)[2]


@flash_backward.mistake(
    "The exponentials are of base 2, but `logsumexp` is a natural logarithm: `torch.exp`, not `2 **`."
)
def base_two(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def by_two(scores, logsumexp):
        return (scores - logsumexp[..., None]).exp2()

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, weights_of=by_two)


@flash_backward.mistake("The three gradients are in the wrong order: return those of query, key, value.")
def another_order(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    of_query, of_key, of_value = backward(*told)
    return of_key, of_query, of_value


@flash_backward.mistake(
    "The numbers are right in float32, but float64 comes back as float32: a tensor was made without a "
    "dtype, or something casts. `torch.zeros_like` of the query takes its dtype."
)
def always_float32(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (each.float() for each in (query, key, value, output, logsumexp, grad_output))
    return backward(*told, block_size, causal)


def _formula(clause, of_scores=None, of_value=None, scale=None, of_weights=None):
    """Add a cause: other formulas for the gradient of scores, of value, or of weights, or another scale."""

    def answer(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
        factor = query.shape[-1] ** -0.5 if scale is None else scale(query, value)
        scores = query @ key.mT * factor
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
        weights = (scores - logsumexp[..., None]).exp()
        back = grad_output @ value.mT if of_weights is None else of_weights(output, value)
        rows = (output * grad_output).sum(-1, True)
        grad_scores = (
            weights * (back - rows) if of_scores is None else of_scores(weights, back, output, grad_output)
        )
        of_values = (
            weights.mT @ grad_output
            if of_value is None
            else of_value(weights, grad_scores, back, output, grad_output)
        )
        return grad_scores @ key * factor, grad_scores.mT @ query * factor, of_values

    flash_backward.cause(clause, answer)


for _clause, _of_scores in {
    "the row sums were those of output alone": lambda p, g, o, go: p * (g - o.sum(-1, True)),
    "the row sums were those of output · output": lambda p, g, o, go: p * (g - (o * o).sum(-1, True)),
    "the row sums were those of grad_output · grad_output": lambda p, g, o, go: (
        p * (g - (go * go).sum(-1, True))
    ),
    "the row sums were one number for all rows": lambda p, g, o, go: (
        p * (g - (o * go).sum(-1, True).mean(-2, True))
    ),
    "the row sums were subtracted outside the product with the weights": lambda p, g, o, go: (
        p * g - (o * go).sum(-1, True)
    ),
    "the weights were left out in front of (g - row sum)": lambda p, g, o, go: g - (o * go).sum(-1, True),
    "the softmax's gradient were that of a sigmoid, weights · (1 - weights)": lambda p, g, o, go: (
        p * (1 - p) * g
    ),
    "the row sums were multiplied by the weights once more": lambda p, g, o, go: (
        p * (g - p * (o * go).sum(-1, True))
    ),
    "the weights were squared": lambda p, g, o, go: p * p * (g - (o * go).sum(-1, True)),
    "the weights had been sent on, and not their gradient": lambda p, g, o, go: p,
}.items():
    _formula(_clause, _of_scores)
for _clause, _of_value in {
    "the gradient of value were made of output": lambda p, s, g, o, go: p.mT @ o,
    "the gradient of value were made of the weights' gradient": lambda p, s, g, o, go: g.mT @ go,
    "the gradient of value were made of the scores' gradient": lambda p, s, g, o, go: s.mT @ go,
}.items():
    _formula(_clause, of_value=_of_value)
_formula("the weights' gradient were made of output", of_weights=lambda output, value: output @ value.mT)
_formula("the scale were 1 everywhere", scale=lambda query, value: 1.0)
_formula("the scale were 1/d_k everywhere", scale=lambda query, value: 1 / query.shape[-1])
_formula("the scale were √d_k everywhere", scale=lambda query, value: query.shape[-1] ** 0.5)
_formula("the scale were made of the value's width", scale=lambda query, value: value.shape[-1] ** -0.5)
_formula("the scale were made of the number of queries", scale=lambda query, value: query.shape[-2] ** -0.5)
