"""What the grader checks about `embed`, with its own blocks and embeddings."""

import torch
import torch.nn as nn
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from attention_lab.authoring import FLOATS, Exercise, case

embed = Exercise(
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


def run(texts, tokenizer, embeddings, blocks, *, special=True, hide=True, pooling=pool, unit=None, lift=None):
    """A correct answer; a mistake changes one part."""
    with torch.no_grad():
        ids, mask = encode(texts, tokenizer, special)
        x = embeddings(ids)
        lifted = mask.unsqueeze(1) if lift is None else lift(mask)
        for block in blocks:
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
