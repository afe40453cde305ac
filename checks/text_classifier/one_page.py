"""Lesson 8 on one page: a classifier of texts, trained, measured, asked; and a judge of attention."""

import math

import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange

from attention_lab.corpus import CLASS_NAMES

class_names = list(CLASS_NAMES)


def collate(batch, pad_id=0):
    texts = [torch.as_tensor(token_ids) for token_ids, _ in batch]  # B times (T of its own,)
    lengths = torch.tensor([len(text) for text in texts])  # (B,)
    input_ids = nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=pad_id)  # (B, T)
    mask = torch.arange(input_ids.shape[1]) < rearrange(lengths, "b -> b 1 1")  # (B, 1, T)
    labels = torch.tensor([int(label) for _, label in batch])  # (B,)
    return {"input_ids": input_ids.long(), "labels": labels, "mask": mask}


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


def evaluate(model, batches):
    was_training = model.training
    model.eval()
    loss, hits, samples = 0.0, 0, 0
    with torch.no_grad():
        for batch in batches:
            labels, logits = batch["labels"], model(batch["input_ids"], batch["mask"])  # (B,), (B, C)
            loss += F.cross_entropy(logits, labels, reduction="sum").item()
            hits += (logits.argmax(dim=-1) == labels).sum().item()
            samples += len(labels)
    model.train(was_training)
    return loss / samples, hits / samples


def predict(texts, model, tokenizer):
    encodings = tokenizer.encode_batch(texts)
    input_ids = torch.tensor([encoding.ids for encoding in encodings])  # (B, T)
    mask = torch.tensor([encoding.attention_mask for encoding in encodings]).bool()  # (B, T)
    was_training = model.training
    model.eval()
    with torch.no_grad():
        probabilities = torch.softmax(model(input_ids, rearrange(mask, "b t -> b 1 t")), dim=-1)  # (B, C)
    model.train(was_training)
    table = {f"class_{i}_prob": column.tolist() for i, column in enumerate(probabilities.T)}
    table["pred_class"] = probabilities.argmax(dim=-1).tolist()
    table["pred_class_name"] = [class_names[i] for i in table["pred_class"]]
    return pd.DataFrame(table)  # a row a text


def is_correct(attention):
    def expected(query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        scores = query @ key.mT / math.sqrt(query.shape[-1])  # (B, T_q, T_k)
        if mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            # A finite lowest score: a row of nothing but -inf would be NaN, forward and backward.
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
            weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
        return weights @ value, weights  # (B, T_q, d_v), (B, T_q, T_k)

    def close(one, two, atol):
        alike = one is not None and two is not None and one.shape == two.shape and one.dtype == two.dtype
        return alike and torch.allclose(one, two, rtol=1e-4, atol=atol)

    def agrees(*given, mask=None):
        """The same results, the same gradients, and arguments that stay as they are."""
        results, gradients, arguments = [], [], []
        for function in (expected, attention):
            tensors = [tensor.clone().requires_grad_() for tensor in given]
            its_mask = None if mask is None else mask.clone()
            output, weights = function(*tensors, mask=its_mask)
            (output.square().sum() + weights.square().sum()).backward()
            results.append((output, weights))
            gradients.append([tensor.grad for tensor in tensors])
            arguments.append([*tensors, *([] if mask is None else [its_mask])])
        return (
            all(close(one, two, atol=1e-5) for one, two in zip(*results, strict=True))
            and all(close(one, two, atol=1e-4) for one, two in zip(*gradients, strict=True))
            and all(torch.equal(one, two) for one, two in zip(*arguments, strict=True))
        )

    B, T_q, T_k, d, d_v = 3, 4, 5, 6, 2  # all different: nothing fits by accident
    random = torch.Generator().manual_seed(0)
    padding = torch.arange(T_k) < torch.tensor([[[2]], [[5]], [[0]]])  # (B, 1, T_k): the last is empty
    each = torch.rand(B, T_q, T_k, generator=random) < 0.6
    each[1, 2] = False  # a query with nothing to attend to
    causal = torch.ones(T_q, T_q, dtype=torch.bool).tril()
    try:
        for dtype in (torch.float32, torch.float64):
            query = torch.randn(B, T_q, d, generator=random, dtype=dtype)
            key = torch.randn(B, T_k, d, generator=random, dtype=dtype)
            value = torch.randn(B, T_k, d_v, generator=random, dtype=dtype)
            without_mask = agrees(query) and agrees(query, key) and agrees(query, key, value)
            masks = (each[0], each, padding)
            with_mask = agrees(query, mask=causal) and all(agrees(query, key, value, mask=m) for m in masks)
            if not (without_mask and with_mask):
                return False
    except Exception:
        return False
    return True
