"""Ready-made parts of lesson 14's model: blocks of torch's own functions, with mistakes on request."""

import torch
import torch.nn.functional as F

# The mistakes of `GivenBlock`, by the names that the lesson's tables have.
MISTAKES = (
    "rotary layout of halves",
    "mask one position ahead",
    "scores without the root",
    "one norm left out",
)


class GivenBlock:
    """One block of a decoder, made of torch's own functions; it uses the model's tensors as they are.

    model: a LanguageModel      layer: from 0      mistake: None or one of MISTAKES
    """

    def __init__(self, model, layer, mistake=None):
        self.model, self.layer, self.mistake = model, layer, mistake

    def weight(self, name):
        return self.model.tensors[f"blk.{self.layer}.{name}.weight"]

    def norm(self, x, name):
        return F.rms_norm(x, x.shape[-1:], self.weight(name), self.model.eps)

    def queries_and_keys(self, x, past=0):
        """x: (B, T, E), normalised      returns: query (B, H, T, D), key (B, H_kv, T, D), both turned"""
        angles = turns(self.model, past, x.shape[1])
        halves = self.mistake == MISTAKES[0]
        heads = (self.model.num_heads, self.model.num_kv_heads)
        return tuple(
            turned(F.linear(x, self.weight(name)).unflatten(-1, (count, -1)).transpose(1, 2), angles, halves)
            for name, count in zip(("attn_q", "attn_k"), heads, strict=True)
        )

    def __call__(self, x, cache=None):
        """x: (B, T, E)      cache: None or (key, value), (B, H_kv, T_past, D)      returns: x, cache"""
        past = 0 if cache is None else cache[0].shape[2]
        normed = x if self.mistake == MISTAKES[3] and self.layer == 0 else self.norm(x, "attn_norm")
        query, key = self.queries_and_keys(normed, past)
        value = F.linear(normed, self.weight("attn_v"))
        value = value.unflatten(-1, (self.model.num_kv_heads, -1)).transpose(1, 2)
        if past:
            key, value = torch.cat([cache[0], key], dim=2), torch.cat([cache[1], value], dim=2)
        ahead = 1 if self.mistake == MISTAKES[1] else 0
        mask = torch.ones(x.shape[1], key.shape[2], dtype=torch.bool).tril(past + ahead)
        scale = 1.0 if self.mistake == MISTAKES[2] else None  # None: one over the root of the head's size
        found = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask if x.shape[1] > 1 else None, scale=scale, enable_gqa=True
        )
        x = x + F.linear(found.transpose(1, 2).flatten(2), self.weight("attn_output"))
        normed = self.norm(x, "ffn_norm")
        opened = F.silu(F.linear(normed, self.weight("ffn_gate")))
        x = x + F.linear(opened * F.linear(normed, self.weight("ffn_up")), self.weight("ffn_down"))
        return x, (key, value)


def turns(model, past, length):
    """A complex number of size 1 for each new position and pair, (T, D/2)."""
    size = model.embed_dim // model.num_heads
    speeds = model.base ** (-torch.arange(0, size, 2) / size)
    angles = torch.arange(past, past + length)[:, None] * speeds
    return torch.polar(torch.ones_like(angles), angles)


def turned(x, angles, halves=False):
    """x: (..., T, D)      angles: complex (T, D/2)      halves: pairs are i and i + D/2, not neighbours"""
    x, dtype = x.float(), x.dtype
    pairs = x.unflatten(-1, (2, -1)).mT if halves else x.unflatten(-1, (-1, 2))
    pairs = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * angles)
    return (pairs.mT if halves else pairs).flatten(-2).to(dtype)


def given_sample(logits, temperature=1.0, top_p=1.0, generator=None):
    """A token from the softmax of `logits / temperature`, (B, V) -> (B,); it ignores `top_p`.

    Noise of Gumbel's kind makes the largest number a random one, drawn as from the softmax (Gumbel 1954).
    """
    if temperature > 0:
        noise = torch.rand(logits.shape, generator=generator).clamp(1e-9, 1 - 1e-7)
        logits = logits / temperature - torch.log(-torch.log(noise))
    return logits.argmax(dim=-1)
