"""The mistakes that the grader can name in `evaluate`, and other right ways to write it."""

from contextlib import nullcontext

import torch
import torch.nn.functional as F

from .evaluate import evaluate


def _totals(model, batches, *, masked=True, prepared=lambda logits: logits):
    """(summed loss, hits, samples) of each batch, in whatever mode the model is in."""
    for batch in batches:
        labels = batch["labels"]
        logits = model(batch["input_ids"], mask=batch["mask"] if masked else None)
        loss = F.cross_entropy(prepared(logits), labels, reduction="sum")
        yield loss, (logits.argmax(dim=1) == labels).sum(), len(labels)


def _evaluate(
    model, batches, *, means=("samples", "samples"), quiet=True, evaluating=True, after=None, **how
):
    """Right as it stands: most mistakes below change one thing about it."""
    before = model.training
    model.train(before and not evaluating)
    with torch.no_grad() if quiet else nullcontext():
        totals = [(loss.item(), hits.item(), count) for loss, hits, count in _totals(model, batches, **how)]
    model.train(before if after is None else after)
    counts = [count for _, _, count in totals]
    results = []
    for values, mean in zip(zip(*totals), means):
        if mean == "samples":
            results.append(sum(values) / sum(counts))
        else:
            results.append(sum(value / count for value, count in zip(values, counts)) / len(counts))
    return tuple(results)


@evaluate.mistake(
    "Loss and accuracy are means of the batches' means, so the samples of a small last batch count for more "
    "than the others. Add up over the samples, and divide once, by the number of samples."
)
def mean_of_batch_means(model, batches):
    return _evaluate(model, batches, means=("batches", "batches"))


@evaluate.mistake(
    "The accuracy is right, but the loss is the mean of the batches' mean losses: samples of a small batch "
    "count for more. The loss of a batch is already a mean, so weigh it with the batch's size, or sum it."
)
def loss_is_a_mean_of_means(model, batches):
    return _evaluate(model, batches, means=("batches", "samples"))


@evaluate.mistake(
    "The loss is right, but the accuracy is the mean of the batches' accuracies: samples of a small batch "
    "count for more. Count the hits of all batches, and divide by the number of all samples."
)
def accuracy_is_a_mean_of_means(model, batches):
    return _evaluate(model, batches, means=("samples", "batches"))


@evaluate.mistake(
    "The loss comes out too small: the batches' mean losses are added up and divided by the number of "
    "samples, so every batch is averaged twice. Add up the losses of the samples, then divide."
)
def averaged_twice(model, batches):
    loss, accuracy, sizes = 0.0, 0.0, []
    before = model.training
    model.eval()
    with torch.no_grad():
        for batch_loss, hits, count in _totals(model, batches):
            loss, accuracy = loss + batch_loss.item() / count, accuracy + hits.item()
            sizes.append(count)
    model.train(before)
    return loss / sum(sizes), accuracy / sum(sizes)


@evaluate.mistake(
    "The model is left in training mode while it is measured: with dropout in it, the numbers are random and "
    "too bad. Put it into eval mode before the first batch, and back afterwards."
)
def in_training_mode(model, batches):
    return _evaluate(model, batches, evaluating=False)


@evaluate.mistake(
    "The model stays in eval mode after the call: if it came in training mode, the next epoch would train "
    "without dropout. Note its mode before you change it, and put it back at the end."
)
def stays_in_eval_mode(model, batches):
    return _evaluate(model, batches, after=False)


@evaluate.mistake(
    "The model always leaves in training mode, even if it came in eval mode. Note which mode it was in "
    "before you change it, and put it back into that one."
)
def always_back_to_training(model, batches):
    return _evaluate(model, batches, after=True)


@evaluate.mistake(
    "The numbers are right, but gradients are recorded while the model runs: that costs memory and time for "
    "nothing. Eval mode does not switch them off; torch has a context for that."
)
def gradients_recorded(model, batches):
    return _evaluate(model, batches, quiet=False)


@evaluate.mistake(
    "Gradients are switched off and stay off after the call, so nothing can be trained any more. Use the "
    "context that switches them off for a block only."
)
def gradients_off_for_good(model, batches):
    torch.set_grad_enabled(False)
    return _evaluate(model, batches, quiet=False)


