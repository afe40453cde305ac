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
