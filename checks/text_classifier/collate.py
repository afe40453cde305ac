"""What the grader asks about `collate`, and right answers written in other ways."""

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

from attention_lab.authoring import Exercise, ask
from attention_lab.authoring.not_asked import FIXED_AXES

collate = Exercise(
    "collate",
    results=("input_ids", "labels", "mask"),
    axes=(("texts", "tokens"), ("texts",), ("texts", "1", "tokens")),
    not_asked={"leading axes": FIXED_AXES},
)

NO_TOKEN = 977  # larger than every token id that is drawn


def named(batch, *names):
    """The batch read the way training does, by its names: more names do no harm."""
    return batch if batch is None else tuple(batch[name] for name in names)


def without_mask(answer):
    return lambda *args, **kwargs: named(answer(*args, **kwargs), "input_ids", "labels")


def with_mask(answer):
    return lambda *args, **kwargs: named(answer(*args, **kwargs), "input_ids", "labels", "mask")


def come_again(answer):
    """The second epoch: two of the texts come again, in a batch without the longest."""

    def asked(texts):
        answer(texts)
        return named(answer(texts[:2]), "input_ids", "labels", "mask")

    return asked


def _texts(draw, lengths, lowest=1, as_tensors=False):
    """(token_ids, label) for each length; the labels stay below 5 and are not all the same."""
    first = draw.integer(0, 4)
    texts = []
    for place, length in enumerate(lengths):
        token_ids = draw.integers(max(lowest, 1), 900, length)
        if lowest == 0:  # id 0 is a word here, at the end of the text too
            token_ids[-1] = 0
        texts.append((token_ids if as_tensors else token_ids.tolist(), (first + 2 * place) % 5))
    return texts


def _lengths(draw, count):
    """Lengths that differ; the longest text is neither the first nor the last, nor is the shortest."""
    lengths = sorted(draw.sizes(count))
    middle = [lengths.pop(), lengths.pop(0)]
    return [lengths[1], *middle, lengths[0], *lengths[2:]]


@collate.group("ids and labels, from lists", points=2)
def lists(draw):
    yield ask(_texts(draw, _lengths(draw, 4)), through=without_mask)
    yield ask(_texts(draw, _lengths(draw, 6)), through=without_mask)


@collate.group("ids and labels, from tensors", points=1)
def tensors(draw):
    yield ask(_texts(draw, _lengths(draw, 5), as_tensors=True), through=without_mask)


@collate.group("the mask", points=2)
def mask(draw):
    yield ask(_texts(draw, _lengths(draw, 5)), through=with_mask)


@collate.group("another id for the padding", points=2)
def another_pad_id(draw):
    yield ask(_texts(draw, _lengths(draw, 5)), NO_TOKEN, through=with_mask)
    # Where 0 is no padding it may well be a word.
    yield ask(_texts(draw, _lengths(draw, 4), lowest=0), pad_id=NO_TOKEN, through=with_mask)


@collate.group("one text, one token, as many texts as tokens", points=1)
def edges(draw):
    (length,) = draw.sizes(1)
    yield ask(_texts(draw, [length]), through=with_mask)
    yield ask(_texts(draw, [1], as_tensors=True), through=with_mask)
    yield ask(_texts(draw, [length] * length), through=with_mask)
    texts = _texts(draw, _lengths(draw, 4))
    yield ask([*texts, texts[2]], through=with_mask)  # the same text twice
    yield ask(_texts(draw, [*_lengths(draw, 4), 1], as_tensors=True), through=with_mask)


@collate.group("the same texts once more, in another batch", points=1)
def once_more(draw):
    short, shorter, longest = sorted(draw.sizes(3))
    for as_tensors in (False, True):
        yield ask(_texts(draw, [short, shorter, longest], as_tensors=as_tensors), through=come_again)


@collate.also_right(
    "torch has the filling up ready-made: pad_sequence for the ids, and once more for the mask. Short, "
    "and the mask cannot confuse a word with padding."
)
def by_pad_sequence(batch, pad_id=0):
    texts = [torch.as_tensor(token_ids) for token_ids, _ in batch]
    lengths = [torch.ones(len(text), dtype=torch.bool) for text in texts]
    return {
        "input_ids": pad_sequence(texts, batch_first=True, padding_value=pad_id),
        "labels": torch.LongTensor([label for _, label in batch]),
        "mask": pad_sequence(lengths, batch_first=True)[:, None, :],
    }


@collate.also_right
def by_comparison_with_the_padding(batch, pad_id=0):
    # No text that is asked holds the padding's id: this is lesson 3's `padding_mask`.
    token_ids, labels = zip(*batch)
    longest = max(map(len, token_ids))
    input_ids = torch.tensor([list(ids) + [pad_id] * (longest - len(ids)) for ids in token_ids])
    return {
        "mask": (input_ids != pad_id).unsqueeze(1),
        "input_ids": input_ids,
        "labels": torch.tensor(labels),
    }


@collate.also_right(
    "Each text is padded by itself and stacked: every step can be printed, and whatever else belongs to a "
    "text (its length) comes along."
)
def by_stacking(batch, pad_id=0):
    longest = max(len(token_ids) for token_ids, _ in batch)
    rows, masks, labels, lengths = [], [], [], []
    for token_ids, label in batch:
        token_ids = torch.as_tensor(token_ids).long()
        missing = (0, longest - len(token_ids))
        rows.append(F.pad(token_ids, missing, value=pad_id))
        masks.append(F.pad(torch.ones_like(token_ids), missing))
        labels.append(torch.tensor(label))
        lengths.append(len(token_ids))
    masks = torch.stack(masks).bool().view(len(batch), 1, longest)
    result = {"input_ids": torch.stack(rows), "labels": torch.stack(labels), "mask": masks}
    return result | {"lengths": lengths}


@collate.also_right
def token_by_token(batch, pad_id=0):
    size = len(batch)
    longest = max(len(batch[row][0]) for row in range(size))
    input_ids = torch.zeros((size, longest), dtype=torch.long) + pad_id
    mask = torch.zeros((size, 1, longest)) > 0
    labels = torch.empty(size, dtype=torch.long)
    for row, (token_ids, label) in enumerate(batch):
        labels[row] = label
        for place, token_id in enumerate(token_ids):
            input_ids[row, place] = int(token_id)
            mask[row, 0, place] = True
    return {"input_ids": input_ids, "labels": labels, "mask": mask}