@evaluate.mistake(
    "The accuracy is a hundred times too large: it is in percent. A fraction from 0 to 1 is asked for."
)
def in_percent(model, batches):
    loss, accuracy = _evaluate(model, batches)
    return loss, 100 * accuracy


@evaluate.mistake(
    "The second number is how many samples were right. A share is asked for: divide it by the number of all "
    "samples."
)
def hits_not_divided(model, batches):
    batches = list(batches)
    loss, accuracy = _evaluate(model, batches)
    return loss, round(accuracy * sum(len(batch["labels"]) for batch in batches))


@evaluate.mistake(
    "The loss is the cross-entropy of probabilities: a softmax was applied before it. Torch's cross-entropy "
    "takes logits and does the softmax itself, so hand it what the model returns."
)
def softmax_before_the_loss(model, batches):
    return _evaluate(model, batches, prepared=lambda logits: logits.softmax(dim=1))


@evaluate.mistake(
    "Right without padding, other numbers with it: the batch's `mask` does not reach the model, so the model "
    "reads the padding as well. Pass it on with the token ids."
)
def mask_not_passed(model, batches):
    return _evaluate(model, batches, masked=False)


@evaluate.mistake(
    "The numbers are right, but both are tensors. Two Python floats are asked for: `item` takes the number "
    "out of a tensor that holds one."
)
def tensors_returned(model, batches):
    return tuple(map(torch.tensor, _evaluate(model, batches)))


@evaluate.mistake(
    "The loss is a float, but the accuracy is a tensor. Two Python floats are asked for: `item` takes the "
    "number out of a tensor that holds one."
)
def accuracy_is_a_tensor(model, batches):
    loss, accuracy = _evaluate(model, batches)
    return loss, torch.tensor(accuracy)


@evaluate.mistake("The two numbers have changed places: the loss comes first, the accuracy second.")
def accuracy_first(model, batches):
    return _evaluate(model, batches)[::-1]


@evaluate.mistake(
    "Only the last batch is measured. Look whether the sums are started anew for every batch, or whether the "
    "division stands inside the loop without adding up: the mean is over all samples of all batches."
)
def last_batch_only(model, batches):
    return _evaluate(model, list(batches)[-1:])


@evaluate.mistake(
    "Only the first batch is measured: the `return` stands inside the loop. It belongs behind it, when all "
    "batches have been added up."
)
def first_batch_only(model, batches):
    return _evaluate(model, [next(iter(batches))])


@evaluate.also_right(
    "Collects a number for each sample and averages once: nothing can be weighed wrongly. inference_mode "
    "is a stricter and faster no_grad."
)
def with_lists_of_samples(model, batches):
    before = model.training
    model.eval()
    losses, hits = [], []
    with torch.inference_mode():
        for batch in batches:
            logits = model(batch["input_ids"], batch["mask"])
            losses += F.cross_entropy(logits, batch["labels"], reduction="none").tolist()
            hits += (logits.argmax(-1) == batch["labels"]).tolist()
    if before:
        model.train()
    return sum(losses) / len(losses), sum(hits) / len(hits)


@evaluate.also_right(
    "First all logits, then any measure you like of them; try and finally restore the mode even if the "
    "model fails. It holds the logits of the whole set in memory."
)
def all_logits_first(model, batches):
    before = model.training
    try:
        with torch.no_grad():
            model.eval()
            pairs = [(model(batch["input_ids"], mask=batch["mask"]), batch["labels"]) for batch in batches]
    finally:
        model.train(before)
    logits, labels = (torch.cat(parts) for parts in zip(*pairs))
    return [
        F.cross_entropy(logits, labels).item(),
        (logits.max(dim=1).indices == labels).float().mean().item(),
    ]


@evaluate.also_right
def weighed_batch_means(model, batches):
    before = model.training
    model.eval()
    loss = accuracy = samples = 0
    criterion = torch.nn.CrossEntropyLoss()
    for batch in batches:
        with torch.no_grad():
            logits = model(input_ids=batch["input_ids"], mask=batch["mask"])
        size = batch["labels"].shape[0]
        loss += float(criterion(logits, batch["labels"])) * size
        accuracy += float((logits.softmax(dim=1).argmax(dim=1) == batch["labels"]).float().mean()) * size
        samples += size
    model.train(mode=before)
    return loss / samples, accuracy / samples
