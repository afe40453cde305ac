"""The exercise `train_epoch`, and right answers written in other ways."""

from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import Exercise, case

train_epoch = Exercise(
    "train_epoch",
    results=("loss", "parameters"),
    mistakes_from=("train_epoch_mistakes", "train_epoch_mistakes_in_the_loss"),
)

CLASSES = 4
VOCABULARY = 30


class Model(nn.Module):
    """The mean of the tokens that the mask shows, and one layer.

    In training it drops the same part of the numbers every time: what a dropout does, without its dice.
    """

    def __init__(self, embedding, weight, bias):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(embedding.clone(), freeze=False)
        self.final = nn.Linear(*weight.shape[::-1]).double()
        with torch.no_grad():
            self.final.weight.copy_(weight)
            self.final.bias.copy_(bias)

    def forward(self, input_ids, mask=None):
        seen = torch.ones_like(input_ids).unsqueeze(1) if mask is None else mask
        seen = seen.to(self.embedding.weight)
        mean = (seen @ self.embedding(input_ids)).squeeze(1) / seen.sum(dim=-1)
        if self.training:
            mean = torch.cat([torch.zeros_like(mean[:, :3]), 1.5 * mean[:, 3:]], dim=1)
        return self.final(mean)


def one_epoch(answer, *, weights, data, kind, settings, was_evaluated, left_over, only_once, as_a_number):
    """Makes the model and the optimizer, and gives back the loss and all parameters after the epoch.

    What is said of them in the call is for the student to read.
    """

    def run_epoch(*, model, batches, optimizer):
        model = Model(**weights)
        optimizer = getattr(torch.optim, kind)(model.parameters(), **settings)
        model.train(not was_evaluated)
        if left_over:
            for parameter in model.parameters():
                parameter.grad = torch.full_like(parameter, left_over)
        loss = answer(model, (batch for batch in data) if only_once else data, optimizer)
        if as_a_number and hasattr(loss, "__float__"):
            loss = float(loss.detach() if isinstance(loss, torch.Tensor) else loss)
        elif isinstance(loss, float):
            loss = float(loss)  # numpy's float64 is one
        after = [model.final.bias, model.final.weight, model.embedding.weight]
        return loss, torch.cat([parameter.detach().flatten() for parameter in after])

    return run_epoch


def _weights(draw):
    (width,) = draw.sizes(1)
    return {
        "embedding": draw.normal(VOCABULARY, width, dtype=torch.float64),
        "weight": draw.normal(CLASSES, width, dtype=torch.float64),
        "bias": draw.normal(CLASSES, dtype=torch.float64),
    }


def _batch(draw, size, length, padded=True):
    """What `collate` returns; the last text fills the row, and the one before it does not."""
    lengths = draw.integers(1, length - 1, size) if padded else torch.full((size,), length)
    lengths[-1] = length
    mask = torch.arange(length) < lengths[:, None]
    input_ids = draw.integers(1, VOCABULARY - 1, size, length) * mask
    return {"input_ids": input_ids, "labels": draw.integers(0, CLASSES - 1, size), "mask": mask[:, None]}


def _epoch(draw, sizes, kind="SGD", padded=True, lr=0.5, **circumstances):
    """One call: a batch for each of the sizes, each as long as it happens to be."""
    usual = {"was_evaluated": False, "left_over": 0.0, "only_once": False, "as_a_number": True}
    happens = {name: circumstances.pop(name, ordinary) for name, ordinary in usual.items()}
    settings = {"lr": lr} | circumstances
    data = [_batch(draw, size, length, padded) for size, length in zip(sizes, draw.sizes(len(sizes)))]
    given = {"weights": _weights(draw), "data": data, "kind": kind, "settings": settings} | happens
    return case(
        model="in evaluation mode" if happens["was_evaluated"] else "in training mode",
        batches=f"of {', '.join(map(str, sizes))} texts",
        optimizer=f"{kind}({', '.join(f'{name}={value}' for name, value in settings.items())})",
        through=partial(one_epoch, **given),
    )


@train_epoch.group("one batch without padding", points=1)
def one_batch(draw):
    yield _epoch(draw, draw.sizes(1), padded=False)
    yield _epoch(draw, draw.sizes(1), padded=False, lr=0.1)


@train_epoch.group("several batches, with padding", points=2)
def several_batches(draw):
    for count in (2, 3):
        (size,) = draw.sizes(1)
        yield _epoch(draw, [size] * count)


