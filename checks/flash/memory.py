"""How much memory block by block may take, and what is said of more.

A long text here has 13 blocks: one matrix of all scores is that many times as large as one tensor of
`block_size × length` numbers, of which the contract allows a fixed number at once. It is longer than MOST
times block size and width together, or else the whole matrix would pass as "a few". Narrow tensors and large
blocks keep the number of blocks small, and with it the time that the counting takes.

A short text has blocks of one or two. Someone who takes `block_size` for the number of blocks makes blocks
of the whole text, or of half of it: longer than the width by so much that these are larger than an argument.
"""

import math

from nbjudge.torch import all_memory_of, memory_of

BLOCKS, COUNT = (79, 81), 13  # of a long text
SHORTER = (1, 6)  # the last of them, by so many tokens
SHORT = ((9, 1), (34, 2))  # length and block size: without `causal`, and with it
WIDTHS = (5, 6)
BYTES = 4  # of a float32
LARGEST = 4  # tensors of block_size × length numbers in one piece
MOST = 12  # at once, beside as many as large as the arguments
OF_ARGUMENTS = 1.25  # largest tensors that are allowed whatever the block size is
OF_MATRICES = 0.9  # the share of a matrix that makes one
BESIDE_TORCH = 2**18  # bytes; what Python's own objects take at most, all scores of a short text among them


def sizes(draw):
    """For each case: length, block size, width of query and key, width of the values, causal, what counts."""
    for causal, (short, block_of_short) in zip((False, True), SHORT, strict=True):
        block = draw.shuffled(BLOCKS)[0]
        yield COUNT * block - draw.integer(*SHORTER), block, *draw.shuffled(WIDTHS), causal, all_memory_of
        # All scores of a short text take too little to stand out beside torch.
        yield short, block_of_short, *draw.shuffled(WIDTHS), causal, memory_of


def within(name, length, block_size, arguments, told):
    """Return what is said of an answer's memory, and what it holds too much of (None: all is well).

    "largest" is a tensor as large as a whole matrix or larger, "count" the block of someone who takes
    `block_size` for the number of blocks, "most" many small tensors. told: what `memory_of` or
    `all_memory_of` reports. Without batches: `length` queries and keys.
    """
    matrix, row_of_blocks = BYTES * length * length, BYTES * length * block_size
    text = f"For {length} tokens in blocks of {block_size}, `{name}` "
    scores = (
        f"the scores of {block_size} queries take {row_of_blocks:,} bytes, those of all of them {matrix:,}"
    )
    if not isinstance(told, dict) or not {"largest", "most"} <= set(told):
        return f"What `{name}` holds in memory could not be counted.", None
    given = BYTES * max(argument.numel() for argument in arguments)
    if told["largest"] > max(LARGEST * row_of_blocks, OF_ARGUMENTS * given):
        sentence = f"{text}makes a tensor of {told['largest']:,} bytes; {scores}. Work on a block at a time."
        block = math.ceil(length / block_size)  # of queries, with the scores of as many keys or of all
        if told["largest"] in (BYTES * block * block, BYTES * block * length):
            return sentence, "count"
        return sentence, "largest" if told["largest"] >= matrix or block_size in BLOCKS else None
    if told["most"] > MOST * (row_of_blocks + given):
        sentence = (
            f"{text}holds {told['most']:,} bytes at once, although none of its tensors is large; {scores}. "
            "Keep nothing of a block but what the next one needs."
        )
        return sentence, "most"
    if told.get("elsewhere", 0) > max(OF_MATRICES * matrix, BESIDE_TORCH):
        sentence = (
            f"{text}holds {told['elsewhere']:,} bytes beside torch, in NumPy's arrays or in lists; {scores}."
        )
        return sentence, "elsewhere"
    return None, None
