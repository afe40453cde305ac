"""Vectors for 143 words, small and trained: enough for attention over a sentence that means something.

Each word has two. `meaning_vectors` say what a word is, `context_vectors` which words are next to it. The
dot product of one word's meaning and another's context approximates their pointwise mutual information: the
logarithm of how much more often than by chance the two share a sentence, or 0 if they do not share one more
often than by chance. Some words occur in two kinds of sentence, and their vector is between the two: bank,
mouse, star, bat, note, key, chip, pitch, court, net, screen, office, owl, vault.

Made of the singular vectors of these logarithms, counted over 1,500 generated sentences for each of a few
scenes.
Levy and Goldberg (2014), "Neural word embedding as implicit matrix factorization".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch

__all__ = ["context_vectors", "meaning_vectors", "nearest_words"]

FILE = Path(__file__).with_name("vectors.npz")


@dataclass(frozen=True)
class Table:
    """All words, in the order of the rows of `meaning` and `context`, both (words, width)."""

    words: list[str]
    meaning: torch.Tensor
    context: torch.Tensor

    def rows(self, words: Sequence[str]) -> list[int]:
        unknown = [word for word in words if word not in self.words]
        if unknown:
            raise ValueError(
                f"There are no vectors for {', '.join(unknown)}. There are for: {', '.join(self.words)}."
            )
        return [self.words.index(word) for word in words]


@cache
def table() -> Table:
    """The table that comes with the package."""
    with np.load(FILE) as stored:
        meaning, context = (torch.from_numpy(stored[name]).float() for name in ("meaning", "context"))
        return Table([str(word) for word in stored["words"]], meaning, context)


def meaning_vectors(words: Sequence[str]) -> torch.Tensor:
    """Return what each word is, (words, 12). Raises ValueError for words that are not in the table."""
    return table().meaning[table().rows(words)]


def context_vectors(words: Sequence[str]) -> torch.Tensor:
    """Return what each word is beside, (words, 12). Raises ValueError for words that are not in the table."""
    return table().context[table().rows(words)]


def nearest_words(vector: torch.Tensor, count: int = 6) -> list[str]:
    """The words whose meaning points most nearly the way of a vector (12,), the nearest first."""
    alike = torch.nn.functional.cosine_similarity(table().meaning, vector.detach()[None])
    return [table().words[place] for place in alike.argsort(descending=True)[:count].tolist()]
