"""Ready-made parts of lesson 14's model: blocks of torch's own functions, with mistakes on request."""

import torch
import torch.nn.functional as F

from attention_lab.lesson_14.rotary import rotary_angles, rotate

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
        size = self.model.embed_dim // self.model.num_heads
        angles = rotary_angles(past + x.shape[1], size, self.model.base)[past:]
        turn = rotate_halves if self.mistake == MISTAKES[0] else rotate
        return tuple(
            turn(F.linear(x, self.weight(name)).unflatten(-1, (-1, size)).transpose(1, 2), angles).to(x)
            for name in ("attn_q", "attn_k")
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


def rotate_halves(x, angles):
    """`rotate` with the pairs i and i + D/2."""
    return rotate(x.unflatten(-1, (2, -1)).mT.flatten(-2), angles).unflatten(-1, (-1, 2)).mT.flatten(-2)


def given_sample(logits, temperature=1.0, top_p=1.0, generator=None):
    """A token from the softmax of `logits / temperature`, (B, V) -> (B,); it ignores `top_p`.

    Noise of Gumbel's kind makes the largest number a random one, drawn as from the softmax (Gumbel 1954).
    """
    if temperature > 0:
        noise = torch.rand(logits.shape, generator=generator).clamp(1e-9, 1 - 1e-7)
        logits = logits / temperature - torch.log(-torch.log(noise))
    return logits.argmax(dim=-1)
