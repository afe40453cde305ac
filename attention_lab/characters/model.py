"""A decoder for characters around any attention layer that knows rotary positions and a cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn


class CharacterModel(nn.Module):
    """Embedding, blocks of attention and two linear layers each, and logits by the embedding's own weights.

    vocab_size: V      embed_dim: E      make_attention: (E, heads) -> a layer like lesson 10's
    window: how many characters back a character sees, itself among them. Rotary positions know the distances
    that were trained and no others, so it is the length of the training's texts.
    forward(ids (B, T), cache=None) -> logits (B, T, V), cache: a list with each layer's own

    Source: the blocks of Radford et al. 2019 (normalised before each layer), positions of Su et al. 2021.
    """

    def __init__(
        self,
        vocab_size: int,
        make_attention: Callable[[int, int], nn.Module],
        embed_dim: int = 64,
        num_heads: int = 4,
        layers: int = 2,
        window: int = 64,
    ) -> None:
        super().__init__()
        self.window = window
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.blocks = nn.ModuleList(
            _Block(make_attention(embed_dim, num_heads), embed_dim) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(embed_dim)

    def forward(
        self, ids: torch.Tensor, cache: Sequence[Any] | None = None
    ) -> tuple[torch.Tensor, list[Any]]:
        past = 0 if cache is None else cache[0][0].shape[2]
        length = ids.shape[1]
        seen = torch.ones(length, past + length, dtype=torch.bool).tril(past)  # (T, past + T): not later
        seen = seen.triu(past - self.window + 1)  # and not too far back
        x, states = self.embedding(ids), []
        for block, before in zip(self.blocks, cache or [None] * len(self.blocks), strict=True):
            x, after = block(x, seen, before)
            states.append(after)
        return self.norm(x) @ self.embedding.weight.T, states


class _Block(nn.Module):
    def __init__(self, attention: nn.Module, embed_dim: int) -> None:
        super().__init__()
        self.attention = attention
        self.first_norm, self.second_norm = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.wide = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim), nn.GELU(), nn.Linear(4 * embed_dim, embed_dim)
        )

    def forward(self, x: torch.Tensor, mask: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        found, cache = self.attention(self.first_norm(x), mask, cache)
        x = x + found
        return x + self.wide(self.second_norm(x)), cache
