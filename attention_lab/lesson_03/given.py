"""Given to lesson 3: a small attention layer that is trained to predict random letters."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.plots import curves

LETTERS, LENGTH, WIDTH, BATCH = 8, 6, 32, 64  # eight letters; 64 texts of six; vectors of 32 numbers


def causal_masks(length):
    """Return three masks (T, T), True = may attend, by name: the causal mask, and two wrong ones."""
    larger = torch.ones(length + 1, length + 1, dtype=torch.bool).tril()
    causal = larger[:length, :length]
    return {"causal": causal, "one ahead": larger[1:, :length], "upside down": causal.T}


def puzzle_masks():
    """Return the four masks (8, 8) of the puzzle, True = may attend, by letter."""
    query, key = torch.arange(8)[:, None], torch.arange(8)[None]  # (T, 1), (1, T)
    text = torch.tensor([0, 0, 0, 1, 1, 1, 1, 1])  # which of the two packed texts a token belongs to
    return {
        "A": (key <= query) | (key < 3),
        "B": (key <= query) & (text[:, None] == text),
        "C": (key < 6).expand(8, 8),
        "D": (key <= query) & (query - key < 3),
    }


def attention_with(masked_softmax):
    """Scaled attention, called as attend(query, key, value, mask), with your `masked_softmax`."""

    def attend(query, key, value, mask):
        weights = masked_softmax(query @ key.mT / math.sqrt(query.shape[-1]), mask)  # (..., T_q, T_k)
        return weights @ value, weights

    return attend


def train_on_noise(mask, seed=0, steps=300):
    """Train one attention layer to predict the next letter of random texts.

    mask: bool (T, T)
    returns: the losses, averaged over 10 steps each; at each position (T,), that of the last 30 steps
    """
    torch.manual_seed(seed)
    letter, position = nn.Embedding(LETTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
    to_query, to_key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
    to_letter = nn.Linear(WIDTH, LETTERS)
    layers = nn.ModuleList([letter, position, to_query, to_key, to_letter])
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
    losses = []  # each step's loss at each position (T,)
    for _ in range(steps):
        text = torch.randint(LETTERS, (BATCH, LENGTH + 1))  # every letter is equally likely
        seen, following = text[:, :-1], text[:, 1:]  # both (B, T): predict the second from the first
        x = letter(seen)  # (B, T, E)
        placed = x + position.weight  # tells the layer where a letter is (lesson 7)
        output = F.scaled_dot_product_attention(to_query(placed), to_key(placed), x, attn_mask=mask)
        loss = F.cross_entropy(to_letter(output).mT, following, reduction="none").mean(dim=0)  # (T,)
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
        losses.append(loss.detach())
    table = torch.stack(losses)  # (steps, T)
    return table.mean(dim=1).view(-1, 10).mean(dim=1), table[-30:].mean(dim=0)


def draw_losses(results):
    """Draw the losses of several runs, name -> what `train_on_noise` returned, and the best honest loss."""
    losses = {name: curve for name, (curve, _) in results.items()}
    end = 10 * len(next(iter(losses.values())))
    axes = curves(
        torch.arange(10, end + 1, 10),
        losses,
        x_label="step",
        y_label="loss",
        title="Learning to predict random letters",
    )
    axes.get_legend().remove()
    for line, (name, curve) in zip(axes.lines, losses.items(), strict=True):
        text = f"{name} {curve[-3:].mean():.2f}"
        axes.text(end + 6, float(curve[-1]), text, color=line.get_color(), va="center")
    axes.hlines(math.log(LETTERS), 0, end, color="black", linewidth=1)
    axes.text(end, math.log(LETTERS) + 0.08, "ln 8: the best honest guess", ha="right")
    axes.set(ylim=(0, 2.5), xlim=(0, 1.35 * end), xticks=range(0, end + 1, 50))
