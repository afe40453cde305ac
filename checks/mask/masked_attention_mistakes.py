"""The mistakes that the grader can name in `masked_attention`."""

from attention_lab.authoring import attention

from .masked_attention import masked_attention


@masked_attention.mistake(
    "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
    "softmax, and mind that a method like `masked_fill` returns a new tensor that has to be kept."
)
def mask_ignored(query, key=None, value=None, mask=None):
    return attention(query, key, value, None)


@masked_attention.mistake(
    'The meaning of True is inverted: the weight sits where `mask` is False. Here True means "may '
    'attend", so it is the False entries that have to be hidden.'
)
def true_means_hidden(query, key=None, value=None, mask=None):
    return attention(query, key, value, None if mask is None else ~mask)


@masked_attention.mistake(
    "Masked after the softmax: hidden weights are 0, but they had already taken their share, so the rows "
    "of `weights` sum to less than 1. Hide the *scores*, before the softmax."
)
def after_the_softmax(query, key=None, value=None, mask=None):
    value = value if value is not None else query if key is None else key
    _, weights = attention(query, key, value, None)
    weights = weights if mask is None else weights * mask
    return weights @ value, weights


@masked_attention.mistake(
    "The weights are right, but `output` was made from the weights before they were masked: it still "
    "mixes in the values of hidden keys. Compute the output last, from the weights you return."
)
def output_from_unmasked_weights(query, key=None, value=None, mask=None):
    return attention(query, key, value, None)[0], attention(query, key, value, mask)[1]


@masked_attention.mistake(
    "Hidden scores are set to 0 (or multiplied by 0), and a score of 0 is an ordinary score: exp(0) = 1, "
    "so hidden keys keep their weight. Only a score of minus infinity has an exponential of 0."
)
def fills_with_zero(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, fill=0.0, clear=False)


@masked_attention.mistake(
    "The mask is right, but the scores are not scaled: the weights are too sharp. Divide the scores by "
    "the square root of the query's width, as in lesson 2."
)
def unscaled(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, scale=1)


@masked_attention.mistake(
    "The columns of `weights` sum to 1, the rows do not: row i is how query i spreads its attention. "
    "Normalise over the keys, the last dimension."
)
def over_the_queries(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, axis=-2)


@masked_attention.mistake(
    "A query with nothing to attend to is NaN, in `weights` and in `output`: a row of nothing but -inf "
    "cannot be normalised. Use the masked softmax you wrote, or clear the hidden weights before they meet"
    " the values."
)
def empty_row_is_nan(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, clear=False)


@masked_attention.mistake(
    "A query with nothing to attend to spreads its attention evenly over the hidden keys: beside other "
    "scores of -1e9 that fill hides nothing. Such a row of `weights` should be all zeros: clear its "
    "hidden entries as well."
)
def empty_row_is_uniform(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, fill=-1e9, clear=False)


@masked_attention.mistake(
    "The numbers are right, but the gradient of a query with nothing to attend to is NaN: -inf was "
    "*added* to the scores, and the backward pass leads straight through it. Replace the hidden scores "
    "instead of adding to them."
)
def additive_mask(query, key=None, value=None, mask=None):
    return attention(query, key, value, mask, add=True)


@masked_attention.mistake(
    "The call fails when no mask is given: `mask` is None by default, and None means that every query may"
    " attend to every key. Use the mask only where there is one."
)
def needs_a_mask(query, key=None, value=None, mask=None):
    _ = ~mask
    return attention(query, key, value, mask)


@masked_attention.mistake(
    "`output` is mixed from the keys: the `value` that was passed is never used. The weights pick from "
    "the values; only where `value` is None are they the keys."
)
def keys_instead_of_values(query, key=None, value=None, mask=None):
    return attention(query, key, None, mask)


@masked_attention.mistake(
    "Where `value` is None, the queries were used in its place. What is retrieved belongs to the keys: "
    "the default of `value` is `key`."
)
def value_defaults_to_query(query, key=None, value=None, mask=None):
    return attention(query, key, query if value is None else value, mask)
