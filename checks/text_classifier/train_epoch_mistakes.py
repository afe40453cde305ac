"""The mistakes that the grader can name in `train_epoch`."""

import torch
import torch.nn.functional as F

from .train_epoch import train_epoch


def _logits(model, batch):
    return model(batch["input_ids"], batch["mask"])


def _loss(model, batch):
    return F.cross_entropy(_logits(model, batch), batch["labels"])


def _step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _epoch(model, batches, optimizer, loss=_loss, step=_step, training=True):
    """A correct answer; each mistake changes one part: the loss of every batch, and its size."""
    if training:
        model.train()
    losses, sizes = [], []
    for batch in batches:
        losses.append(loss(model, batch))
        step(optimizer, losses[-1])
        sizes.append(len(batch["labels"]))
    return losses, sizes


def _mean(losses, sizes):
    return sum(loss.item() * size for loss, size in zip(losses, sizes)) / sum(sizes)


@train_epoch.mistake(
    "The gradients are never cleared: each batch adds its own to those of all earlier batches. Clear them"
    " before every backward pass."
)
def never_clears(model, batches, optimizer):
    def step(optimizer, loss):
        loss.backward()
        optimizer.step()

    return _mean(*_epoch(model, batches, optimizer, step=step))


@train_epoch.mistake(
    "The gradients are cleared once, before the first batch, so each later batch adds its own to those of"
    " the earlier ones. Clear them inside the loop, before every backward pass."
)
def clears_once(model, batches, optimizer):
    optimizer.zero_grad()
    return never_clears(model, batches, optimizer)


@train_epoch.mistake(
    "The gradients are cleared only after each step: those left in the model before the epoch take part "
    "in the first step. Clear them before each backward pass."
)
def clears_only_afterwards(model, batches, optimizer):
    def step(optimizer, loss):
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return _mean(*_epoch(model, batches, optimizer, step=step))


@train_epoch.mistake(
    "The epoch does not change the parameters. Either there is no step, or the gradients are cleared "
    "between the backward pass and the step. The order is: clear, backward, step."
)
def learns_nothing(model, batches, optimizer):
    def step(optimizer, loss):
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()

    return _mean(*_epoch(model, batches, optimizer, step=step))


@train_epoch.mistake(
    "The step comes before the backward pass, so it uses the gradients of the batch before, or none. The "
    "order is: clear, backward, step."
)
def steps_before_backward(model, batches, optimizer):
    def step(optimizer, loss):
        optimizer.step()
        optimizer.zero_grad()
        loss.backward()

    return _mean(*_epoch(model, batches, optimizer, step=step))


@train_epoch.mistake(
    "The gradients are clipped before the step, so the parameters move less than the optimizer should "
    "move them. Leave out the clipping: clear, backward, step."
)
def clips_gradients(model, batches, optimizer):
    def step(optimizer, loss):
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return _mean(*_epoch(model, batches, optimizer, step=step))


@train_epoch.mistake(
    "There is one step in the whole epoch, after the last batch. Take one step for each batch, with the "
    "gradients of that batch alone."
)
def one_step_an_epoch(model, batches, optimizer):
    optimizer.zero_grad()
    losses, sizes = _epoch(model, batches, optimizer, step=lambda optimizer, loss: loss.backward())
    optimizer.step()
    return _mean(losses, sizes)


@train_epoch.mistake(
    "You do not change the mode of the model: after an evaluation it would be trained without its "
    "dropout. Put it into training mode before the first batch."
)
def mode_left_as_it_is(model, batches, optimizer):
    return _mean(*_epoch(model, batches, optimizer, training=False))


@train_epoch.mistake(
    "You put the model into evaluation mode, which turns its dropout off. Put it into training mode "
    "before the first batch."
)
def evaluation_mode(model, batches, optimizer):
    model.eval()
    return _mean(*_epoch(model, batches, optimizer, training=False))


@train_epoch.mistake(
    "The training is right, but you return the mean of the batches' means: a text in a short last batch "
    "counts for more than any other. Weight each batch's loss by its number of texts."
)
def mean_of_batch_means(model, batches, optimizer):
    losses, _ = _epoch(model, batches, optimizer)
    return sum(loss.item() for loss in losses) / len(losses)


@train_epoch.mistake(
    "Each batch counts as if it had as many texts as the first. The last one may be shorter: weight each "
    "batch's loss by its own number of texts."
)
def all_as_large_as_the_first(model, batches, optimizer):
    losses, sizes = _epoch(model, batches, optimizer)
    return sum(loss.item() * sizes[0] for loss in losses) / sum(sizes)


@train_epoch.mistake(
    "The training is right, but you return the sum of the batches' mean losses. Return the mean over all "
    "texts: multiply each by its number of texts, and divide by the number of all texts."
)
def sum_of_batch_means(model, batches, optimizer):
    losses, _ = _epoch(model, batches, optimizer)
    return sum(loss.item() for loss in losses)


@train_epoch.mistake(
    "The training is right, but you return the sum of the losses of all texts. Divide it by the number of"
    " texts."
)
def sum_over_samples(model, batches, optimizer):
    losses, sizes = _epoch(model, batches, optimizer)
    return sum(loss.item() * size for loss, size in zip(losses, sizes))


@train_epoch.mistake(
    "The sum of the batches' mean losses is divided by the number of texts, so it is far too small: each "
    "of them is a mean already. Multiply it by the batch's number of texts first."
)
def means_over_samples(model, batches, optimizer):
    losses, sizes = _epoch(model, batches, optimizer)
    return sum(loss.item() for loss in losses) / sum(sizes)


@train_epoch.mistake(
    "The training is right, but you return the loss of the last batch alone. Collect those of all "
    "batches, and return their mean over the texts."
)
def last_batch_only(model, batches, optimizer):
    losses, _ = _epoch(model, batches, optimizer)
    return losses[-1].item()


@train_epoch.mistake(
    "The epoch ends after its first batch: a `return` inside the loop leaves it at once. Go through all "
    "batches, then return."
)
def first_batch_only(model, batches, optimizer):
    return _mean(*_epoch(model, [next(iter(batches))], optimizer))


@train_epoch.mistake(
    "The loss that you return is measured after the step, with a model that has just learned from the "
    "same batch. Return the loss from which the step was made."
)
def loss_after_the_step(model, batches, optimizer):
    later = []

    def loss(model, batch):
        before = _loss(model, batch)
        _step(optimizer, before)
        later.append(_loss(model, batch))
        return before

    _, sizes = _epoch(model, batches, optimizer, loss=loss, step=lambda optimizer, loss: None)
    return _mean(later, sizes)
