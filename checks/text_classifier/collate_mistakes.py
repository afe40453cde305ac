"""The mistakes that the grader can name in `collate`."""

import torch
from torch.nn.utils.rnn import pad_sequence

from .collate import collate


def _padded(batch, pad_id=0, length=None):
    """Right as it stands, to the longest text or to a length of its own: the three parts of a batch."""
    lengths = torch.tensor([len(token_ids) for token_ids, _ in batch])
    longest = int(lengths.max()) if length is None else length
    rows = [list(map(int, token_ids))[:longest] for token_ids, _ in batch]
    return {
        "input_ids": torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows]),
        "labels": torch.tensor([label for _, label in batch]),
        "mask": (torch.arange(longest) < lengths[:, None])[:, None],
    }


@collate.mistake(
    "The padding stands on the left, before the tokens: the classifier reads the first token, and now that "
    "is padding. Put the tokens of every text first and fill up behind them, in `input_ids` and in `mask`."
)
def pads_on_the_left(batch, pad_id=0):
    longest = max(len(token_ids) for token_ids, _ in batch)
    rows = [[pad_id] * (longest - len(token_ids)) + list(map(int, token_ids)) for token_ids, _ in batch]
    masks = [[place >= longest - len(ids) for place in range(longest)] for ids, _ in batch]
    return _padded(batch) | {"input_ids": torch.tensor(rows), "mask": torch.tensor(masks)[:, None]}


@collate.mistake(
    "The batch is as long as its first text: a longer text loses its last tokens. T is the length of the "
    "longest text of the batch, wherever in it that stands."
)
def as_long_as_the_first(batch, pad_id=0):
    return _padded(batch, pad_id, len(batch[0][0]))


@collate.mistake(
    "The batch is as long as its shortest text: all others lose their last tokens, as a plain `zip` over the "
    "texts would do it. Fill the shorter texts up to the longest instead."
)
def as_long_as_the_shortest(batch, pad_id=0):
    return _padded(batch, pad_id, min(len(token_ids) for token_ids, _ in batch))


@collate.mistake(
    "Every batch is padded to one fixed length, whatever is in it: short texts cost as much time as the "
    "longest ever. Pad to the longest text of this batch, and to no more."
)
def to_a_fixed_length(batch, pad_id=0):
    return _padded(batch, pad_id, 256)


@collate.mistake(
    "The mask is upside down: True on the padding and False on the tokens. In this course True means “may "
    "attend”, so it belongs on the tokens."
)
def mask_upside_down(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"mask": ~result["mask"]}


@collate.mistake(
    "The padding is 0 whatever `pad_id` says. A tokenizer may give its padding any id: fill up with `pad_id`."
)
def pads_with_zero(batch, pad_id=0):
    return _padded(batch, 0)


@collate.mistake(
    "`pad_id` is not used at all: the padding is 0, and the mask is False wherever an id is 0, also on words "
    "that have this id. Fill up with `pad_id`, and let the mask be True on every token that came in."
)
def zero_everywhere(batch, pad_id=0):
    result = _padded(batch, 0)
    return result | {"mask": (result["input_ids"] != 0)[:, None]}


@collate.mistake(
    "The padding is 0, but the mask looks for `pad_id`: where the two differ, the mask is True on the "
    "padding. Fill up with `pad_id`, so that both speak of the same padding."
)
def pads_with_zero_and_looks_for_pad_id(batch, pad_id=0):
    result = _padded(batch, 0)
    return result | {"mask": (result["input_ids"] != pad_id)[:, None]}


@collate.mistake(
    "The mask is False where an id is 0, but the padding is `pad_id`: with another `pad_id` than 0, padding "
    "counts as tokens, and a word with the id 0 as padding. The mask has to be True on the tokens that came "
    "in."
)
def mask_from_zeros(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"mask": (result["input_ids"] != 0)[:, None]}


@collate.mistake(
    "The mask is True everywhere, also on the padding: nothing would be hidden. Make it False where a text "
    "was filled up."
)
def mask_hides_nothing(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"mask": torch.ones_like(result["mask"])}


