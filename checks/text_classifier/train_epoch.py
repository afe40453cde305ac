"""The exercise `train_epoch`, and the mistakes it can name."""

from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import Exercise, add_mistakes, case

train_epoch = Exercise(
    "train_epoch",
    results=("loss", "parameters"),
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
    """Return what `collate` returns; the last text fills the row, and the one before it does not."""
    lengths = draw.integers(1, length - 1, size) if padded else torch.full((size,), length)
    lengths[-1] = length
    mask = torch.arange(length) < lengths[:, None]
    input_ids = draw.integers(1, VOCABULARY - 1, size, length) * mask
    return {"input_ids": input_ids, "labels": draw.integers(0, CLASSES - 1, size), "mask": mask[:, None]}


def _case(draw, sizes, kind="SGD", padded=True, lr=0.5, **circumstances):
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
    yield _case(draw, draw.sizes(1), padded=False)
    yield _case(draw, draw.sizes(1), padded=False, lr=0.1)


@train_epoch.group("several batches, with padding", points=2)
def several_batches(draw):
    for count in (2, 3):
        (size,) = draw.sizes(1)
        yield _case(draw, [size] * count)


@train_epoch.group("a last batch that is shorter", points=2)
def shorter_last_batch(draw):
    for rest in (1, 2):
        (size,) = draw.sizes(1)
        yield _case(draw, [size, size, rest])


@train_epoch.group("momentum, weight decay and Adam", points=1)
def other_optimizers(draw):
    (size,) = draw.sizes(1)
    yield _case(draw, [size] * 3, lr=0.3, momentum=0.9, weight_decay=0.1)
    yield _case(draw, [size] * 3, kind="Adam", lr=0.1)


@train_epoch.group("a model that was in evaluation mode", points=1)
def after_an_evaluation(draw):
    (size,) = draw.sizes(1)
    yield _case(draw, [size], padded=False, was_evaluated=True)
    yield _case(draw, [size] * 2, was_evaluated=True)


@train_epoch.group("gradients left over from before", points=1)
def left_over_gradients(draw):
    (size,) = draw.sizes(1)
    yield _case(draw, [size], padded=False, left_over=1.0)
    yield _case(draw, [size] * 2, left_over=-0.5)


@train_epoch.group("batches that come one by one, and a float", points=1)
def one_by_one(draw):
    (size,) = draw.sizes(1)
    yield _case(draw, [size], padded=False, only_once=True, as_a_number=False)
    yield _case(draw, [size] * 2, only_once=True, as_a_number=False)


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


def _logits(model, batch):
    return model(batch["input_ids"], batch["mask"])


def _loss(model, batch):
    return F.cross_entropy(_logits(model, batch), batch["labels"])


def _step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _in_order(*parts):
    """A step of these parts, as far as it is one."""

    def step(optimizer, loss):
        calls = {
            "clear": optimizer.zero_grad,
            "backward": partial(loss.backward, retain_graph=parts.count("backward") > 1),
            "clip": lambda: nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0),
            "step": optimizer.step,
        }
        for part in parts:
            calls[part]()

    return step


def _epoch(model, batches, optimizer, loss=_loss, step=_step, mode=nn.Module.train):
    """The loss of every batch, and its size."""
    mode(model)
    losses, sizes = [], []
    for batch in batches:
        losses.append(loss(model, batch))
        step(optimizer, losses[-1])
        sizes.append(len(batch["labels"]))
    return losses, sizes


def _mean(losses, sizes):
    return sum(loss.item() * size for loss, size in zip(losses, sizes)) / sum(sizes)


def _right(model, batches, optimizer, mean=_mean, **changed):
    """A correct answer; each mistake changes one part."""
    return mean(*_epoch(model, batches, optimizer, **changed))


def clears_once(model, batches, optimizer):
    optimizer.zero_grad()
    return _right(model, batches, optimizer, step=_in_order("backward", "step"))


def one_step_an_epoch(model, batches, optimizer):
    optimizer.zero_grad()
    losses, sizes = _epoch(model, batches, optimizer, step=lambda optimizer, loss: loss.backward())
    optimizer.step()
    return _mean(losses, sizes)


def loss_after_the_step(model, batches, optimizer):
    later = []

    def loss(model, batch):
        before = _loss(model, batch)
        _step(optimizer, before)
        later.append(_loss(model, batch))
        return before

    _, sizes = _epoch(model, batches, optimizer, loss=loss, step=lambda optimizer, loss: None)
    return _mean(later, sizes)


