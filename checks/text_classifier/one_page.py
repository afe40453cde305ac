"""Lesson 8 on one page: a classifier of texts, and one epoch of its training."""

import torch.nn as nn
import torch.nn.functional as F


class TextClassifier(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.attention, self.positional = attention, positional
        self.fc1, self.final = nn.Linear(embed_dim, 128), nn.Linear(128, num_classes)

    def _attended(self, input_ids, mask):
        x = self.embedding(input_ids)  # (B, T) -> (B, T, E)
        x = x if self.positional is None else self.positional(x)  # (B, T, E)
        return self.attention(x, mask=mask)  # (B, T, E), (B, T, T)

    def forward(self, input_ids, mask=None):
        output, _ = self._attended(input_ids, mask)  # (B, T, E)
        return self.final(F.relu(self.fc1(output[:, 0])))  # (B, E) -> (B, 128) -> (B, C)

    def attend(self, input_ids, mask=None):
        return self._attended(input_ids, mask)[1]  # (B, T, T)


def train_epoch(model, batches, optimizer):
    model.train()
    total, samples = 0.0, 0
    for batch in batches:
        labels = batch["labels"]  # (B,)
        loss = F.cross_entropy(model(batch["input_ids"], batch["mask"]), labels)  # mean over the batch
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        samples += len(labels)
    return total / samples  # mean over all samples
