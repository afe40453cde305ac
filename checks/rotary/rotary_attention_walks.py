"""What is asked of a `RotaryAttention` in several steps."""


def state_of(answer):
    """The names in a layer's state_dict, with their shapes in words, after two calls."""

    def named(embed_dim, heads, x):
        layer = answer(embed_dim, heads)
        _, cache = layer(x)
        layer(x, None, cache)
        return {name: f"shape {tuple(entry.shape)}" for name, entry in layer.state_dict().items()}

    return named
