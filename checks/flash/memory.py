"""How much memory and how many scores block by block may take, and what is said of more.

A text here has 21 to 27 blocks: one matrix of all scores is that many times as large as one tensor of
`block_size × length` numbers, of which the contract allows a fixed number at once. The shortest text is
longer than MOST times block size and width together, or else the whole matrix would pass as "a few".
"""

LENGTHS = (278, 286, 298)  # no size of the lesson's
BLOCKS = (11, 13)
WIDTHS = (7, 9)
BYTES = 4  # of a float32
LARGEST = 4  # tensors of block_size × length numbers in one piece
MOST = 12  # at once, beside as many as large as the arguments
OF_MATRICES = 0.9  # the share of a matrix that makes one


def sizes(draw):
    """Length, block size, width of query and key, width of the values."""
    return (*(draw.shuffled(each)[0] for each in (LENGTHS, BLOCKS)), *draw.shuffled(WIDTHS))


def within(name, length, block_size, arguments, told):
    """What is said of an answer's memory, and whether it holds a whole matrix (None: all is well).

    told: what `nbjudge.torch.memory.memory_of` reports. Without batches: `length` queries and keys.
    """
    if not isinstance(told, dict) or set(told) != {"largest", "most", "elsewhere"}:
        return f"What `{name}` holds in memory could not be counted.", None
    matrix, row_of_blocks = BYTES * length * length, BYTES * length * block_size
    text = f"For {length} tokens in blocks of {block_size}, `{name}` "
    beside = (
        f"the scores of {block_size} queries take {row_of_blocks:,} bytes, those of all of them {matrix:,}"
    )
    if told["largest"] > LARGEST * row_of_blocks:
        sentence = f"{text}makes a tensor of {told['largest']:,} bytes; {beside}. Work on a block at a time."
        return sentence, "largest"
    given = BYTES * max(each.numel() for each in arguments)
    if told["most"] > MOST * (row_of_blocks + given):
        sentence = (
            f"{text}holds {told['most']:,} bytes at once, although none of its tensors is large; {beside}. "
            "Keep nothing of a block but what the next one needs."
        )
        return sentence, "most"
    if told["elsewhere"] > OF_MATRICES * matrix:
        sentence = (
            f"{text}holds {told['elsewhere']:,} bytes beside torch, in NumPy's arrays or in lists; {beside}."
        )
        return sentence, "elsewhere"
    return None, None
