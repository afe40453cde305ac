"""A decoder for characters around any attention layer that knows rotary positions and a cache.

It is trained on the course's news, and then writes.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from tqdm import tqdm

from attention_lab.corpus import load_news


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


WINDOW = 64  # characters seen at once
BATCH = 16
RATE = 5e-3  # at its highest
WARM_UP = 20  # steps


@dataclass(frozen=True)
class Text:
    """All training texts of the news as numbers: a line for each, a number for each character."""

    characters: str
    ids: torch.Tensor  # (N,)

    @classmethod
    def of_the_news(cls) -> Text:
        return cls.of("\n".join(load_news().train.texts) + "\n")

    @classmethod
    def of(cls, text: str) -> Text:
        characters = "".join(sorted(set(text)))
        places = {character: place for place, character in enumerate(characters)}
        return cls(characters, torch.tensor([places[character] for character in text]))

    def numbers(self, text: str) -> torch.Tensor:
        """`(T,)` int64. Raises ValueError where a character is none of this text's."""
        unknown = sorted(set(text) - set(self.characters))
        if unknown:
            raise ValueError(f"the model has never read {', '.join(map(repr, unknown))}: leave it out.")
        return torch.tensor([self.characters.index(character) for character in text])

    def words(self, ids: Sequence[int]) -> str:
        return "".join(self.characters[place] for place in ids)

    def windows(self, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Pieces of the text `(B, T)`, and the same pieces one character further on."""
        starts = torch.randint(len(self.ids) - WINDOW, (BATCH,), generator=generator)
        pieces = torch.stack([self.ids[start : start + WINDOW + 1] for start in starts.tolist()])
        return pieces[:, :-1], pieces[:, 1:]


def train(
    make_attention: Callable[[int, int], Any],
    text: Text,
    *,
    seconds: float,
    most_steps: float = math.inf,
    seed: int = 0,
) -> tuple[CharacterModel, list[float]]:
    """Train a model for some seconds or steps, whichever end first, with a progress bar.

    Returns the model and its losses, in nats per character.
    """
    torch.manual_seed(seed)
    model, losses = CharacterModel(len(text.characters), make_attention, window=WINDOW), list[float]()
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.01)
    began, spent, done = time.perf_counter(), 0.0, 0.0
    with (
        _one_thread(),
        tqdm(total=100, unit="%", file=sys.stdout, mininterval=2, ncols=90) as bar,
    ):
        while done < 1:
            # Up in a few steps, then down to a tenth along half a cosine, by what is left of the time.
            share = 0.55 + 0.45 * math.cos(math.pi * done)
            for group in optimizer.param_groups:
                group["lr"] = RATE * share * min(1.0, (1 + len(losses)) / WARM_UP)
            losses.append(_step(model, optimizer, *text.windows(generator)))
            spent = time.perf_counter() - began
            done = max(spent / seconds, len(losses) / most_steps)
            bar.set_postfix(steps=len(losses), loss=f"{losses[-1]:.2f}", refresh=False)
            bar.update(min(round(100 * done), bar.total) - bar.n)
    return model, losses


def _step(
    model: CharacterModel, optimizer: torch.optim.Optimizer, ids: torch.Tensor, following: torch.Tensor
) -> float:
    logits, _ = model(ids)
    loss = F.cross_entropy(logits.flatten(0, 1), following.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Tensors as small as these are done before a second thread has begun."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def write(
    model: CharacterModel,
    generate: Callable[..., torch.Tensor],
    text: Text,
    start: str,
    *,
    length: int = 300,
    temperature: float = 0.7,
    seed: int = 0,
) -> str:
    """Return what the model writes behind `start`, by the learner's own `generate` and caches.

    `generate` takes the largest logit. With noise of Gumbel's kind added to all of them, the largest one is
    drawn as from the softmax: chance without another line in the loop. (Gumbel 1954; Maddison et al. 2014.)

    Raises ValueError where `start` is empty or holds what the model has never read.
    """
    if not start:
        raise ValueError("give the model a character at least to begin with.")
    dice = torch.Generator().manual_seed(seed)

    def step(ids: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        logits, cache = model(ids, cache)
        noise = -torch.log(-torch.log(torch.rand(logits.shape, generator=dice).clamp(1e-9, 1 - 1e-7)))
        return logits / temperature + noise, cache

    was_training = model.training
    model.eval()
    try:
        ids = generate(step, text.numbers(start)[None], length)
    finally:
        model.train(was_training)
    return text.words(ids[0].tolist())
