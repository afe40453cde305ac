"""The visible tests of the two answers of lesson 8. Each example is small enough to check by hand."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.examples import example, same
from attention_lab.lesson_08.layers import (
    EfficientMultiHeadAttention,
    NaiveMultiHeadAttention,
    TorchMultiHeadAttention,
)
from attention_lab.lesson_08.plumbing import collate


class Neighbour(nn.Module):
    """An "attention layer" that gives each token its right neighbour, and what its mask allows it."""

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        visible = torch.ones(len(key), 1, key.shape[1]) if mask is None else mask.float()
        output = key.roll(-1, dims=1) + visible.sum(dim=-1, keepdim=True)
        return output[:, : query.shape[1]], (query @ key.mT) * visible


class Shifted(nn.Module):
    """ "Positions" that add one half to every number."""

    def forward(self, x):
        return x + 0.5


def test_TextClassifier(answer):
    for layer in (NaiveMultiHeadAttention, EfficientMultiHeadAttention, TorchMultiHeadAttention):
        model = answer(1000, 64, 5, layer(64, 8))
        count = sum(parameter.numel() for parameter in model.parameters())
        assert count == 89_605, f"64,000 + 16,640 + 8,320 + 645 parameters are 89,605, not {count:,}"
    print("✓ 89,605 parameters")

    torch.manual_seed(42)
    model = answer(6, 4, 3, Neighbour(), Shifted())
    assert model.embedding.padding_idx == 0, "the padding's embedding must not be trained: padding_idx=0"
    ids = torch.tensor([[2, 3, 5], [2, 4, 0]])  # (B, T)
    mask = torch.tensor([[[True, True, True]], [[True, False, False]]])
    placed = model.embedding(ids) + 0.5  # (B, T, E)
    for title, given, visible in (("a mask", mask, mask.float()), ("no mask", None, torch.ones(2, 1, 3))):
        gathered = placed[:, 1] + visible.sum(dim=-1)  # what the first token is given, (B, E)
        by_hand = model.final(F.relu(model.fc1(gathered)))  # (B, C)
        example(f"logits by hand, {title}", model, ids, given, gives=by_hand)
        example(f"attend, {title}", model.attend, ids, given, gives=(placed @ placed.mT) * visible)
    plain = answer(6, 4, 3, Neighbour())  # `positional` is None
    x = plain.embedding(ids)
    assert torch.allclose(plain.attend(ids), x @ x.mT), "without `positional`, attend gives other weights"


class Balance(nn.Module):
    """Two logits, the same for every text; it remembers in which mode it was called."""

    def __init__(self):
        super().__init__()
        self.logits, self.was_training = nn.Parameter(torch.zeros(2)), []

    def forward(self, input_ids, mask):
        self.was_training.append(self.training)
        return self.logits.expand(len(input_ids), 2)


class FirstToken(nn.Module):
    """Logits from the first token alone."""

    def __init__(self):
        super().__init__()
        self.logits = nn.Embedding(10, 3)

    def forward(self, input_ids, mask):
        return self.logits(input_ids[:, 0])


def test_train_epoch(answer):
    model = Balance().eval()
    model.logits.grad = torch.full((2,), 9.0)  # left over from an earlier step
    batches = iter([collate([([2], 0)]), collate([([2], 1), ([2, 8], 1)])])  # one text, then two
    loss = answer(model, batches, torch.optim.SGD(model.parameters(), lr=1.0))
    # ln 2, and a step to (1/2, -1/2); then twice ln(1 + e), and a step by e / (1 + e) = 0.7311 back.
    same("the loss: ln 2, then twice ln(1 + e), the mean of three", loss, 1.1066)
    same("the logits after two steps", model.logits.detach(), torch.tensor([-0.2311, 0.2311]))
    assert all(model.was_training), "the model came in evaluation mode: put it into training mode first"
    print("✓ training mode")

    torch.manual_seed(42)
    model = FirstToken()
    five = [([2], 0), ([3], 1), ([4], 2), ([5, 3], 0), ([6, 2], 1)]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3)
    losses = [answer(model, [collate(five[:4]), collate(five[4:])], optimizer) for _ in range(30)]
    assert losses[-1] < 0.1, f"five texts can be learned by heart; your loss is still {losses[-1]:.2f}"
    print("✓ five texts learned by heart")