add_mistakes(
    train_epoch,
    _right,
    never_clears=(
        "The gradients are never cleared: each batch adds its own to those of all earlier batches. Clear "
        "them before every backward pass.",
        {"step": _in_order("backward", "step")},
    ),
    clears_once=(
        "The gradients are cleared once, before the first batch, so each later batch adds its own to those "
        "of the earlier ones. Clear them inside the loop, before every backward pass.",
        clears_once,
    ),
    clears_only_afterwards=(
        "The gradients are cleared only after each step: those left in the model before the epoch take part "
        "in the first step. Clear them before each backward pass.",
        {"step": _in_order("backward", "step", "clear")},
    ),
    learns_nothing=(
        "The epoch does not change the parameters. Either there is no step, or the gradients are cleared "
        "between the backward pass and the step. The order is: clear, backward, step.",
        {"step": _in_order("backward", "clear", "step")},
    ),
    steps_before_backward=(
        "The step comes before the backward pass, so it uses the gradients of the batch before, or none. The "
        "order is: clear, backward, step.",
        {"step": _in_order("step", "clear", "backward")},
    ),
    clips_gradients=(
        "The gradients are clipped before the step, so the parameters move less than the optimizer should "
        "move them. Leave out the clipping: clear, backward, step.",
        {"step": _in_order("clear", "backward", "clip", "step")},
    ),
    one_step_an_epoch=(
        "There is one step in the whole epoch, after the last batch. Take one step for each batch, with the "
        "gradients of that batch alone.",
        one_step_an_epoch,
    ),
    mode_left_as_it_is=(
        "You do not change the mode of the model: after an evaluation it would be trained without its "
        "dropout. Put it into training mode before the first batch.",
        {"mode": lambda model: None},
    ),
    evaluation_mode=(
        "You put the model into evaluation mode, which turns its dropout off. Put it into training mode "
        "before the first batch.",
        {"mode": nn.Module.eval},
    ),
    mean_of_batch_means=(
        "The training is right, but you return the mean of the batches' means: a text in a short last batch "
        "counts for more than any other. Weight each batch's loss by its number of texts.",
        {"mean": lambda losses, sizes: sum(loss.item() for loss in losses) / len(losses)},
    ),
    all_as_large_as_the_first=(
        "Each batch counts as if it had as many texts as the first. The last one may be shorter: weight each "
        "batch's loss by its own number of texts.",
        {"mean": lambda losses, sizes: sum(loss.item() * sizes[0] for loss in losses) / sum(sizes)},
    ),
    sum_of_batch_means=(
        "The training is right, but you return the sum of the batches' mean losses. Return the mean over all "
        "texts: multiply each by its number of texts, and divide by the number of all texts.",
        {"mean": lambda losses, sizes: sum(loss.item() for loss in losses)},
    ),
    sum_over_samples=(
        "The training is right, but you return the sum of the losses of all texts. Divide it by the number "
        "of texts.",
        {"mean": lambda losses, sizes: sum(loss.item() * size for loss, size in zip(losses, sizes))},
    ),
    means_over_samples=(
        "The sum of the batches' mean losses is divided by the number of texts, so it is far too small: each "
        "of them is a mean already. Multiply it by the batch's number of texts first.",
        {"mean": lambda losses, sizes: sum(loss.item() for loss in losses) / sum(sizes)},
    ),
    last_batch_only=(
        "The training is right, but you return the loss of the last batch alone. Collect those of all "
        "batches, and return their mean over the texts.",
        {"mean": lambda losses, sizes: losses[-1].item()},
    ),
    first_batch_only=(
        "The epoch ends after its first batch: a `return` inside the loop leaves it at once. Go through all "
        "batches, then return.",
        lambda model, batches, optimizer: _right(model, [next(iter(batches))], optimizer),
    ),
    loss_after_the_step=(
        "The loss that you return is measured after the step, with a model that has just learned from the "
        "same batch. Return the loss from which the step was made.",
        loss_after_the_step,
    ),
    steps_on_the_sum=(
        "The steps are too large by the number of texts in the batch: they are made from the sum of the "
        "losses. Use the mean, so that a step does not depend on the size of the batch.",
        {
            "loss": lambda model, batch: F.cross_entropy(
                _logits(model, batch), batch["labels"], reduction="sum"
            ),
            "mean": lambda losses, sizes: sum(loss.item() for loss in losses) / sum(sizes),
        },
    ),
    softmax_before_the_loss=(
        "There is a softmax before the cross-entropy, which contains one: the loss can hardly fall, and the "
        "steps are small. Pass it the logits as the model returns them.",
        {
            "loss": lambda model, batch: F.cross_entropy(
                torch.softmax(_logits(model, batch), dim=-1), batch["labels"]
            )
        },
    ),
    mask_forgotten=(
        "The model is called without the mask, so every text attends to its padding during training. Pass "
        "the batch's `mask` after its `input_ids`.",
        {"loss": lambda model, batch: F.cross_entropy(model(batch["input_ids"]), batch["labels"])},
    ),
    mask_turned_round=(
        "The mask is inverted before the model gets it: the model would attend to the padding and to nothing "
        "else. `collate` makes it as the model needs it.",
        {
            "loss": lambda model, batch: F.cross_entropy(
                model(batch["input_ids"], ~batch["mask"]), batch["labels"]
            )
        },
    ),
    backward_twice=(
        "There are two backward passes for one batch, so each gradient counts twice. Run one, between "
        "clearing the gradients and the step.",
        {"step": _in_order("clear", "backward", "backward", "step")},
    ),
    two_steps_a_batch=(
        "There are two steps for each batch. Take one: look for a second call of the optimizer's `step`.",
        {"step": _in_order("clear", "backward", "step", "step")},
    ),
)


@train_epoch.mistake(
    "You use the number of batches, but the batches may come from a stream that has no length. Count the "
    "texts as they come, and divide by that; a short last batch then gets its right share too."
)
def asks_for_the_number_of_batches(model, batches, optimizer):
    losses, _ = _epoch(model, batches, optimizer)
    return sum(loss.item() for loss in losses) / len(batches)


@train_epoch.mistake(
    "You go through the batches twice, once to count and once to train. They may be readable only once: "
    "count the texts in the loop that trains."
)
def counts_first(model, batches, optimizer):
    samples = sum(len(batch["labels"]) for batch in batches)
    losses, sizes = _epoch(model, batches, optimizer)
    return sum(loss.item() * size for loss, size in zip(losses, sizes)) / samples
