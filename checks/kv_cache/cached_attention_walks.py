"""Ways to call a `CachedAttention`, several times in a row, which stand between the judge and the answer."""

import torch


class WrongParametersError(Exception):
    """The layer's parameters do not fit the weights that the judge sent."""


def with_weights(answer, embed_dim, heads, state, dtype):
    """The layer on these weights; what else stands in its state_dict is asked about elsewhere."""
    layer = answer(embed_dim, heads).to(dtype)
    own = {name: tuple(parameter.shape) for name, parameter in layer.named_parameters()}
    sent = {name: tuple(tensor.shape) for name, tensor in state.items()}
    both = [name for name in sent if name in own]
    parts = {
        "missing": [name for name in sent if name not in own],
        "too many": [name for name in own if name not in sent],
        "of another shape": [f"{name} {own[name]}" for name in both if own[name] != sent[name]],
    }
    said = [f"{what}: {', '.join(names[:4])}" for what, names in parts.items() if names]
    if said:
        raise WrongParametersError("; ".join(said))
    layer.load_state_dict(state, strict=False)
    return layer


def in_words(thing):
    if isinstance(thing, torch.Tensor):
        return f"a tensor of {thing.dim()} axes"
    return (
        f"a tuple of {len(thing)}" if isinstance(thing, (tuple, list)) else f"of type {type(thing).__name__}"
    )


def pair(answered):
    """The two results of a call. Whatever else comes back is told apart in words."""
    if answered is None:
        raise TypeError("nothing is returned: is the `return` line missing?")
    if not isinstance(answered, (tuple, list)):
        raise TypeError(f"the result is {in_words(answered)}, and two were asked for, (output, cache)")
    if len(answered) != 2:
        kinds = ", ".join(
            "a tensor" if isinstance(each, torch.Tensor) else in_words(each) for each in answered
        )
        raise TypeError(
            f"{len(answered)} results come back ({kinds}), and two were asked for, (output, cache)"
        )
    output, cache = answered
    if not isinstance(output, torch.Tensor) or output.dim() != 3:
        raise TypeError(
            f"the output, the first of two results, is {in_words(output)}, not a tensor (B, T_new, E)"
        )
    if not isinstance(cache, (tuple, list)) or len(cache) != 2:
        raise TypeError(
            f"the cache, the second of two results, is {in_words(cache)}, not a pair (key, value)"
        )
    return output, cache


def in_pieces(answer):
    """The layer goes over a text piece by piece; all its outputs, and the last cache."""

    def walked(x, embed_dim, heads, state, lengths):
        layer = with_weights(answer, embed_dim, heads, state, x.dtype)
        outputs, cache = [], None
        for piece in x.split(lengths, dim=1):
            output, cache = pair(layer(piece, cache))
            outputs.append(output)
        key, value = cache
        return torch.cat(outputs, dim=1), (key, value)

    return walked


def twice(answer):
    """One cache is continued in two ways, then the first of them goes on, and then it is begun once more.

    All outputs, and the cache after all.
    """

    def walked(x, embed_dim, heads, state, lengths):
        layer = with_weights(answer, embed_dim, heads, state, x.dtype)
        prompt, one, other = x.split(lengths, dim=1)
        first, cache = pair(layer(prompt))
        second, branch = pair(layer(one, cache))
        outputs = [first, second]
        for piece, past in ((other, cache), (other, branch), (one, cache)):
            outputs.append(pair(layer(piece, past))[0])
        key, value = cache
        return torch.cat(outputs, dim=1), (key, value)

    return walked


def twice_without_gradients(answer):
    """The same as whoever generates does it."""
    return torch.no_grad()(twice(answer))


def state_of(answer):
    """The shapes in a layer's state_dict in words, after it has been called, and what else stands there."""

    def named(embed_dim, heads, x, bias):
        layer = answer(embed_dim, heads, bias=True) if bias else answer(embed_dim, heads)
        _, cache = pair(layer(x))
        layer(x, cache)
        own, state = dict(layer.named_parameters()), layer.state_dict()
        shapes = {name: f"shape {tuple(entry.shape)}" for name, entry in state.items() if name in own}
        # A buffer has whatever name somebody gave it.
        return shapes | {"beside its parameters": "nothing" if len(own) == len(state) else "a buffer"}

    return named
