"""More mistakes in `train_epoch`: in the loss that is trained on, and in what is given back."""

import torch
import torch.nn.functional as F

from .train_epoch import train_epoch
from .train_epoch_mistakes import _epoch, _logits, _mean, _step


@train_epoch.mistake(
    "The steps are too large by the number of texts in the batch: they are made from the sum of the "
    "losses. Use the mean, so that a step does not depend on the size of the batch."
)
def steps_on_the_sum(model, batches, optimizer):
    def loss(model, batch):
        return F.cross_entropy(_logits(model, batch), batch["labels"], reduction="sum")

    losses, sizes = _epoch(model, batches, optimizer, loss=loss)
    return sum(loss.item() for loss in losses) / sum(sizes)


@train_epoch.mistake(
    "There is a softmax before the cross-entropy, which contains one: the loss can hardly fall, and the "
    "steps are small. Pass it the logits as the model returns them."
)
def softmax_before_the_loss(model, batches, optimizer):
    def loss(model, batch):
        return F.cross_entropy(torch.softmax(_logits(model, batch), dim=-1), batch["labels"])

    return _mean(*_epoch(model, batches, optimizer, loss=loss))


@train_epoch.mistake(
    "The model is called without the mask, so every text attends to its padding during training. Pass the"
    " batch's `mask` after its `input_ids`."
)
def mask_forgotten(model, batches, optimizer):
    def loss(model, batch):
        return F.cross_entropy(model(batch["input_ids"]), batch["labels"])

    return _mean(*_epoch(model, batches, optimizer, loss=loss))


@train_epoch.mistake(
    "The mask is inverted before the model gets it: the model would attend to the padding and to nothing "
    "else. `collate` makes it as the model needs it."
)
def mask_turned_round(model, batches, optimizer):
    def loss(model, batch):
        return F.cross_entropy(model(batch["input_ids"], ~batch["mask"]), batch["labels"])

    return _mean(*_epoch(model, batches, optimizer, loss=loss))


@train_epoch.mistake(
    "There are two backward passes for one batch, so each gradient counts twice. Run one, between "
    "clearing the gradients and the step."
)
def backward_twice(model, batches, optimizer):
    def step(optimizer, loss):
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        loss.backward()
        optimizer.step()

    return _mean(*_epoch(model, batches, optimizer, step=step))


@train_epoch.mistake(
    "There are two steps for each batch. Take one: look for a second call of the optimizer's `step`."
)
def two_steps_a_batch(model, batches, optimizer):
    def step(optimizer, loss):
        _step(optimizer, loss)
        optimizer.step()

    return _mean(*_epoch(model, batches, optimizer, step=step))


@train_epoch.mistake(
    "The mean loss is right, but it is a tensor, which can keep the graphs of all batches in memory. Turn"
    " each batch's loss into a float before you add it up."
)
def returns_a_tensor(model, batches, optimizer):
    losses, sizes = _epoch(model, batches, optimizer)
    return sum(loss * size for loss, size in zip(losses, sizes)) / sum(sizes)


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


@train_epoch.mistake(
    "The model trains, but you return nothing. Return the mean loss over all texts, as a float."
)
def returns_nothing(model, batches, optimizer):
    _epoch(model, batches, optimizer)


@train_epoch.mistake("The mean loss is right, but you return something else with it. Return one float.")
def returns_a_pair(model, batches, optimizer):
    mean = _mean(*_epoch(model, batches, optimizer))
    return mean, 0.0
