"""The mistakes that the grader can name in `embed`: its steps, and what is around them."""

from functools import partial

import torch
import torch.nn as nn

from .embed import embed, encode, pool, run


@embed.mistake(
    "A text's vector changes when longer texts are in its batch: the blocks attend to padding. Pass the "
    "tokenizer's attention mask to each block."
)
def attends_to_padding(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, hide=False)


@embed.mistake(
    "Padding is in the mean: the blocks get the mask, but the mean does not. Pass it to `mean_pool` too."
)
def padding_in_the_mean(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, pooling=lambda x, mask: x.mean(dim=1))


@embed.mistake(
    "The padding is neither hidden from the blocks nor left out of the mean. Use the tokenizer's attention "
    "mask in both places."
)
def no_mask_at_all(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, hide=False, pooling=lambda x, mask: x.mean(dim=1))


@embed.mistake(
    "The mask is inverted: the blocks see the padding and nothing else. attention_mask is 1 where there is a "
    "token, and True = may attend."
)
def mask_inverted(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, lift=lambda mask: ~mask.unsqueeze(1))


@embed.mistake("The blocks get a mask (B, T). They expect (B, 1, T): an axis for the queries is missing.")
def mask_without_query_axis(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, lift=lambda mask: mask)


@embed.mistake("The blocks get a mask of whole numbers. The course's masks are boolean: convert it once.")
def mask_of_integers(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, lift=lambda mask: mask.unsqueeze(1).long())


@embed.mistake(
    "This is the vector of [CLS]. The encoder was trained with the mean over all tokens of the text."
)
def cls_instead_of_mean(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, pooling=lambda x, mask: x[:, 0])


@embed.mistake(
    "This is the maximum over the tokens, column by column. Use `mean_pool` on what the last block returns."
)
def max_pooling(texts, tokenizer, embeddings, blocks):
    largest = lambda x, mask: x.masked_fill(~mask[..., None], -torch.inf).amax(dim=1)  # noqa: E731
    return run(texts, tokenizer, embeddings, blocks, pooling=largest)


@embed.mistake(
    "The rows do not have length 1. Divide each by its L2 norm at the end, so that a dot product of two rows "
    "is their cosine."
)
def not_normalised(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, unit=lambda row: row)


@embed.mistake(
    "The norm is taken over the batch, so the columns have length 1 instead of the rows. Divide each row by "
    "its own norm."
)
def norm_over_the_batch(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, unit=lambda row: nn.functional.normalize(row, dim=0))


@embed.mistake("The rows are divided by the sum of their absolute values. Divide by the L2 norm.")
def by_the_l1_norm(texts, tokenizer, embeddings, blocks):
    return run(
        texts, tokenizer, embeddings, blocks, unit=lambda row: nn.functional.normalize(row, p=1, dim=-1)
    )


@embed.mistake(
    "A row of zeros gives NaN, because it is divided by its norm, 0. Keep the divisor above 0: such a row "
    "stays zero."
)
def nan_for_a_zero_row(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, unit=lambda row: row / row.norm(dim=-1, keepdim=True))


@embed.mistake(
    "A short row comes out shorter than 1, because something like 1e-3 is added to its norm. Guard against 0 "
    "without changing the other norms."
)
def large_epsilon(texts, tokenizer, embeddings, blocks):
    return run(
        texts, tokenizer, embeddings, blocks, unit=lambda row: row / (row.norm(dim=-1, keepdim=True) + 1e-3)
    )


@embed.mistake(
    "A short row comes out shorter than 1, because the divisor is kept above something like 1e-6, and the "
    "norm of the row is smaller. Use 1e-12."
)
def large_lowest_divisor(texts, tokenizer, embeddings, blocks):
    return run(
        texts, tokenizer, embeddings, blocks, unit=lambda row: nn.functional.normalize(row, dim=-1, eps=1e-6)
    )


@embed.mistake(
    "Every token is divided by its norm before the mean. Take the mean first, then divide by its norm."
)
def normalised_before_the_mean(texts, tokenizer, embeddings, blocks):
    first = lambda x, mask: pool(nn.functional.normalize(x, dim=-1), mask)  # noqa: E731
    return run(texts, tokenizer, embeddings, blocks, pooling=first)


