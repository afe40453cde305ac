"""Ways to call a `CachedAttention`, several times in a row, which stand between the judge and the answer."""

import torch


def in_pieces(answer):
    """The layer goes over a text piece by piece; all its outputs, and the last cache."""

    def walked(x, embed_dim, heads, state, lengths):
        layer = answer(embed_dim, heads).to(x.dtype)
        layer.load_state_dict(state)
        outputs, cache = [], None
        for piece in x.split(lengths, dim=1):
            output, cache = layer(piece, cache)
            outputs.append(output)
        key, value = cache
        return torch.cat(outputs, dim=1), (key, value)

    return walked


def twice(answer):
    """One cache is continued in two ways, and in the first again: three outputs, and the cache after all."""

    def walked(x, embed_dim, heads, state, lengths):
        layer = answer(embed_dim, heads).to(x.dtype)
        layer.load_state_dict(state)
        prompt, one, other = x.split(lengths, dim=1)
        first, cache = layer(prompt)
        outputs = [first, *(layer(piece, cache)[0] for piece in (one, other, one))]
        key, value = cache
        return torch.cat(outputs, dim=1), (key, value)

    return walked


def state_of(answer):
    """The names in a layer's state_dict, with their shapes in words, after it has been called."""

    def named(embed_dim, heads, x, bias):
        layer = answer(embed_dim, heads, bias=True) if bias else answer(embed_dim, heads)
        _, cache = layer(x)
        layer(x, cache)
        return {name: f"shape {tuple(entry.shape)}" for name, entry in layer.state_dict().items()}

    return named
