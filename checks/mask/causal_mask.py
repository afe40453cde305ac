"""The exercise `causal_mask`, and the mistakes it can name."""

import torch

from attention_lab.authoring import Exercise, add_mistakes, case

causal_mask = Exercise(
    "causal_mask",
    results=("mask",),
    axes=(("queries", "keys"),),
)


@causal_mask.group("sequences of several lengths", points=2)
def several_lengths(draw):
    for length in draw.sizes(3):
        yield case(length)


@causal_mask.group("one token, two tokens", points=1)
def shortest(draw):
    yield case(1)
    yield case(2)


@causal_mask.group("a long sequence", points=1)
def long(draw):
    yield case(draw.integer(100, 200))


def nothing_hidden(seq_len):
    mask = torch.ones(seq_len, seq_len, dtype=torch.bool)
    mask.tril()
    return mask


add_mistakes(
    causal_mask,
    upside_down=(
        "The mask is upside down: row 0 may attend to every key and the last row only to itself. Row i "
        "should keep the past, the columns up to i, and hide the future.",
        lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool).triu(),
    ),
    one_ahead=(
        "Off by one to the right: the entry just right of the diagonal is True, so every query sees one "
        "token ahead, and that token is the very one it should predict. The last True of row i belongs in "
        "column i.",
        lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool).tril(diagonal=1),
    ),
    diagonal_hidden=(
        "Off by one to the left: the diagonal is False, so a token may not attend to itself and row 0 has "
        "nothing to attend to at all. The diagonal must be True.",
        lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool).tril(diagonal=-1),
    ),
    true_means_hidden=(
        "The meaning of True is inverted: your True marks the future, the keys to hide. In this course True "
        'means "may attend", so every entry has to be the opposite.',
        lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool).triu(diagonal=1),
    ),
    floats=(
        "The pattern is right but the dtype is a float: zeros and ones are numbers, and `~` does not even "
        "work on them. A mask is boolean: make the result torch.bool.",
        lambda seq_len: torch.tril(torch.ones(seq_len, seq_len)),
    ),
    integers=(
        "The pattern is right but the dtype is an integer: `~` turns an integer 1 into -2, not into "
        '"hidden". A mask is boolean: make the result torch.bool.',
        lambda seq_len: torch.tril(torch.ones(seq_len, seq_len, dtype=torch.int64)),
    ),
    additive=(
        "This is an additive mask: 0 where a query may attend and -inf where it may not. The mask of this "
        "course is boolean: it only says which keys may be seen, and is not added to anything.",
        lambda seq_len: torch.zeros(seq_len, seq_len).masked_fill(
            torch.ones(seq_len, seq_len, dtype=torch.bool).triu(diagonal=1), float("-inf")
        ),
    ),
    nothing_hidden=(
        "Every entry is True, so nothing is hidden: row 0 may attend to the whole sequence. If you called a "
        "function that returns a new tensor, check that its result is what you return.",
        nothing_hidden,
    ),
    only_itself=(
        "Only the diagonal is True: each token sees itself and forgets its past. Row i may attend to all "
        "columns up to and including i, so row 2 has three True.",
        lambda seq_len: torch.eye(seq_len, dtype=torch.bool),
    ),
    made_for_four=(
        "The mask has the same size for every `seq_len`. It was made for the four tokens of the example: its "
        "two dimensions have to follow the argument.",
        lambda seq_len: torch.ones(4, 4, dtype=torch.bool).tril(),
    ),
    mirrored=(
        "The triangle leans the wrong way: row 0 attends only to the last key. Row 0 is the first token and "
        "may see column 0; each row down adds the next column on the right.",
        lambda seq_len: torch.ones(seq_len, seq_len, dtype=torch.bool).tril().flip(-1),
    ),
    one_row_for_all=(
        "Every row is the same: each position is compared with one number instead of with its own row. The "
        "comparison needs the index of the query down the rows and the index of the key along the columns.",
        lambda seq_len: (torch.arange(seq_len) <= seq_len // 2).expand(seq_len, seq_len),
    ),
    extra_dimension=(
        "The mask has a leading dimension of size 1 that should not be there: one mask for one sequence "
        "length is a plain square, `(T, T)`, and broadcasting adds the rest.",
        lambda seq_len: torch.ones(1, seq_len, seq_len, dtype=torch.bool).tril(),
    ),
)


@causal_mask.accepted_alternative
def by_two_loops(seq_len):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool)
    for query in range(seq_len):
        for key in range(query + 1):
            mask[query, key] = True
    return mask


@causal_mask.accepted_alternative(
    "One comparison, and the definition itself: a key may be seen where its position is not after the "
    "query's. Nothing is built and thrown away, and you need not remember which triangle is upper and "
    "which is lower."
)
def by_comparing_positions(seq_len):
    position = torch.arange(seq_len)
    return position <= position.unsqueeze(1)


@causal_mask.accepted_alternative(
    "What papers and many libraries write: the triangle above the diagonal is the future, and it is "
    "inverted with `~`. It is easy to forget diagonal=1, and then no token sees itself."
)
def by_hiding_the_future(seq_len):
    return ~torch.triu(torch.ones(seq_len, seq_len), diagonal=1).bool()


@causal_mask.accepted_alternative
def by_lists(seq_len):
    return torch.tensor([[key <= query for key in range(seq_len)] for query in range(seq_len)])


@causal_mask.accepted_alternative
def by_indices(seq_len):
    mask = torch.full((seq_len, seq_len), False)
    rows, columns = torch.tril_indices(seq_len, seq_len)
    mask[rows, columns] = True
    return mask
