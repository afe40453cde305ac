"""The exercise `padding_mask`, and the mistakes it can name."""

import torch

from attention_lab.authoring import Exercise, add_mistakes, case

padding_mask = Exercise(
    "padding_mask",
    results=("mask",),
    axes=(("queries", "keys"),),
)


def _padded(draw, batch, length, pad_id, vocabulary, on_the_left=False):
    """Token ids (B, T): each sentence keeps one token at least, the first one is as long as the batch.

    The vocabulary is (lowest, highest); `pad_id` never stands for a token, whatever else is in it.
    """
    ids = draw.integers(*vocabulary, batch, length)
    ids[ids == pad_id] = pad_id + 1
    for sentence in range(1, batch):
        padding = draw.integer(1, length - 1)
        if on_the_left:
            ids[sentence, :padding] = pad_id
        else:
            ids[sentence, length - padding :] = pad_id
    return ids


@padding_mask.group("padding with id 0", points=1)
def padding_is_zero(draw):
    batch, length = draw.sizes(2)
    yield case(_padded(draw, batch, length, 0, (1, 40)))
    yield case(_padded(draw, length, batch, 0, (1, 40)))


@padding_mask.group("another pad_id", points=1)
def another_pad_id(draw):
    batch, length = draw.sizes(2)
    last, middle = draw.integer(41, 60), draw.integer(20, 30)
    # 0 is a word here, ids below and above the padding are too, and a negative id is as good as any
    yield case(_padded(draw, batch, length, last, (0, 40)), last)
    yield case(_padded(draw, batch, length, middle, (0, 40)), pad_id=middle)
    yield case(_padded(draw, batch, length, -1, (0, 3)), pad_id=-1)


@padding_mask.group("padding on the left", points=1)
def padding_on_the_left(draw):
    batch, length = draw.sizes(2)
    yield case(_padded(draw, batch, length, 0, (1, 40), on_the_left=True))


@padding_mask.group("equal sizes, one sentence, one token, nothing but padding", points=1)
def edges(draw):
    (size,) = draw.sizes(1)
    yield case(_padded(draw, size, size, 0, (1, 40)))
    yield case(_padded(draw, 1, size, 0, (1, 40)))
    yield case(torch.tensor([[0], [draw.integer(1, 40)]]))
    empty = _padded(draw, size, size + 1, 0, (1, 40))
    empty[draw.integer(0, size - 1)] = 0
    yield case(empty)


def hides_queries_too(token_ids, pad_id=0):
    real = token_ids != pad_id
    return real.unsqueeze(1) & real.unsqueeze(2)


add_mistakes(
    padding_mask,
    true_on_padding=(
        'The meaning of True is inverted: your mask is True on the padding. Here True means "may attend", so '
        "the real tokens are True and the padding is False.",
        lambda token_ids, pad_id=0: (token_ids == pad_id).unsqueeze(1),
    ),
    key_padding_mask=(
        "This is what torch's own layer takes as its key_padding_mask: shape (B, T), and True on the "
        'padding. Here True means "may attend", and the shape is (B, 1, T): invert it, and put a dimension '
        "of size 1 in the middle.",
        lambda token_ids, pad_id=0: token_ids == pad_id,
    ),
    no_dimension_for_queries=(
        "The values are right but the shape is (B, T). Without a dimension of size 1 for the queries in the "
        "middle, broadcasting takes your sentences for query rows: the shape has to be (B, 1, T).",
        lambda token_ids, pad_id=0: token_ids != pad_id,
    ),
    hides_query_rows=(
        "The mask has shape (B, T, 1): it hides whole rows, the *queries* that are padding, and lets every "
        "query attend to padding keys. Keys are on the last axis, so T belongs there and the 1 in the "
        "middle.",
        lambda token_ids, pad_id=0: (token_ids != pad_id).unsqueeze(-1),
    ),
    hides_queries_too=(
        "Query rows are masked as well: the shape is (B, T, T) and a padding query has nothing to attend to. "
        "Mask the keys only, with one row per sentence, `(B, 1, T)`.",
        hides_queries_too,
    ),
    copied_for_every_query=(
        "The mask is copied for every query: (B, T, T). Nothing is wrong with its values, but one row per "
        "sentence is enough: a 1 in the middle, (B, 1, T), broadcasts over any number of queries.",
        lambda token_ids, pad_id=0: (token_ids != pad_id).unsqueeze(1).repeat(1, token_ids.shape[1], 1),
    ),
    always_zero=(
        "`pad_id` is not used: 0 is taken for padding whatever the caller says. With another `pad_id`, 0 is "
        "an ordinary word and the padding was left visible.",
        lambda token_ids, pad_id=0: (token_ids != 0).unsqueeze(1),
    ),
    larger_than_pad_id=(
        "Ids below `pad_id` are hidden as well. That is harmless while `pad_id` is 0; with a larger one real "
        "words vanish. Only ids that are *equal* to it are padding.",
        lambda token_ids, pad_id=0: (token_ids > pad_id).unsqueeze(1),
    ),
    counts_from_the_left=(
        "The tokens of a sentence are counted, and its row starts with that many True: right only while the "
        "padding is at the end. With padding on the left it hides words; judge each token at its own "
        "position.",
        lambda token_ids, pad_id=0: (
            torch.arange(token_ids.shape[1]) < (token_ids != pad_id).sum(dim=1).unsqueeze(1)
        ).unsqueeze(1),
    ),
    ones_and_zeros=(
        "The pattern is right but the dtype is an integer: `~` turns an integer 1 into -2. A mask is "
        "boolean, True or False, nothing else.",
        lambda token_ids, pad_id=0: (token_ids != pad_id).long().unsqueeze(1),
    ),
    floats=(
        "The pattern is right but the dtype is a float. A mask is boolean, True or False: it is not "
        "multiplied or added.",
        lambda token_ids, pad_id=0: (token_ids != pad_id).float().unsqueeze(1),
    ),
    dimension_for_heads=(
        "The shape is (B, 1, 1, T), one dimension too many: some libraries add it to broadcast over heads. "
        "Here the shape is (B, 1, T), with a single 1, for the queries.",
        lambda token_ids, pad_id=0: (token_ids != pad_id)[:, None, None, :],
    ),
    dimension_in_front=(
        "The 1 is in front: (1, B, T). So the second axis, which belongs to the queries, holds the "
        "sentences. The batch stays first, and the 1 goes between B and T.",
        lambda token_ids, pad_id=0: (token_ids != pad_id).unsqueeze(0),
    ),
)


@padding_mask.accepted_alternative(
    "Indexing with None puts an axis of size 1 where you write it, so the shape can be read off the line; "
    "ne is != as a method."
)
def by_indexing_with_none(token_ids, pad_id=0):
    return token_ids[:, None, :].ne(pad_id)


@padding_mask.accepted_alternative
def by_loops(token_ids, pad_id=0):
    batch, length = token_ids.shape
    mask = torch.ones(batch, 1, length, dtype=torch.bool)
    for sentence in range(batch):
        for position in range(length):
            if token_ids[sentence, position].item() == pad_id:
                mask[sentence, 0, position] = False
    return mask


@padding_mask.accepted_alternative(
    "Two steps in the words of the exercise: everything may be seen, then padding may not. Longer, and "
    "it works for rules that no single comparison can express."
)
def by_filling(token_ids, pad_id=0):
    mask = torch.full_like(token_ids, True, dtype=torch.bool)
    mask[token_ids == pad_id] = False
    return mask.unsqueeze(-2)
