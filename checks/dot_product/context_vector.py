"""The exercise `context_vector`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, Exercise, case

context_vector = Exercise(
    "context_vector",
    results=("context",),
    axes=(("value width",),),
)


@context_vector.group("a weighted sum", points=1)
def weighted_sum(draw):
    length, width = draw.sizes(2)
    for dtype in FLOATS:
        yield case(draw.weights(length, dtype=dtype), draw.normal(length, width, dtype=dtype))


@context_vector.group("as many tokens as numbers in a value", points=1)
def square(draw):
    (size,) = draw.sizes(1)
    yield case(draw.weights(size), draw.normal(size, size))


@context_vector.group("all weight on one token, and a single token", points=1)
def one_takes_all(draw):
    length, width = draw.sizes(2)
    weights = torch.zeros(length)
    weights[draw.integer(1, length - 1)] = 1.0
    yield case(weights, draw.normal(length, width))
    yield case(torch.ones(1), draw.normal(1, width))


@context_vector.group("gradients", points=1)
def gradients(draw):
    length, width = draw.sizes(2)
    yield case(draw.weights(length), draw.normal(length, width), gradients=True)


@context_vector.mistake(
    "The rows of value are multiplied by their weights but not added up: the result still has one row per "
    "token. Sum over the tokens, so that one vector of width d_v is left."
)
def not_added_up(weights, value):
    return weights.unsqueeze(-1) * value


@context_vector.mistake(
    "You added along the wrong axis: one number per token is left instead of one per column of value. The "
    "sum runs over the tokens, the first axis of value."
)
def added_within_each_token(weights, value):
    return (weights.unsqueeze(-1) * value).sum(dim=-1)


@context_vector.mistake(
    "Everything is added into a single number. Sum over the tokens only, and keep the d_v columns of value."
)
def one_number_for_all(weights, value):
    return (weights.unsqueeze(-1) * value).sum()


@context_vector.mistake(
    "The weights are aligned with the columns of value instead of its rows, which fails unless T equals "
    "d_v. There is one weight per token, and a token is a row: give the weights a second axis."
)
def weights_on_the_columns(weights, value):
    return (weights * value).sum(dim=0)


@context_vector.mistake(
    "The product is in the wrong order: it pairs the weights with the d_v columns of value, and fails "
    "unless T equals d_v. The T of the weights has to meet the first axis of value, which is T."
)
def value_on_the_left(weights, value):
    return value @ weights


@context_vector.mistake(
    "The weights are not used: this is the plain mean of the values. Multiply each value by its weight, "
    "then add."
)
def plain_mean(weights, value):
    return value.mean(dim=0)


@context_vector.mistake(
    "The weights are not used: this is the plain sum of the values. Multiply each value by its weight first."
)
def plain_sum(weights, value):
    return value.sum(dim=0)


@context_vector.mistake(
    "The result is too small by the factor T: you took the mean of the weighted values. The weights already "
    "sum to 1, so add up and do not divide."
)
def divided_by_the_length(weights, value):
    return (weights.unsqueeze(-1) * value).mean(dim=0)


@context_vector.mistake(
    "This is only the row of value with the largest weight. Attention is soft: it uses every value, each "
    "with its own weight."
)
def the_largest_only(weights, value):
    return value[weights.argmax()]


@context_vector.mistake(
    "You took the softmax of the weights again, which makes them too even. They already sum to 1: use "
    "them as they are."
)
def softmax_again(weights, value):
    return torch.softmax(weights, dim=-1) @ value


@context_vector.mistake(
    "The numbers are right, but the shape is (1, d_v): a table with one row. One query gives one vector, "
    "(d_v,); drop the first axis."
)
def as_a_row(weights, value):
    return weights.unsqueeze(0) @ value


@context_vector.mistake(
    "The numbers were taken out of torch and put into a new tensor: no gradient reaches weights and value, "
    "and float64 becomes float32. Use torch operations throughout; torch.stack joins tensors and keeps "
    "gradients and dtype."
)
def rebuilt_from_plain_numbers(weights, value):
    return torch.tensor([(weights * column).sum().item() for column in value.T])


@context_vector.accepted_alternative(
    "Token by token, the formula word for word: so much of this value, so much of that. It is slow for long "
    "sentences."
)
def loop(weights, value):
    return sum(weight * row for weight, row in zip(weights, value, strict=True))


@context_vector.accepted_alternative(
    "The weighted rows exist before they are added, so you can see what each token contributes. That costs "
    "a table as large as value."
)
def broadcast_and_sum(weights, value):
    # (T,) as a column (T, 1) lines up with the rows of (T, d_v); the sum over T leaves (d_v,).
    return (weights[:, None] * value).sum(dim=0)


@context_vector.accepted_alternative
def einsum(weights, value):
    return torch.einsum("t,td->d", weights, value)


@context_vector.accepted_alternative
def transposed(weights, value):
    return value.T @ weights


@context_vector.accepted_alternative
def as_matrices(weights, value):
    return torch.mm(weights.view(1, -1), value).view(-1)


@context_vector.accepted_alternative
def accumulated(weights, value):
    context = value.new_zeros(value.shape[1])
    for index in range(len(weights)):
        context += weights[index] * value[index]
    return context
