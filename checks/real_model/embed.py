"""The exercise `embed`, and the mistakes it can name."""

from functools import partial

import torch
import torch.nn as nn
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from attention_lab.authoring import FLOATS, Exercise, add_mistakes, case

MOST_ROUNDING = 1e-3  # of the largest number


class Embed(Exercise):
    def describe_array(self, index, name, numbers, expected, case):
        """How much each token of a text counts, if its vector is a weighted sum of them."""
        yield from super().describe_array(index, name, numbers, expected, case)
        tokens = []
        watching(partial(run, pooling=lambda x, mask: tokens.extend([x, mask]) or pool(x, mask)))(*case.args)
        for row, (x, mask) in enumerate(zip(*tokens, strict=True)):
            shown = x[mask].double()
            if 1 < len(shown) < x.shape[-1] - 1 and abs(numbers[row]).max() > 0:
                counts, right = (_counts(shown, each[row]) for each in (numbers, expected))
                if counts is None or right is None or counts.max() - counts.min() < 10 * MOST_ROUNDING:
                    continue
                if right.max() - right.min() < MOST_ROUNDING:
                    shares = ", ".join(f"{count:.2g}" for count in counts.tolist()[:5])
                    yield (
                        f"{name} is a weighted sum of the tokens' vectors, and not their mean: in text {row} "
                        f"the first tokens count {shares}, and all should count the same."
                    )
                    return


def _counts(tokens, vector):
    """How often tokens (T, E) count in a sum with the direction of a vector (E,); None if it is no sum."""
    vector = torch.from_numpy(vector).double()
    counts = torch.linalg.lstsq(tokens.T, vector).solution
    counts = counts / counts.abs().max()
    off = nn.functional.normalize(counts @ tokens, dim=0) - nn.functional.normalize(vector, dim=0)
    is_plain = bool((counts > -MOST_ROUNDING).all()) and float(torch.linalg.cond(tokens)) < 1 / MOST_ROUNDING
    return counts if is_plain and off.abs().max() < MOST_ROUNDING else None


embed = Embed(
    "embed",
    results=("vectors",),
    axes=(("texts", "embedding"),),
)

WORDS = [one + other for one in ("ba", "de", "ki", "lo", "mu", "sa") for other in ("na", "re", "ti", "vo")]
LONGEST = 25  # tokens
VOCABULARY = len(WORDS) + 4


class Block(nn.Module):
    """Mixes what the mask shows into every token. It accepts the mask of the contract only."""

    def __init__(self, mixing, changing, seen):
        super().__init__()
        self.mixing = nn.Parameter(mixing)
        self.changing = nn.Parameter(changing)
        self.seen = seen

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.shape[0], 1, x.shape[1], dtype=torch.bool)
        if mask.dtype != torch.bool:
            raise TypeError(f"the mask has to be boolean, and this one is {mask.dtype}")
        if mask.shape != (x.shape[0], 1, x.shape[1]):
            raise ValueError(f"the mask has to be (B, 1, T), here {(x.shape[0], 1, x.shape[1])}, not "
                             f"{tuple(mask.shape)}")  # fmt: skip
        self.seen.append(torch.is_grad_enabled())
        share = mask.to(x) / mask.sum(dim=-1, keepdim=True).clamp(min=1)
        return x + torch.tanh(share @ x @ self.mixing) + torch.tanh(x @ self.changing)


