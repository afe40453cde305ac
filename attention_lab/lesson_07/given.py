"""Say it backwards: a task that needs order, a small model for it, and positions that are given.

A text is six different letters out of twelve. At each position the model must name the letter at the
mirrored position: at the first position the last letter, at the second the one before it, and so on.
"""

import math

import matplotlib.pyplot as plt
import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.plots import attention_heatmap, curves

LETTERS, LENGTH, WIDTH, BATCH, STEPS = 12, 6, 64, 64, 200


def clock_hands(length, width):
    """Return sine and cosine of every position in turn, (length, width): clock hands as complex numbers."""
    speeds = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(length).float(), speeds)  # (length, clocks)
    return torch.view_as_real(torch.polar(torch.ones_like(angles), angles)).flip(-1).flatten(1)


class Positions(nn.Module):
    """Add a row of the table to each token: row t to token t. x: (B, T, E) -> (B, T, E)"""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.register_buffer("table", clock_hands(128, width), persistent=False)

    def forward(self, x):
        return x + self.table[: x.shape[1]]


class Pasted(Positions):
    """The same from older code, in which tokens run along the first dimension: (T, B, E)."""

    def forward(self, x):
        return x + self.table[: x.shape[0]].unsqueeze(1)


class Backwards(nn.Module):
    """Positions, one attention head, and a small network that reads each position by itself.

    positions: a module (B, T, E) -> (B, T, E)      mask: (T, T) bool, True = may attend
    """

    def __init__(self, positions, mask):
        super().__init__()
        self.positions, self.mask = positions, mask
        self.letter = nn.Embedding(LETTERS, WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.read = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, LETTERS))

    def attend(self, text):
        """text: (B, T) int64      returns: output (B, T, E), weights (B, T, T)"""
        x = self.positions(self.letter(text))
        scores = self.query(x) @ self.key(x).mT / math.sqrt(WIDTH)
        weights = torch.softmax(scores.masked_fill(~self.mask, -math.inf), dim=-1)
        return x + weights @ self.value(x), weights

    def forward(self, text):  # (B, T) -> (B, T, LETTERS)
        return self.read(self.attend(text)[0])


def some_texts(count):
    """Draw texts without any letter twice, (count, T)."""
    return torch.rand(count, LETTERS).argsort(dim=1)[:, :LENGTH]


def train(positions, mask, seed):
    """Train a new model; returns it, and its losses averaged over ten steps each, (STEPS / 10,)."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # for tensors as small as these, more threads are slower
    model = Backwards(positions, mask)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    losses = []
    for _ in range(STEPS):
        text = some_texts(BATCH)
        loss = F.cross_entropy(model(text).flatten(0, 1), text.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, torch.tensor(losses).view(-1, 10).mean(dim=1)


def last_loss(losses):
    """Return the mean of the last thirty steps."""
    return losses[-3:].mean().item()


def draw_losses(runs):
    """Draw the losses of the first seed of each model. runs: name -> a list of (model, losses)."""
    first = {name: results[0][1] for name, results in runs.items()}
    axes = curves(
        torch.arange(10, STEPS + 1, 10), first, x_label="step", y_label="loss", title="Say it backwards"
    )
    for candidates in (LETTERS - 1, LENGTH - 1):
        axes.axhline(math.log(candidates), color="black", linewidth=1)
        axes.text(STEPS, math.log(candidates) - 0.12, f"ln {candidates}", ha="right")
    axes.legend(loc=(0.65, 0.18), handlelength=3.2)


def draw_weights(runs, names):
    """Draw the attention weights of the first seed of some models, all for one new text."""
    torch.manual_seed(3)
    text = some_texts(1)  # (1, T)
    letters = ["abcdefghijkl"[letter] for letter in text[0]]
    figure, panels = plt.subplots(1, len(names), figsize=(9.5, 4.4))
    for panel, name in zip(panels, names, strict=True):
        with torch.no_grad():
            _, weights = runs[name][0][0].attend(text)  # (1, T, T)
        attention_heatmap(weights[0], queries=letters, keys=letters, ax=panel, title=name)
    figure.tight_layout()


def compare_readings(attend, sentence, order):
    """Print how much three readings of a layer change when the tokens of a sentence are reordered.

    attend: x (1, T, E) -> (1, T, E)      sentence: (1, T, E)      order: (T,) int64
    """
    torch.manual_seed(7)
    cls = torch.rand(1, 1, sentence.shape[-1])  # the same in front of every sentence
    shuffled = sentence[:, order]
    with torch.no_grad():
        plain = attend(sentence), attend(shuffled)
        with_cls = attend(torch.cat([cls, sentence], 1)), attend(torch.cat([cls, shuffled], 1))
    readings = {
        "mean of all tokens": [output.mean(dim=1) for output in plain],
        "first token": [output[:, 0] for output in plain],
        "[CLS], always first": [output[:, 0] for output in with_cls],
    }
    for name, (one, other) in readings.items():
        print(f"{name:<20} changes by {(one - other).abs().max().item():.4f}")
