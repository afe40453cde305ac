"""`python -m attention_lab.words.train`: train the word vectors on the sentences of `scenes.toml`.

The result is deterministic: the same scenes give the same vectors, up to rounding.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attention_lab.words.vectors import FILE

SCENES = Path(__file__).with_name("scenes.toml")
SENTENCES_A_SCENE = 1500
WIDTH = 12
SEED = 0


def train() -> tuple[list[str], torch.Tensor, torch.Tensor]:
    """The words in alphabetical order, their meanings and their contexts, both (words, WIDTH)."""
    sentences = list(_sentences(tomllib.loads(SCENES.read_text("utf-8"))))
    words = sorted({word for sentence in sentences for word in sentence})
    left, strengths, right = torch.linalg.svd(_association(sentences, words))
    roots = strengths[:WIDTH].sqrt()
    meaning, context = left[:, :WIDTH] * roots, right[:WIDTH].T * roots
    # A singular vector is as good with the other sign: the largest entry is made positive.
    places = meaning.abs().argmax(dim=0)
    signs = meaning[places, torch.arange(WIDTH)].sign()
    return words, meaning * signs, context * signs


def _association(sentences: list[list[str]], words: list[str]) -> torch.Tensor:
    """The pointwise mutual information of each pair of words, or 0 where it is negative; (words, words)."""
    places = {word: place for place, word in enumerate(words)}
    together = torch.zeros(len(words), len(words), dtype=torch.float64)
    for sentence in sentences:
        rows = torch.tensor([places[word] for word in sentence])
        pairs = torch.cartesian_prod(rows, rows)
        together.index_put_((pairs[:, 0], pairs[:, 1]), torch.ones(1, dtype=torch.float64), accumulate=True)
    together.fill_diagonal_(0)  # a word beside itself says nothing
    share = together / together.sum()
    by_chance = share.sum(dim=1, keepdim=True) * share.sum(dim=0, keepdim=True)
    return (share / by_chance).clamp(min=1).log()


def _sentences(scenes: dict[str, Any]) -> Iterator[list[str]]:
    rng = random.Random(SEED)
    for scene in scenes["scenes"].values():
        for _ in range(SENTENCES_A_SCENE):
            drawn = {role: rng.sample(words, 2) for role, words in scene.items()}
            template = rng.choice(scenes["templates"])
            filled = template
            for role, (first, second) in drawn.items():
                filled = filled.replace(f"{{{role}}}", first).replace(f"{{{role}.2}}", second)
            yield filled.split()


def main() -> None:
    words, meaning, context = train()
    np.savez_compressed(
        FILE, words=np.array(words), meaning=meaning.half().numpy(), context=context.half().numpy()
    )
    print(f"{FILE.name}: {len(words)} words, {FILE.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
