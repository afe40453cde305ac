"""What the grader asks about `evaluate`."""

import torch

from attention_lab.authoring import Exercise, ask
from attention_lab.authoring.not_asked import FIXED_AXES, NO_EMPTY_TEXT

from .small_classifier import CLASSES, VOCABULARY, likeliest, small_model

evaluate = Exercise(
    "evaluate",
    results=("loss", "accuracy"),
    not_asked={
        "dtypes": "loss and accuracy are Python numbers",
        "leading axes": FIXED_AXES,
        "large values": "the loss is torch's own, which large logits do not harm",
        "empty rows": NO_EMPTY_TEXT,
        "gradients": "none may be recorded, which is asked",
    },
)


def watching(answer):
    """Reports what `look` names. With dropout in the model, the same random numbers fall for every answer."""

    def watched(model, batches, training, look, once):
        model.train(training)
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                result = answer(model, (batch for batch in batches) if once else batches)
            stay_on = torch.is_grad_enabled()
        finally:
            torch.set_grad_enabled(True)
        names = ("eval", "training")
        gradients = "recorded" if any(recorded for _, recorded in model.seen) else "not recorded"
        report = {
            "result": result,
            "modes while it runs": sorted({names[mode] for mode, _ in model.seen}),
            "modes afterwards": sorted({names[part.training] for part in model.modules()}),
            "gradients": gradients if stay_on else "off for good",
        }
        return {side: report[side] if model.seen else "unknown: the model did not run" for side in look}

    return watched


def _batch(draw, weights, samples, hits, padded=False):
    """A batch in which the model is right on `hits` samples; no padding unless it is asked for."""
    (length,) = draw.sizes(1)
    input_ids = draw.integers(1, VOCABULARY - 1, samples, length)
    if padded:
        lengths = draw.integers(1, length - 4, samples, 1)
        lengths[draw.integer(0, samples - 1)] = length
        input_ids = input_ids.masked_fill(torch.arange(length) >= lengths, 0)
    mask = (input_ids != 0).unsqueeze(1)
    missed = (torch.arange(samples) >= hits)[torch.randperm(samples, generator=draw.generator)]
    labels = (likeliest(weights, input_ids, mask) + missed) % CLASSES
    return {"input_ids": input_ids, "labels": labels, "mask": mask}


def _case(draw, sizes, look=("result",), training=False, dropout=0.0, padded=False, once=False):
    """The model is right on most of the first batch, and on one sample of each other batch.

    So no mean of the batches' means is the mean by accident.
    """
    model, weights = small_model(draw, dropout)
    hits = [draw.integer(sizes[0] // 2 + 1, sizes[0] - 1), *[1] * (len(sizes) - 1)]
    batches = [_batch(draw, weights, *pair, padded) for pair in zip(sizes, hits)]
    return ask(model, batches, training, list(look), once, through=watching)


@evaluate.group("one batch", points=1)
def one_batch(draw):
    for size in draw.sizes(3):
        yield _case(draw, [size])


@evaluate.group("batches of unequal size, also such as can be walked through once only", points=2)
def unequal_batches(draw):
    yield _case(draw, draw.sizes(2))
    yield _case(draw, draw.sizes(3), once=True)
    yield _case(draw, [*draw.sizes(1), 1])


@evaluate.group("padded batches", points=1)
def padded_batches(draw):
    for size in draw.sizes(2):
        yield _case(draw, [size], padded=True)


@evaluate.group("a model with dropout, handed over in training mode", points=1)
def with_dropout(draw):
    look = ("modes while it runs", "result")
    for size in draw.sizes(2):
        yield _case(draw, [size], look, training=True, dropout=0.5)


@evaluate.group("the mode that the model is left in", points=1)
def mode_afterwards(draw):
    for training in (True, False):
        yield _case(draw, draw.sizes(1), ("modes afterwards",), training)


@evaluate.group("no gradients", points=1)
def no_gradients(draw):
    for training in (True, False):
        yield _case(draw, draw.sizes(1), ("gradients",), training)
