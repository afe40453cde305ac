"""The plumbing of a text classifier, ready made: texts to batches, training, accuracies, a table of answers.

A batch is a dict of `input_ids` (B, T) int64, `labels` (B,) int64, and `mask` (B, 1, T) bool, True on the
tokens and False on the padding. A model is called as `model(input_ids, mask)` and returns logits (B, C).
"""

import math
import time

import pandas as pd
import torch
import torch.nn.functional as F
from IPython.display import display
from scipy.special import stdtrit

from attention_lab.corpus import CLASS_NAMES

BATCH = 24


def encoded(split, tokenizer):
    """The texts of a split of the news as a list of (token ids, label)."""
    return [
        (tokenizer.encode(text).ids, label) for text, label in zip(split.texts, split.labels, strict=True)
    ]


def collate(batch, pad_id=0):
    """Make one batch of texts of different lengths, padded on the right to the longest of them.

    batch: a list of B pairs (token_ids, label)      returns: a batch, as described at the top of this file
    """
    lengths = torch.tensor([len(token_ids) for token_ids, _ in batch])  # (B,)
    longest = int(lengths.max())  # T
    input_ids = torch.full((len(batch), longest), pad_id)  # (B, T)
    for row, (token_ids, _) in zip(input_ids, batch, strict=True):
        row[: len(token_ids)] = torch.as_tensor(token_ids)
    mask = torch.arange(longest) < lengths.unsqueeze(1)  # (T,) against (B, 1): (B, T)
    labels = torch.tensor([label for _, label in batch])  # (B,)
    return {"input_ids": input_ids, "labels": labels, "mask": mask.unsqueeze(1)}


def in_batches(data, shuffle=None, pool=8 * BATCH):
    """Batches of texts of similar length, so that little of what a model reads is padding.

    data: a list of (token_ids, label)      shuffle: a torch.Generator, or None: always the same order
    """
    order = torch.arange(len(data))
    if shuffle is not None:
        order = torch.randperm(len(data), generator=shuffle)
    batches = []
    for some in order.split(pool if shuffle is not None else len(data)):
        by_length = sorted(some.tolist(), key=lambda position: len(data[position][0]))
        batches += [by_length[start : start + BATCH] for start in range(0, len(by_length), BATCH)]
    if shuffle is not None:  # otherwise every epoch would go from short texts to long ones
        batches = [batches[position] for position in torch.randperm(len(batches), generator=shuffle)]
    return [collate([data[position] for position in positions]) for positions in batches]


def logits_of(model, batches):
    """Logits (N, C) and labels (N,) of all texts; no gradients, evaluation mode, the mode restored."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        logits = torch.cat([model(batch["input_ids"], batch["mask"]) for batch in batches])
    model.train(was_training)
    return logits, torch.cat([batch["labels"] for batch in batches])


def evaluate(model, batches):
    """Mean cross-entropy over all texts, and the share of texts whose largest logit is their label's."""
    logits, labels = logits_of(model, batches)
    return F.cross_entropy(logits, labels).item(), (logits.argmax(dim=-1) == labels).float().mean().item()


def hits(model, batches):
    """Return which texts the model classifies correctly: (N,) bool, in the order of the batches."""
    logits, labels = logits_of(model, batches)
    return logits.argmax(dim=-1) == labels


def predict(texts, model, tokenizer):
    """Classify a list of B strings.

    returns: a DataFrame with a row per text and the columns class_0_prob, class_1_prob, ..., pred_class
             and pred_class_name. The other texts of the list do not change the answer to a text.
    """
    encodings = tokenizer.encode_batch(texts)  # padded to the longest
    input_ids = torch.tensor([encoding.ids for encoding in encodings])  # (B, T)
    mask = torch.tensor([encoding.attention_mask for encoding in encodings]).bool()  # (B, T), True = token
    batch = {"input_ids": input_ids, "labels": torch.zeros(len(texts)), "mask": mask.unsqueeze(1)}
    probabilities = torch.softmax(logits_of(model, [batch])[0], dim=-1)  # (B, C)
    table = {f"class_{i}_prob": column.tolist() for i, column in enumerate(probabilities.T)}
    table["pred_class"] = probabilities.argmax(dim=-1).tolist()
    table["pred_class_name"] = [CLASS_NAMES[i] for i in table["pred_class"]]
    return pd.DataFrame(table)


def read_headline(text, model, tokenizer):
    """Tokens, probabilities (C,) and attention weights (T, T) of one text, for a picture."""
    encoding = tokenizer.encode(text)
    input_ids = torch.tensor([encoding.ids])  # (1, T)
    with torch.no_grad():
        probabilities = torch.softmax(model(input_ids)[0], dim=-1)
        return encoding.tokens, probabilities, model.attend(input_ids)[0]


class Progress:
    """A progress bar over this many epochs, updated in place: `with Progress(20) as bar`."""

    def __init__(self, epochs):
        self.epochs, self.done = epochs, 0

    def __enter__(self):
        self.line = display(self.text(), raw=True, display_id=True)
        return self

    def __exit__(self, *_):
        self.line.update({"text/plain": f"trained for {self.done} epochs"}, raw=True)

    def update(self):
        self.done += 1
        self.line.update(self.text(), raw=True)

    def text(self):
        bar = "█" * (40 * self.done // self.epochs)
        return {"text/plain": f"{bar:░<40} {self.done} of {self.epochs} epochs"}


def train(model, train_epoch, data, seed, epochs, bar, measured_on=None):
    """Train a model in place, with Adam, a falling learning rate, and texts shuffled by the seed.

    train_epoch: called as train_epoch(model, batches, optimizer), once per epoch
    measured_on: name -> batches on which loss and accuracy are measured after each epoch
    returns: a history: "training loss", "training accuracy", ... and "seconds", a number per epoch
    """
    measured_on = measured_on or {}
    optimizer = torch.optim.Adam(model.parameters(), lr=0.006)
    shrink = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=epochs)
    shuffle = torch.Generator().manual_seed(seed)
    history = {f"{part} {what}": [] for what in ("loss", "accuracy") for part in measured_on}
    history["seconds"] = []
    for _ in range(epochs):
        batches = in_batches(data, shuffle)
        start = time.perf_counter()
        train_epoch(model, batches, optimizer)
        history["seconds"].append(time.perf_counter() - start)
        shrink.step()
        for part, held in measured_on.items():
            for what, value in zip(("loss", "accuracy"), evaluate(model, held), strict=True):
                history[f"{part} {what}"].append(value)
        bar.update()
    return history


def interval(gains):
    """Mean of `gains` (seeds, texts), with a 95 % interval for other seeds *and* other texts.

    The variance of the mean over seeds and that of the mean over texts are added. Both include a
    little variance that seeds and texts share, so the interval is too wide rather than too narrow.
    The degrees of freedom are those of such a sum (Welch and Satterthwaite): close to those of the
    part that contributes most.
    returns: (mean, low, high)
    """
    gains = gains.double()
    seeds, texts = gains.shape
    of_seeds, of_texts = gains.mean(dim=1).var() / seeds, gains.mean(dim=0).var() / texts
    variance = of_seeds + of_texts
    degrees = variance**2 / (of_seeds**2 / (seeds - 1) + of_texts**2 / (texts - 1))
    half = float(stdtrit(degrees.item(), 0.975)) * math.sqrt(variance)
    mean = gains.mean().item()
    return mean, mean - half, mean + half
