"""Lesson 12's stored numbers, from some hundred trainings; `benchmarks/lesson_numbers.py 12` runs this."""

from statistics import mean
from types import SimpleNamespace

import torch

from attention_lab.corpus import CLASS_NAMES, load_news, train_tokenizer
from attention_lab.lesson_08.given import one_epoch
from attention_lab.lesson_08.plumbing import collate, encoded, evaluate, in_batches, train
from attention_lab.lesson_12.board import results
from attention_lab.lesson_12.eleven import ELEVEN, classifier, masked_softmax

SEEDS, EPOCHS = range(9), 3
NO_BAR = SimpleNamespace(update=lambda: None)


def divided_by(divisor):
    """Return attention whose scores are divided by divisor(key, mask)."""

    def attention(query, key, value, mask=None):
        weights = masked_softmax(query @ key.mT / divisor(key, mask), mask)
        return weights @ value, weights

    return attention


def small_start(model):
    """Divide the initial query projection by the root of d = 64."""
    for parameter in model.attention.query.parameters():
        parameter.data /= 8


def frozen_keys(model):
    """Keep the key projection at its initial values."""
    model.attention.key.requires_grad_(False)


def small_steps(model, batches, optimizer):
    """Go through one epoch in which the query projection takes an eighth of each step."""
    for batch in batches:
        before = [parameter.detach().clone() for parameter in model.attention.query.parameters()]
        one_epoch(model, [batch], optimizer)
        for parameter, old in zip(model.attention.query.parameters(), before, strict=True):
            parameter.data = old + (parameter.data - old) / 8


# What is trained: attention, a change of the model before training, and an epoch.
CAUSES = {
    "H": (ELEVEN["H"], None, one_epoch),
    "J, not scaled": (ELEVEN["J"], None, one_epoch),
    "J, small start": (ELEVEN["J"], small_start, one_epoch),
    "J, small steps": (ELEVEN["J"], None, small_steps),
    "J, both": (ELEVEN["J"], small_start, small_steps),
    "L, no values": (ELEVEN["L"], None, one_epoch),
    "L, frozen keys": (ELEVEN["L"], frozen_keys, one_epoch),
    "C, root of all keys": (ELEVEN["C"], None, one_epoch),
    "root of the visible keys": (
        divided_by(lambda key, mask: mask.sum(dim=-1, keepdim=True).sqrt()),
        None,
        one_epoch,
    ),
    "always 5.7": (divided_by(lambda key, mask: 5.7), None, one_epoch),
    "always 4": (divided_by(lambda key, mask: 4), None, one_epoch),
}


def causes():
    """Train nine classifiers for each of eleven changes: accuracies on 260 test texts, compared with H."""
    torch.set_num_threads(1)
    news = load_news()
    tokenizer = train_tokenizer(news.train.texts, vocab_size=1000)
    train_data, test_batches = encoded(news.train, tokenizer), in_batches(encoded(news.test, tokenizer))
    batch, rows, right = collate(train_data[:24]), [], []
    visible = batch["mask"].squeeze(1)  # (B, T): only the queries of visible tokens count
    for name, (attention, change, epoch) in CAUSES.items():
        accuracies, largest = [], []
        for seed in SEEDS:
            model = classifier(attention, (1000, 64, len(CLASS_NAMES)), seed)
            if change is not None:
                change(model)
            with torch.no_grad():
                weights = model.attend(batch["input_ids"], batch["mask"])
            largest.append(weights.amax(dim=-1)[visible].mean().item())
            train(model, epoch, train_data, seed, EPOCHS, NO_BAR)
            accuracies.append(evaluate(model, test_batches)[1])
        right = right or accuracies
        rows.append(
            {
                "layer": name,
                "largest weight before training": round(mean(largest), 2),
                "accuracy": round(mean(accuracies), 3),
                "seeds below H": sum(a < b for a, b in zip(accuracies, right, strict=True)),
            }
        )
    return rows


TABLES = {"causes": causes, "board": results}