@collate.mistake(
    "The mask has shape (B, T). Attention broadcasts it to (B, T_q, T_k), where (B, T) would be read as "
    "(T_q, T_k): give it an axis of size 1 for the queries, in the middle."
)
def mask_of_two_axes(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"mask": result["mask"].squeeze(1)}


@collate.mistake(
    "The mask has shape (B, T, 1): that hides queries, and what has to be hidden are the keys that are "
    "padding. The axis of size 1 belongs in the middle, (B, 1, T)."
)
def mask_over_the_queries(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"mask": result["mask"].mT}


@collate.mistake(
    "The mask holds the whole numbers 0 and 1. The attention layers negate it and fill by it, and both need "
    "a boolean tensor: turn it into one."
)
def mask_of_numbers(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"mask": result["mask"].long()}


@collate.mistake(
    "`labels` are floats. Cross-entropy wants the number of the class as int64; floats would be read as "
    "probabilities, or refused."
)
def labels_as_floats(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"labels": result["labels"].float()}


@collate.mistake(
    "`labels` have shape (B, 1). Cross-entropy wants one number for each text, (B,), without an axis for the "
    "classes."
)
def labels_as_a_column(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"labels": result["labels"][:, None]}


@collate.mistake(
    "`input_ids` are floats, the type that torch's `zeros` and `full` may make unless they are told. An "
    "embedding looks rows up by whole numbers: ask for int64."
)
def ids_as_floats(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"input_ids": result["input_ids"].float()}


@collate.mistake(
    "`input_ids` has shape (T, B): the tokens run down, the texts across. `pad_sequence` does that unless it "
    "is told that the batch comes first; asked for is one row a text, (B, T)."
)
def batch_second(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return result | {"input_ids": result["input_ids"].T}


@collate.mistake(
    "The texts come back in another order, sorted by their length. Row i of every part has to be text i of "
    "the batch, or predictions land with the wrong text."
)
def sorted_by_length(batch, pad_id=0):
    return _padded(sorted(batch, key=lambda pair: -len(pair[0])), pad_id)


@collate.mistake(
    "Lists are fine, but `token_ids` that are a 1-D tensor fail: a tensor cannot be lengthened with `+` as "
    "a list can. Turn `token_ids` into one kind, a list or a tensor, before you fill it up."
)
def lists_only(batch, pad_id=0):
    longest = max(len(token_ids) for token_ids, _ in batch)
    rows = [token_ids + [pad_id] * (longest - len(token_ids)) for token_ids, _ in batch]
    return _padded(batch, pad_id) | {"input_ids": torch.tensor(rows)}


@collate.mistake(
    "Tensors are fine, but `token_ids` that are a list of ints fail, and so `pad_sequence` gets what it "
    "cannot take. Turn every `token_ids` into a tensor first."
)
def tensors_only(batch, pad_id=0):
    texts = [token_ids for token_ids, _ in batch]
    padded = pad_sequence(texts, batch_first=True, padding_value=pad_id)
    return _padded(batch, pad_id) | {"input_ids": padded}


@collate.mistake(
    "Your padding stays in the caller's lists: when the same text comes again, in the second epoch, the "
    "padding counts as tokens. Lengthen a copy, never the list that came in."
)
def lengthens_the_lists(batch, pad_id=0):
    result = _padded(batch, pad_id)
    longest = result["input_ids"].shape[1]
    for token_ids, _ in batch:
        if isinstance(token_ids, list):
            token_ids += [pad_id] * (longest - len(token_ids))
    return result


@collate.mistake(
    "There is no `mask` in what comes back, and without it every text attends to its padding. Return it "
    "beside `input_ids` and `labels`."
)
def no_mask(batch, pad_id=0):
    result = _padded(batch, pad_id)
    return {name: result[name] for name in ("input_ids", "labels")}


@collate.mistake(
    "The three tensors come back as a tuple. The training loop asks for them by name: return a dict with "
    "`input_ids`, `labels` and `mask`."
)
def a_tuple(batch, pad_id=0):
    return tuple(_padded(batch, pad_id).values())
