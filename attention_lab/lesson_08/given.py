"""A ready-made news classifier and its training, for experiments that come before (or without) your own."""

import torch.nn as nn
import torch.nn.functional as F


class Reader(nn.Module):
    """A classifier of texts around an attention layer.

    attention: a module, called as attention(x, mask=mask) -> output (B, T, E), weights (B, T, T)
    positional: a module (B, T, E) -> (B, T, E) that marks the positions, or None
    """

    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.positional = nn.Identity() if positional is None else positional
        self.attention = attention
        self.decide = nn.Sequential(nn.Linear(embed_dim, 128), nn.ReLU(), nn.Linear(128, num_classes))

    def look(self, input_ids, mask):
        return self.attention(self.positional(self.embedding(input_ids)), mask=mask)

    def forward(self, input_ids, mask=None):
        return self.decide(self.look(input_ids, mask)[0][:, 0])  # (B, T, E) -> (B, E) -> (B, C)

    def attend(self, input_ids, mask=None):
        return self.look(input_ids, mask)[1]  # (B, T, T)


def one_epoch(model, batches, optimizer):
    """Go once through the batches, with one step of the optimizer on each."""
    model.train()
    for batch in batches:
        loss = F.cross_entropy(model(batch["input_ids"], batch["mask"]), batch["labels"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
