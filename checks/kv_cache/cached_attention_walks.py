"""Functions that call a `CachedAttention` several times in a row; the judge calls them with the answer."""

import torch


class WrongParametersError(Exception):
    """The layer's parameters do not fit the weights that the judge sent."""


def with_weights(answer, embed_dim, heads, state, dtype):
    """The layer on these weights; other entries of its state_dict are another group's subject."""
    layer = answer(embed_dim, heads).to(dtype)
    own = dict(layer.named_parameters())
    wrong = [name for name in {**state, **own} if name not in own or name not in state]
    wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
    if wrong:
        raise WrongParametersError(f"missing, too many or of another shape: {', '.join(wrong[:4])}")
    layer.load_state_dict(state, strict=False)
    return layer


def form(thing):
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(map(form, thing))})"
    return f"tensor of {thing.dim()} axes" if isinstance(thing, torch.Tensor) else type(thing).__name__


RIGHT_FORM = "(tensor of 3 axes, (tensor of 4 axes, tensor of 4 axes))"  # output, (key, value)


def pair(answered):
    """The two results of a call. Whatever else comes back is told apart in words."""
    if answered is None:
        raise TypeError("nothing is returned: is the `return` line missing?")
    if form(answered) != RIGHT_FORM:
        raise TypeError(f"{form(answered)} is returned, and (output, (key, value)) asked for: {RIGHT_FORM}")
    return answered


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
    """The same without gradients, as in generation."""
    return torch.no_grad()(twice(answer))


def state_of(answer):
    """The shapes in a layer's state_dict in words, after a call, and whether it holds anything else."""

    def named(embed_dim, heads, x, bias):
        layer = answer(embed_dim, heads, bias=True) if bias else answer(embed_dim, heads)
        results = layer(x)
        if form(results) == RIGHT_FORM:
            layer(x, results[1])
        own, state = dict(layer.named_parameters()), layer.state_dict()
        shapes = {name: f"shape {tuple(entry.shape)}" for name, entry in state.items() if name in own}
        # A buffer can have any name.
        return shapes | {"beside its parameters": "nothing" if len(own) == len(state) else "a buffer"}

    return named