@train_epoch.group("a last batch that is shorter", points=2)
def shorter_last_batch(draw):
    for rest in (1, 2):
        (size,) = draw.sizes(1)
        yield _epoch(draw, [size, size, rest])


@train_epoch.group("momentum, weight decay and Adam", points=1)
def other_optimizers(draw):
    (size,) = draw.sizes(1)
    yield _epoch(draw, [size] * 3, lr=0.3, momentum=0.9, weight_decay=0.1)
    yield _epoch(draw, [size] * 3, kind="Adam", lr=0.1)


@train_epoch.group("a model that was in evaluation mode", points=1)
def after_an_evaluation(draw):
    (size,) = draw.sizes(1)
    yield _epoch(draw, [size], padded=False, was_evaluated=True)
    yield _epoch(draw, [size] * 2, was_evaluated=True)


@train_epoch.group("gradients left over from before", points=1)
def left_over_gradients(draw):
    (size,) = draw.sizes(1)
    yield _epoch(draw, [size], padded=False, left_over=1.0)
    yield _epoch(draw, [size] * 2, left_over=-0.5)


@train_epoch.group("batches that come one by one, and a float", points=1)
def one_by_one(draw):
    (size,) = draw.sizes(1)
    yield _epoch(draw, [size], padded=False, only_once=True, as_a_number=False)
    yield _epoch(draw, [size] * 2, only_once=True, as_a_number=False)


@train_epoch.accepted_alternative(
    "Clears the gradients after each step, and once before the first, as libraries do: they can then be "
    "inspected between two steps. Do not forget the one before the loop."
)
def gradients_cleared_last_and_first(model, batches, optimizer):
    criterion = nn.CrossEntropyLoss()
    optimizer.zero_grad()
    model.train()
    losses, sizes = [], []
    for batch in batches:
        input_ids, labels, mask = batch["input_ids"], batch["labels"], batch["mask"]
        logits = model(input_ids, mask=mask)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        losses.append(loss.item())
        sizes.append(labels.size(0))
    return np.average(losses, weights=sizes)


@train_epoch.accepted_alternative
def by_the_sum(model, batches, optimizer):
    model.train(True)
    total = 0
    samples = 0
    for batch in batches:
        model.zero_grad()
        loss_sum = F.cross_entropy(model(batch["input_ids"], batch["mask"]), batch["labels"], reduction="sum")
        (loss_sum / len(batch["labels"])).backward()
        optimizer.step()
        total += loss_sum.detach()
        samples += batch["labels"].numel()
    return (total / samples).item()


@train_epoch.accepted_alternative(
    "Computes the loss of each sample: the mean over all of them then needs no counting, whatever the "
    "sizes of the batches, and you can look for the worst samples."
)
def sample_by_sample(model, batches, optimizer):
    model.train()
    every_loss = []
    for batch in list(batches):
        optimizer.zero_grad()
        losses = F.cross_entropy(model(batch["input_ids"], batch["mask"]), batch["labels"], reduction="none")
        losses.mean().backward()
        optimizer.step()
        every_loss.extend(losses.tolist())
    return sum(every_loss) / len(every_loss)


@train_epoch.accepted_alternative
def by_the_logarithm(model, batches, optimizer):
    model.train()
    samples, mean = 0, 0.0
    for batch in batches:
        for parameter in model.parameters():
            parameter.grad = None
        log_probabilities = F.log_softmax(model(mask=batch["mask"], input_ids=batch["input_ids"]), dim=-1)
        rows = torch.arange(len(log_probabilities))
        loss = -log_probabilities[rows, batch["labels"]].mean()
        loss.backward()
        optimizer.step()
        samples += len(rows)
        mean += (loss.item() - mean) * len(rows) / samples
    return mean


@train_epoch.accepted_alternative
def step_by_closure(model, batches, optimizer):
    was_training = model.training
    model.train()
    losses = []
    for batch in batches:

        def closure(batch=batch):
            optimizer.zero_grad()
            logits = model.forward(batch["input_ids"], batch["mask"])
            losses.append(nn.functional.cross_entropy(logits, batch["labels"], reduction="none"))
            losses[-1].mean().backward()
            return losses[-1].mean()

        optimizer.step(closure)
    model.train(was_training)
    return torch.cat(losses).mean().item()
