"""The attention layers and the positions that the grader puts into a `TextClassifier`."""

from pathlib import Path

import torch
import torch.nn as nn

from attention_lab.authoring import MadeInKernel, made_by
from attention_lab.lesson_08 import layers

# The layers that the lesson gives, as text: kernels make them from it.
LAYERS = Path(layers.__file__).read_text()
NAIVE, EFFICIENT, TORCHS = (
    "NaiveMultiHeadAttention",
    "EfficientMultiHeadAttention",
    "TorchMultiHeadAttention",
)


class UnheardOf(nn.Module):
    """Attention of a kind that no lesson has: its weights cannot be guessed, only taken from it."""

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        weights = torch.sin(query @ key.mT) + 0.5
        if mask is not None:
            weights = weights * mask
        return torch.tanh(weights @ value / 4), weights


class Positions(nn.Module):
    """Learned positions that also scale: twice, later or beside the embeddings is not the same."""

    def __init__(self, length, embed_dim):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(length, embed_dim))

    def forward(self, x):
        return 0.8 * x + self.table[: x.shape[1]]


def attention(name, embed_dim, num_heads):
    """One of the given layers, and the shapes of its parameters inside a `TextClassifier`."""
    given = {"embed_dim": embed_dim, "num_heads": num_heads}
    shapes = {
        f"attention.{parameter}": tuple(tensor.shape)
        for parameter, tensor in getattr(layers, name)(embed_dim, num_heads, bias=True).named_parameters()
    }
    return MadeInKernel(f"{LAYERS}\nmade = {name}(embed_dim, num_heads, bias=True)\n", given), shapes


def unheard_of():
    """A layer without parameters, whose weights do not even sum to 1."""
    return made_by(UnheardOf), {}


def positions(length, embed_dim):
    """A positional layer, and the shape of its one parameter inside a `TextClassifier`."""
    return made_by(Positions, length=length, embed_dim=embed_dim), {"positional.table": (length, embed_dim)}
