"""Given to lesson 5: the task "who paid whom", four layers that try it, and the training."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.lesson_05.attention_head import AttentionHead

SENTENCE = ["yesterday", "Ann", "gladly", "paid", "Bob"]
POSITION_VECTORS = torch.eye(8)[:5]  # (T_k, E): which of the five positions


class Heads(nn.Module):
    """Heads side by side, joined by an output projection; returns the weights of each head."""

    def __init__(self, embed_dim, *heads):
        super().__init__()
        self.heads = nn.ModuleList(heads)
        joined = sum(head.value.out_features for head in heads)
        self.output = nn.Linear(joined, embed_dim, bias=False)

    def forward(self, query, key, value):
        results = [head(query, key, value) for head in self.heads]
        outputs, weights = zip(*results, strict=True)
        return self.output(torch.cat(outputs, dim=-1)), weights


def four_layers(seed=0):
    """Return the four layers by name, newly initialised. Their vectors have 8 numbers."""
    torch.manual_seed(seed)
    head = AttentionHead(8, 4)
    return {
        "one head": Heads(8, AttentionHead(8, 8)),
        "one wide head": Heads(8, AttentionHead(8, 64)),
        "two heads": Heads(8, AttentionHead(8, 4), AttentionHead(8, 4)),
        "the same head twice": Heads(8, head, head),
    }


def sentences(count):
    """Return query (B, 1, 8), key (B, 5, 8), value (B, 5, 8) and wanted (B, 8) of random sentences."""
    word = torch.randn(count, 5, 4)  # four random numbers at each position
    key = POSITION_VECTORS.expand(count, 5, 8)  # where
    value = F.pad(word, (0, 4))  # what
    wanted = torch.cat([word[:, 1], word[:, 4]], dim=-1)  # the payer's numbers, then the payee's
    return key[:, 3:4], key, value, wanted  # the query is at "paid"


def train(layer, steps=300):
    """Train a layer to name payer and payee, and return its errors: averages of 10 steps each."""
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        query, key, value, wanted = sentences(256)
        output, _ = layer(query, key, value)  # (B, 1, 8)
        loss = F.mse_loss(output[:, 0], wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses).view(-1, 10).mean(dim=1)
