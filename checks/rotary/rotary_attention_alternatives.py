"""Other right ways to write a `RotaryAttention`."""

import math

import torch
import torch.nn.functional as F

from .rotary_attention import Right, rotary_attention


@rotary_attention.accepted_alternative(
    "The turn as a product of complex numbers, RoFormer's own formula. (Only this step is shown.)"
)
class ByComplexNumbers(Right):
    def turn(self, x, first=0):
        angles = self.angles(x, first)
        pairs = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(pairs).flatten(-2)


@rotary_attention.accepted_alternative(
    "Attention with named axes: b and h only come along. (Only this step is shown.)"
)
class ByEinsum(Right):
    def attend(self, query, key, value, mask):
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * key.shape[-1] ** -0.5
        return torch.einsum("bhqk,bhkd->bhqd", self.weights(scores, mask), value)


@rotary_attention.accepted_alternative
class HeadByHead(Right):
    def attend(self, query, key, value, mask):
        outputs = []
        for q, k, v in zip(query.unbind(1), key.unbind(1), value.unbind(1), strict=True):
            scores = (q @ k.mT / math.sqrt(k.shape[-1])).unsqueeze(1)
            outputs.append(self.weights(scores, mask).squeeze(1) @ v)
        return torch.stack(outputs, dim=1)


@rotary_attention.accepted_alternative
class RatesInABuffer(Right):
    def __init__(self, embed_dim, num_heads, base=10000.0):
        super().__init__(embed_dim, num_heads, base)
        width = embed_dim // num_heads
        rates = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        self.register_buffer("rates", rates, persistent=False)

    def angles(self, x, first):
        positions = torch.arange(first, first + x.shape[-2])[:, None]
        return (positions * self.rates).to(x.dtype)


@rotary_attention.accepted_alternative
class ByPartners(Right):
    def turn(self, x, first=0):
        angles = self.angles(x, first).repeat_interleave(2, -1)
        partners = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
        return x * angles.cos() + partners * angles.sin()

    def extend(self, cache, key, value):
        return list(super().extend(cache, key, value))

    def weights(self, scores, mask):
        if mask is None:
            return F.softmax(scores, dim=-1)
        mask = mask[None, None] if mask.dim() == 2 else mask[:, None]
        return torch.where(mask, torch.where(mask, scores, -math.inf).softmax(-1), 0.0)