@embed.mistake(
    "[CLS] and [SEP] are missing: the model was trained with them at both ends. Let the tokenizer add its "
    "special tokens."
)
def no_special_tokens(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, special=False)


@embed.mistake(
    "[CLS] and [SEP] are left out of the mean. It includes all tokens with attention_mask 1, and so these "
    "two."
)
def special_tokens_out_of_the_mean(texts, tokenizer, embeddings, blocks):
    def words_only(x, mask):
        words = mask.clone()
        words[:, 0] = False
        words[torch.arange(len(mask)), mask.sum(dim=1) - 1] = False
        return pool(x, words)

    return run(texts, tokenizer, embeddings, blocks, pooling=words_only)


@embed.mistake("The blocks are not used: this is the mean of the embeddings alone.")
def no_blocks(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, [])


@embed.mistake(
    "Every block gets the embeddings, so only the last one has an effect. Each block's input is the output "
    "of the block before it."
)
def only_the_last_block(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, list(blocks)[-1:])


@embed.mistake("Only the first block is used. Apply all of them, in their order.")
def only_the_first_block(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, list(blocks)[:1])


@embed.mistake("The blocks are applied from the last to the first. Block 0 reads the embeddings.")
def in_reverse(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, list(blocks)[::-1])


@embed.mistake(
    "The result is float32 although the embeddings are float64. Its dtype is that of the embeddings: convert "
    "the mask, not the tokens."
)
def always_float32(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks).float()


@embed.mistake(
    "All rows are divided by one number, the norm of the whole batch. Divide each row by its own norm."
)
def one_norm_for_all(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, unit=lambda row: row / row.norm().clamp(min=1e-12))


@embed.mistake(
    "The blocks are counted or indexed, which fails where they can be read only once (an iterator). Go "
    "through them once, with `for block in blocks`."
)
def indexes_the_blocks(texts, tokenizer, embeddings, blocks):
    with torch.no_grad():
        ids, mask = encode(texts, tokenizer)
        x = embeddings(ids)
        for layer in range(len(blocks)):
            x = blocks[layer](x, mask=mask.unsqueeze(1))
        return nn.functional.normalize(pool(x, mask), dim=-1)


@embed.mistake(
    "If the blocks can be read only once, the first text uses them up, and the other texts go through none. "
    "Run all texts as one batch, or make a list of the blocks first."
)
def blocks_used_up(texts, tokenizer, embeddings, blocks):
    return torch.cat([run([text], tokenizer, embeddings, blocks) for text in texts])


@embed.mistake(
    "A list of one text gives a vector without the axis of the texts. Return one row for each text, also for "
    "a single one."
)
def squeezed(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks).squeeze(0)


def _ends(first, last):
    """The mean without that many tokens at the beginning and at the end of each text."""

    def pooled(x, mask):
        place, length = torch.arange(mask.shape[1]), mask.sum(dim=1, keepdim=True)
        return pool(x, mask & (place >= first) & (place < length - last))

    return pooled


CAUSES = {
    "[CLS] were left out of the mean": {"pooling": _ends(1, 0)},
    "[SEP] were left out of the mean": {"pooling": _ends(0, 1)},
    "the last token were in the place of the mean": {
        "pooling": lambda x, mask: x[torch.arange(len(x)), mask.sum(1) - 1]
    },
    "the last column, padding or not, were in the place of the mean": {"pooling": lambda x, mask: x[:, -1]},
    "the second token were in the place of the mean": {"pooling": lambda x, mask: x[:, 1]},
    "the smallest numbers were in the place of the mean": {
        "pooling": lambda x, mask: x.masked_fill(~mask[..., None], torch.inf).amin(dim=1)
    },
    "the median were in the place of the mean": {"pooling": lambda x, mask: x.median(dim=1).values},
    "the mask were inverted in the mean": {"pooling": lambda x, mask: pool(x, ~mask)},
    "the tokens had length 1 before the mean as well": {
        "pooling": lambda x, mask: pool(nn.functional.normalize(x, dim=-1), mask)
    },
    "the mean of a row were subtracted before its norm": {
        "unit": lambda row: nn.functional.normalize(row - row.mean(-1, True), dim=-1)
    },
    "a layer norm were in the place of the L2 norm": {
        "unit": lambda row: nn.functional.layer_norm(row, row.shape[-1:])
    },
    "a softmax were in the place of the L2 norm": {"unit": lambda row: row.softmax(-1)},
    "each row were divided by its largest number": {
        "unit": lambda row: row / row.abs().amax(-1, True).clamp(min=1e-12)
    },
    "each row were divided by its standard deviation": {
        "unit": lambda row: row / row.std(-1, keepdim=True).clamp(min=1e-12)
    },
}
for _clause, _step in CAUSES.items():
    embed.cause(_clause, partial(run, **_step))


