"""Given to lesson 4: a task for one head, three ways to write the head, and the training."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS = ["I", "am", "learning", "this"]
POSITIONS = 6


def with_positions(word_ids):
    """Word ids (B, T) -> tokens (B, T, 4 + 6): a 1 for the word, a 1 for the position."""
    positions = F.one_hot(torch.arange(word_ids.shape[1]), POSITIONS).expand(*word_ids.shape, -1)
    return torch.cat([F.one_hot(word_ids, len(WORDS)), positions], dim=-1).float()


def attend(query, key, value):
    """Return output (B, T, D) and weights (B, T, T) of scaled attention, without a mask."""
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


class Right(nn.Module):
    """A head as it should be: three layers that the module owns."""

    def __init__(self, embed_dim, head_size):
        super().__init__()
        for name in ("query", "key", "value"):
            self.add_module(name, nn.Linear(embed_dim, head_size, bias=False))

    def forward(self, x):
        return attend(*(layer(x) for layer in self.children()))


class Bare(nn.Module):
    """The same head, but the query's matrix is a plain tensor."""

    def __init__(self, embed_dim, head_size):
        super().__init__()
        self.query = torch.randn(embed_dim, head_size) / math.sqrt(embed_dim)  # no layer, no parameter
        for name in ("key", "value"):
            self.add_module(name, nn.Linear(embed_dim, head_size, bias=False))

    def forward(self, x):
        return attend(x @ self.query, self.key(x), self.value(x))


class Rebuilt(Right):
    """The same head, but `forward` makes the three layers again at each call."""

    def forward(self, x):
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Linear(10, 8, bias=False))
        return super().forward(x)


class LookBack(nn.Module):
    """A head, and a layer that names a word at each position: tokens (B, T, 10) -> (B, T, 4)."""

    def __init__(self, make_head, head_size=8):
        super().__init__()
        self.head = make_head(len(WORDS) + POSITIONS, head_size)
        self.to_word = nn.Linear(head_size, len(WORDS))

    def forward(self, x):
        output, _ = self.head(x)
        return self.to_word(output)


def train(model, steps=300):
    """Train a model to name the word before, and return the loss of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        text = torch.randint(len(WORDS), (64, POSITIONS))  # (B, T) random words
        logits = model(with_positions(text))  # (B, T, 4)
        loss = F.cross_entropy(logits[:, 1:].flatten(0, 1), text[:, :-1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def share_right(model):
    """Return the share of words before that the model names correctly, on 1000 random sentences."""
    text = torch.randint(len(WORDS), (1000, POSITIONS), generator=torch.Generator().manual_seed(1))
    named = model(with_positions(text)).argmax(dim=-1)  # (B, T)
    return (named[:, 1:] == text[:, :-1]).double().mean().item()


def train_save_load(make_head):
    """Train a model, save it, and load it into a newly built one.

    returns: the losses (averages of 20 steps), the share right before saving, and after loading
    """
    torch.manual_seed(0)
    model = LookBack(make_head)
    losses = train(model, steps=600)
    saved = copy.deepcopy(model.state_dict())  # what torch.save would write

    torch.manual_seed(1)  # the next morning, another process
    loaded = LookBack(make_head)
    loaded.load_state_dict(saved)
    return torch.tensor(losses).view(-1, 20).mean(dim=1), share_right(model), share_right(loaded)