def tokenizer_of(vocabulary):
    tokenizer = Tokenizer(
        WordPiece({word: index for index, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = Whitespace()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(max_length=LONGEST)
    return tokenizer


def watching(answer):
    """Makes tokenizer, embeddings and blocks, calls the answer and reports what `look` names."""

    def watched(texts, vocabulary, table, blocks, size, recording, training, only_once, look):
        tokenizer = tokenizer_of(vocabulary)
        before, seen = tokenizer.to_str(), []
        modules = [Block(mixing, changing, seen).train(training) for mixing, changing in blocks]
        given = list(texts)

        def embeddings(input_ids):
            # The position counts as well, so that another order of tokens is another text.
            position = torch.arange(input_ids.shape[1], dtype=table.dtype)[:, None]
            return size * (table[input_ids] + 0.1 * torch.sin(position))

        torch.set_grad_enabled(recording)
        try:
            vectors = answer(given, tokenizer, embeddings, iter(modules) if only_once else modules)
            afterwards = torch.is_grad_enabled()
        finally:
            torch.set_grad_enabled(True)
        report = {
            "result": vectors.detach() if isinstance(vectors, torch.Tensor) else vectors,
            "requires_grad": getattr(vectors, "requires_grad", "no tensor"),
            "gradients afterwards": "on" if afterwards else "off",
            "tokenizer afterwards": "as before" if tokenizer.to_str() == before else "changed",
            "texts afterwards": "as before" if given == list(texts) else "changed",
            "modes afterwards": sorted(
                {"training" if module.training else "evaluation" for module in modules}
            ),
        }
        return report["result"] if look == ["result"] else {side: report[side] for side in look}

    return watched


def _text(draw, length):
    return " ".join(WORDS[index] for index in draw.integers(0, len(WORDS) - 1, length).tolist())


def _case(draw, lengths, dtype=torch.float32, blocks=2, size=1.0, recording=True, training=False,
          only_once=False, look=("result",), repeat_first=False):  # fmt: skip
    """Texts of so many words each; `repeat_first` appends the first one once more."""
    (width,) = draw.sizes(1)
    texts = [_text(draw, length) for length in lengths]
    texts += texts[:1] if repeat_first else []
    table = draw.normal(VOCABULARY, width, dtype=dtype)
    layers = [[draw.normal(width, width, dtype=dtype) / 4 for _ in range(2)] for _ in range(blocks)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    return case(texts, vocabulary, table, layers, size, recording, training, only_once, list(look),
               through=watching)  # fmt: skip


@embed.group("one text", points=1)
def one_text(draw):
    for dtype in FLOATS:
        yield _case(draw, draw.sizes(1), dtype)
    yield _case(draw, (1,), blocks=1)
    yield _case(draw, (0,), only_once=True)
    yield _case(draw, (LONGEST + draw.integer(4, 9),), blocks=0)


@embed.group("texts of equal length", points=1)
def equal_lengths(draw):
    count, length = draw.sizes(2)
    yield _case(draw, [length] * count, blocks=3)


@embed.group("texts of unequal length: padding", points=2)
def unequal_lengths(draw):
    yield _case(draw, draw.sizes(4), repeat_first=True)
    yield _case(draw, (1, *draw.sizes(2), 1), torch.float64, blocks=3)


@embed.group("no block, one block, a text beyond the tokenizer's limit, an empty text", points=1)
def edges(draw):
    yield _case(draw, draw.sizes(3), blocks=0)
    yield _case(draw, draw.sizes(2), torch.float64, blocks=1)
    yield _case(draw, (*draw.sizes(1), LONGEST + draw.integer(4, 9), 0))


@embed.group("blocks that can be read only once", points=1)
def read_once(draw):
    yield _case(draw, draw.sizes(3), only_once=True)
    yield _case(draw, draw.sizes(2), torch.float64, blocks=3, only_once=True)


@embed.group("rows of length 0, and short ones", points=1)
def short_rows(draw):
    yield _case(draw, draw.sizes(2), size=0.0)
    yield _case(draw, draw.sizes(2), torch.float64, size=1e-4)
    yield _case(draw, draw.sizes(2), size=1e-7)
    yield _case(draw, draw.sizes(1), size=0.0)


SURROUNDINGS = (
    "requires_grad",
    "gradients afterwards",
    "tokenizer afterwards",
    "texts afterwards",
    "modes afterwards",
    "result",
)


@embed.group("no gradients, and everything as before", points=1)
def surroundings(draw):
    for recording in (True, False):
        for training in (True, False):
            lengths = draw.sizes(1 if recording else 2)
            yield _case(draw, lengths, recording=recording, training=training, look=SURROUNDINGS)


def encode(texts, tokenizer, special=True):
    """Ids and mask of a batch, both (B, T)."""
    encodings = tokenizer.encode_batch(list(texts), add_special_tokens=special)
    ids = torch.tensor([encoding.ids for encoding in encodings])
    return ids, torch.tensor([encoding.attention_mask for encoding in encodings]).bool()


def pool(x, mask):
    shown = mask.unsqueeze(-1).to(x.dtype)
    return (x * shown).sum(dim=1) / shown.sum(dim=1).clamp(min=1)


def run(
    texts,
    tokenizer,
    embeddings,
    blocks,
    *,
    special=True,
    hide=True,
    pooling=pool,
    unit=None,
    lift=None,
    embedded=lambda embeddings, ids: embeddings(ids),
    through=lambda blocks: blocks,
):
    """A correct answer; a mistake changes one part."""
    with torch.no_grad():
        ids, mask = encode(texts, tokenizer, special)
        x = embedded(embeddings, ids)
        lifted = mask.unsqueeze(1) if lift is None else lift(mask)
        for block in through(blocks):
            x = block(x, mask=lifted) if hide else block(x)
        row = pooling(x, mask)
        return nn.functional.normalize(row, dim=-1) if unit is None else unit(row)


@embed.accepted_alternative(
    "One text at a time needs no mask at all: nothing is padded. Slower, and the right answer to compare a "
    "batched one with."
)
@torch.no_grad()
def one_at_a_time(texts, tokenizer, embeddings, blocks):
    blocks, rows = list(blocks), []
    for text in texts:
        x = embeddings(torch.tensor([tokenizer.encode(text).ids]))
        for block in blocks:
            x = block(x)
        mean = x[0].mean(dim=0)
        rows.append(mean / mean.norm().clamp(min=1e-12))
    return torch.stack(rows)


@embed.accepted_alternative(
    "The sum does as well as the mean: dividing a row by a positive number does not change its direction, "
    "and its length becomes 1 in any case."
)
def by_the_sum(texts, tokenizer, embeddings, blocks):
    return run(texts, tokenizer, embeddings, blocks, pooling=lambda x, mask: (x * mask[..., None]).sum(dim=1))


@embed.accepted_alternative
def mask_from_the_ids(texts, tokenizer, embeddings, blocks):
    with torch.inference_mode():
        ids = torch.stack([torch.tensor(encoding.ids) for encoding in tokenizer.encode_batch(texts)])
        mask = ids != 0
        x = embeddings(ids)
        for block in blocks:
            x = block(x, mask=mask[:, None, :])
        row = pool(x, mask)
        length = row.square().sum(dim=1, keepdim=True).sqrt()
        return torch.where(length < 1e-12, 0.0, row / length.clamp(min=1e-12)).clone()


def indexes_the_blocks(texts, tokenizer, embeddings, blocks):
    with torch.no_grad():
        ids, mask = encode(texts, tokenizer)
        x = embeddings(ids)
        for layer in range(len(blocks)):
            x = blocks[layer](x, mask=mask.unsqueeze(1))
        return nn.functional.normalize(pool(x, mask), dim=-1)


def _not_truncated(texts, tokenizer, *others):
    whole = Tokenizer.from_str(tokenizer.to_str())
    whole.no_truncation()
    return run(texts, whole, *others)


add_mistakes(
    embed,
    run,
    attends_to_padding=(
        "A text's vector changes when longer texts are in its batch: the blocks attend to padding. Pass the "
        "tokenizer's attention mask to each block.",
        {"hide": False},
    ),
    padding_in_the_mean=(
        "Padding is in the mean: the blocks get the mask, but the mean does not. Pass it to `mean_pool` too.",
        {"pooling": lambda x, mask: x.mean(dim=1)},
    ),
    no_mask_at_all=(
        "The padding is neither hidden from the blocks nor left out of the mean. Use the tokenizer's "
        "attention mask in both places.",
        {"hide": False, "pooling": lambda x, mask: x.mean(dim=1)},
    ),
    mask_inverted=(
        "The mask is inverted: the blocks see the padding and nothing else. attention_mask is 1 where there "
        "is a token, and True = may attend.",
        {"lift": lambda mask: ~mask.unsqueeze(1)},
    ),
    mask_without_query_axis=(
        "The blocks get a mask (B, T). They expect (B, 1, T): an axis for the queries is missing.",
        {"lift": lambda mask: mask},
    ),
    cls_instead_of_mean=(
        "This is the vector of [CLS]. The encoder was trained with the mean over all tokens of the text.",
        {"pooling": lambda x, mask: x[:, 0]},
    ),
    not_normalised=(
        "The rows do not have length 1. Divide each by its L2 norm at the end, so that a dot product of two "
        "rows is their cosine.",
        {"unit": lambda row: row},
    ),
    nan_for_a_zero_row=(
        "A row of zeros gives NaN, because it is divided by its norm, 0. Keep the divisor above 0: such a "
        "row stays zero.",
        {"unit": lambda row: row / row.norm(dim=-1, keepdim=True)},
    ),
    not_truncated=(
        "A text beyond the tokenizer's limit is not cut: the model has no positions for more tokens. Let "
        "the tokenizer encode the texts with the settings that it has.",
        _not_truncated,
    ),
    no_blocks=(
        "The blocks are not used: this is the mean of the embeddings alone.",
        lambda texts, tokenizer, embeddings, blocks: run(texts, tokenizer, embeddings, []),
    ),
    indexes_the_blocks=(
        "The blocks are counted or indexed, which fails where they can be read only once (an iterator). Go "
        "through them once, with `for block in blocks`.",
        indexes_the_blocks,
    ),
    blocks_used_up=(
        "If the blocks can be read only once, the first text uses them up, and the other texts go through "
        "none. Run all texts as one batch, or make a list of the blocks first.",
        lambda texts, tokenizer, embeddings, blocks: torch.cat(
            [run([text], tokenizer, embeddings, blocks) for text in texts]
        ),
    ),
)


def _ends(first, last):
    """The mean without that many tokens at the beginning and at the end of each text."""

    def pooled(x, mask):
        place, length = torch.arange(mask.shape[1]), mask.sum(dim=1, keepdim=True)
        return pool(x, mask & (place >= first) & (place < length - last))

    return pooled


CAUSES = {
    "the maximum were in the place of the mean": {
        "pooling": lambda x, mask: x.masked_fill(~mask[..., None], -torch.inf).amax(dim=1)
    },
    "each row were divided by the sum of its absolute values": {
        "unit": lambda row: nn.functional.normalize(row, p=1, dim=-1)
    },
    "the columns had length 1, and not the rows": {"unit": lambda row: nn.functional.normalize(row, dim=0)},
    "all rows were divided by the norm of the whole batch": {
        "unit": lambda row: row / row.norm().clamp(min=1e-12)
    },
    "1e-3 were added to each norm": {"unit": lambda row: row / (row.norm(dim=-1, keepdim=True) + 0.001)},
    "the divisor were at least 1e-6": {"unit": lambda row: nn.functional.normalize(row, dim=-1, eps=1e-06)},
    "the tokens had length 1 before the mean, and the mean had not": {
        "pooling": lambda x, mask: pool(nn.functional.normalize(x, dim=-1), mask),
        "unit": lambda row: row,
    },
    "1e-5 were added to each norm": {"unit": lambda row: row / (row.norm(dim=-1, keepdim=True) + 1e-5)},
    "[CLS] were added to the mean": {"pooling": lambda x, mask: x[:, 0] + pool(x, mask)},
    "1e-9 were added to each norm": {"unit": lambda row: row / (row.norm(dim=-1, keepdim=True) + 1e-9)},
    "the mean over the texts were subtracted before the norm": {
        "unit": lambda row: nn.functional.normalize(row - row.mean(0), dim=-1)
    },
    "[CLS] were hidden from the blocks": {
        "lift": lambda mask: (mask & (torch.arange(mask.shape[1]) > 0)).unsqueeze(1)
    },
    "[CLS] and [SEP] were left away": {"special": False},
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
    "[CLS] and [SEP] were left out of the mean": {"pooling": _ends(1, 1)},
    "the tokens had length 1 before the mean as well": {
        "pooling": lambda x, mask: pool(nn.functional.normalize(x, dim=-1), mask)
    },
    "the mean of a row were subtracted before its norm": {
        "unit": lambda row: nn.functional.normalize(row - row.mean(-1, True), dim=-1)
    },
    "a layer norm were in the place of the L2 norm": {
        "unit": lambda row: nn.functional.layer_norm(row, row.shape[-1:])
    },
    "each row were divided by the square of its L2 norm": {
        "unit": lambda row: row / row.square().sum(-1, True).clamp(min=1e-12)
    },
    "each row had mean 0 and variance 1": {
        "unit": lambda row: (row - row.mean(-1, True)) / row.std(-1, keepdim=True).clamp(min=1e-12)
    },
    "a softmax were in the place of the L2 norm": {"unit": lambda row: row.softmax(-1)},
    "each row were divided by its largest number": {
        "unit": lambda row: row / row.abs().amax(-1, True).clamp(min=1e-12)
    },
    "each row were divided by its standard deviation": {
        "unit": lambda row: row / row.std(-1, keepdim=True).clamp(min=1e-12)
    },
}
embed.causes_in_steps(run, CAUSES)
for _name, _function in {
    "ReLU": torch.relu,
    "GELU": nn.functional.gelu,
    "tanh": torch.tanh,
    "the absolute value": torch.abs,
    "the square": torch.square,
    "the root": lambda x: x.abs().sqrt(),
    "the exponential": torch.exp,
    "the logarithm": lambda x: x.abs().log(),
    "a layer norm": lambda x: nn.functional.layer_norm(x, x.shape[-1:]),
}.items():
    embed.causes_in_steps(
        run,
        {
            f"{_name} came between the tokens and their mean": {
                "pooling": lambda x, mask, f=_function: pool(f(x), mask)
            },
            f"{_name} came between the mean and the norm": {
                "unit": lambda row, f=_function: nn.functional.normalize(f(row), dim=-1)
            },
        },
    )


def _mean_of_layers(texts, tokenizer, embeddings, blocks, ends_only=False):
    with torch.no_grad():
        ids, mask = encode(texts, tokenizer)
        layers = [embeddings(ids)]
        for block in blocks:
            layers.append(block(layers[-1], mask=mask.unsqueeze(1)))
        layers = [layers[0], layers[-1]] if ends_only else layers
        return nn.functional.normalize(pool(sum(layers) / len(layers), mask), dim=-1)


def _without_special_tokens(texts, tokenizer, embeddings, blocks):
    with torch.no_grad():
        ids, mask = encode(texts, tokenizer)
        x, mask = embeddings(ids), mask & (ids > 3)
        for block in blocks:
            x = block(x, mask=mask.unsqueeze(1))
        return nn.functional.normalize(pool(x, mask), dim=-1)


def _with_blocks(wrap):
    return {"through": lambda blocks: wrap(list(blocks))}


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


def _embedded(change):
    """The step that changes the embeddings: `change(vectors, ids)`."""
    return {"embedded": lambda embeddings, ids: change(embeddings(ids), ids)}


embed.causes_in_steps(
    run,
    {
        "only the last block were used": _with_blocks(lambda blocks: blocks[-1:]),
        "only the first block were used": _with_blocks(lambda blocks: blocks[:1]),
        "each block were applied twice": _with_blocks(
            lambda blocks: [block for block in blocks for _ in range(2)]
        ),
        **{
            f"{name} followed each block": _after_each(lambda x, result, f=function: f(result))
            for name, function in {
                "ReLU": torch.relu,
                "GELU": nn.functional.gelu,
                "tanh": torch.tanh,
                "a layer norm": lambda x: nn.functional.layer_norm(x, x.shape[-1:]),
            }.items()
        },
        "the embeddings were multiplied by √E": _embedded(lambda x, ids: x * x.shape[-1] ** 0.5),
        "the embeddings were multiplied by √T": _embedded(lambda x, ids: x * ids.shape[1] ** 0.5),
        "the embeddings had length 1": _embedded(lambda x, ids: nn.functional.normalize(x, dim=-1)),
        "each block read the embeddings, and the mean of their results were taken": _with_blocks(
            lambda blocks: [lambda x, mask: sum(block(x, mask=mask) for block in blocks) / len(blocks)][
                : len(blocks)
            ]
        ),
        "each block's input were subtracted from its output": _after_each(lambda x, result: result - x),
        "the ids were in reverse order": {
            "embedded": lambda embeddings, ids: embeddings(ids.flip(1)),
        },
        "the ids were moved by one place": {
            "embedded": lambda embeddings, ids: embeddings(ids.roll(1, 1)),
        },
        "the blocks came in the reverse order": _with_blocks(lambda blocks: blocks[::-1]),
        "only the first block got the mask": _only_some_see_the_mask(slice(0, 1)),
        "only the last block got the mask": _only_some_see_the_mask(slice(-1, None)),
        "each block's input were added to its output": _after_each(lambda x, result: x + result),
        "the tokens got length 1 after each block": _after_each(
            lambda x, result: nn.functional.normalize(result, dim=-1)
        ),
    },
)
for _clause, _answer in {
    "the mean of all layers were taken": _mean_of_layers,
    "the mean of the embeddings and the last layer were taken": partial(_mean_of_layers, ends_only=True),
    "special tokens were hidden like padding": _without_special_tokens,
    "the texts were sorted by length": lambda texts, *others: run(sorted(texts, key=len), *others),
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
    "The call changes the tokenizer's settings (its padding or its truncation). The tokenizer is ready to "
    "use: leave it as it is."
)
def changes_the_tokenizer(texts, tokenizer, embeddings, blocks):
    vectors = run(texts, tokenizer, embeddings, blocks)
    tokenizer.no_padding()
    return vectors