def _with_blocks(wrap):
    return lambda texts, tokenizer, embeddings, blocks: run(texts, tokenizer, embeddings, wrap(list(blocks)))


def _only_some_see_the_mask(some):
    def wrapped(blocks):
        shown = range(len(blocks))[some]
        return [
            block if place in shown else lambda x, mask, block=block: block(x)
            for place, block in enumerate(blocks)
        ]

    return _with_blocks(wrapped)


def _after_each(function):
    return _with_blocks(
        lambda blocks: [lambda x, mask, b=block: function(x, b(x, mask=mask)) for block in blocks]
    )


for _clause, _answer in {
    "only the first block got the mask": _only_some_see_the_mask(slice(0, 1)),
    "only the last block got the mask": _only_some_see_the_mask(slice(-1, None)),
    "each block's input were added to its output": _after_each(lambda x, result: x + result),
    "the tokens got length 1 after each block": _after_each(
        lambda x, result: nn.functional.normalize(result, dim=-1)
    ),
}.items():
    embed.cause(_clause, _answer)


@embed.mistake(
    "The result has requires_grad=True: autograd recorded all blocks. Turn gradients off while they run."
)
def records_gradients(texts, tokenizer, embeddings, blocks):
    ids, mask = encode(texts, tokenizer)
    x = embeddings(ids)
    for block in blocks:
        x = block(x, mask=mask.unsqueeze(1))
    return nn.functional.normalize(pool(x, mask), dim=-1)


@embed.mistake(
    "Gradients stay off after the call. `torch.no_grad`, as a with block or as a decorator, restores the "
    "mode that was on before."
)
def gradients_off_for_good(texts, tokenizer, embeddings, blocks):
    torch.set_grad_enabled(False)
    return run(texts, tokenizer, embeddings, blocks)


@embed.mistake(
    "Gradients are on after the call, even if they were off before it. Restore the mode that was on before."
)
def gradients_on_afterwards(texts, tokenizer, embeddings, blocks):
    vectors = run(texts, tokenizer, embeddings, blocks)
    torch.set_grad_enabled(True)
    return vectors


@embed.mistake(
    "The modules are left in evaluation mode. These blocks give the same result in both modes, so do not "
    "change their mode."
)
def left_in_evaluation_mode(texts, tokenizer, embeddings, blocks):
    blocks = list(blocks)
    for block in blocks:
        block.eval()
    return run(texts, tokenizer, embeddings, blocks)


@embed.mistake(
    "The modules are left in training mode. These blocks give the same result in both modes, so do not "
    "change their mode."
)
def left_in_training_mode(texts, tokenizer, embeddings, blocks):
    blocks = list(blocks)
    vectors = run(texts, tokenizer, embeddings, blocks)
    for block in blocks:
        block.train()
    return vectors


@embed.mistake(
    "The call changes the tokenizer's settings (its padding or its truncation). The tokenizer is ready to "
    "use: leave it as it is."
)
def changes_the_tokenizer(texts, tokenizer, embeddings, blocks):
    vectors = run(texts, tokenizer, embeddings, blocks)
    tokenizer.no_padding()
    return vectors


@embed.mistake(
    "The call changes the list of texts, for example by sorting it in place. Make a new list instead."
)
def sorts_the_texts(texts, tokenizer, embeddings, blocks):
    vectors = run(texts, tokenizer, embeddings, blocks)
    texts.sort(key=len)
    texts.append("")
    return vectors
