"""Given to lesson 3: a small attention layer that is trained to predict random letters."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.plots import curves

LETTERS, LENGTH, WIDTH = 8, 6, 32  # eight letters, texts of six, vectors of 32 numbers


def causal_masks(length):
    """Return three masks (T, T), True = may attend, by name: the causal mask, and two wrong ones."""
    larger = torch.ones(length + 1, length + 1, dtype=torch.bool).tril()
    true = larger[:length, :length]
    return {"true": true, "one ahead": larger[1:, :length], "upside down": true.T}


def attention(query, key, value, mask):
    """Return output (B, T, d_v) and weights (B, T, T) of masked attention; each row sees a key here."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (B, T, T)
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
    return weights @ value, weights


def train_on_noise(mask, attend=attention, steps=300, batch=64):
    """Train one attention layer to predict the next letter of random texts.

    mask: bool (T, T)      attend: called as attend(query, key, value, mask)
    returns: the losses, averaged over 10 steps each; at each position (T,), that of the last 30 steps
    """
    torch.manual_seed(0)
    letter, position = nn.Embedding(LETTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
    to_query, to_key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
    to_letter = nn.Linear(WIDTH, LETTERS)
    layers = nn.ModuleList([letter, position, to_query, to_key, to_letter])
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
    losses = []  # each step's loss at each position (T,)
    for _ in range(steps):
        text = torch.randint(LETTERS, (batch, LENGTH + 1))  # every letter is equally likely
        seen, following = text[:, :-1], text[:, 1:]  # both (B, T): predict the second from the first
        x = letter(seen)  # (B, T, E)
        placed = x + position.weight  # tells the layer where a letter is (lesson 7)
        output, _ = attend(to_query(placed), to_key(placed), x, mask)
        logits = to_letter(output)  # (B, T, LETTERS)
        by_position = F.cross_entropy(logits.mT, following, reduction="none").mean(dim=0)  # (T,)
        optimizer.zero_grad()
        by_position.mean().backward()
        optimizer.step()
        losses.append(by_position.detach())
    table = torch.stack(losses)  # (steps, T)
    return table.mean(dim=1).view(-1, 10).mean(dim=1), table[-30:].mean(dim=0)


def draw_losses(results):
    """Draw the losses of several runs, name -> what `train_on_noise` returned, and the best honest loss."""
    losses = {name: curve for name, (curve, _) in results.items()}
    steps = 10 * torch.arange(1, 1 + len(next(iter(losses.values()))))
    axes = curves(steps, losses, x_label="step", y_label="loss", title="Learning to predict random letters")
    axes.axhline(math.log(LETTERS), color="black", linewidth=1)
    axes.text(steps[-1], math.log(LETTERS) + 0.08, "ln 8: the best honest guess", ha="right")
    axes.set_ylim(0, 2.5)
