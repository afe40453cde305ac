"""A classifier of the judge's own, small and quick, that `evaluate` and `predict` are asked with."""

import torch
import torch.nn as nn

from attention_lab.authoring import MadeInKernel, made_by

CLASSES = 5
VOCABULARY = 40


class Model(nn.Module):
    """Logits are linear in the mean of the embeddings that the mask lets through.

    0, the padding, has an embedding too, so that a model that sees it answers otherwise. `seen` says how
    it was called: whether in training mode, and whether gradients were recorded.
    """

    def __init__(self, embedding, final, dropout):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(embedding, freeze=False)
        self.dropout = nn.Dropout(dropout)
        self.final = nn.Linear(embedding.shape[1], len(final), bias=False)
        self.final.weight = nn.Parameter(final)
        self.seen = []

    def forward(self, input_ids, mask=None):
        every = torch.ones(input_ids.shape[0], 1, input_ids.shape[1], dtype=torch.bool)
        mask = every if mask is None else mask
        if mask.dtype != torch.bool:
            raise TypeError(f"the mask has to be boolean, and this one is {mask.dtype}")
        if mask.shape != every.shape:
            raise ValueError(
                f"the mask has to be (B, 1, T), here {tuple(every.shape)}, and it is {tuple(mask.shape)}"
            )
        share = mask / mask.sum(dim=-1, keepdim=True)
        logits = self.final(self.dropout((share @ self.embedding(input_ids)).squeeze(1)))
        self.seen.append((self.training, logits.requires_grad))
        return logits


def small_model(draw, dropout: float = 0.0) -> tuple[MadeInKernel, dict[str, torch.Tensor]]:
    """A model for the kernel, and its weights: embedding (VOCABULARY, E), final (CLASSES, E)."""
    (width,) = draw.sizes(1)
    weights = {"embedding": draw.normal(VOCABULARY, width), "final": draw.normal(CLASSES, width)}
    return made_by(Model, dropout=dropout, **weights), weights


def likeliest(weights: dict[str, torch.Tensor], input_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """What the model answers: input_ids (B, T), mask (B, 1, T) -> classes (B,)."""
    mean = (mask / mask.sum(dim=-1, keepdim=True) @ weights["embedding"][input_ids]).squeeze(1)
    return (mean @ weights["final"].mT).argmax(dim=-1)
