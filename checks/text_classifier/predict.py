"""What the grader asks about `predict`."""

import re

import pandas as pd
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from attention_lab.authoring import Exercise, ask
from attention_lab.authoring.not_asked import FIXED_AXES, TABLE

from .small_classifier import CLASSES, small_model

predict = Exercise(
    "predict",
    results=("probabilities",),
    axes=(("texts", "classes"),),
    weights=0,
    not_asked={
        "dtypes": TABLE,
        "leading axes": FIXED_AXES,
        "large values": TABLE,
        "gradients": TABLE,
    },
)

WORDS = [
    first + second for first in ("ba", "de", "ki", "lo", "mu", "sa") for second in ("na", "re", "ti", "vo")
]
LONGEST = 32  # tokens
TABLE = ("columns", "result", "pred_class", "pred_class_name")


def probabilities(table, columns):
    cells = [table[column].tolist() for column in columns]
    kinds = {type(cell).__name__ for column in cells for cell in column}
    return torch.tensor(cells).T if kinds == {"float"} else f"cells of type {', '.join(sorted(kinds))}"


def described(table):
    """Which of the columns are there and what is in them; nothing of its index or of other columns."""
    if not isinstance(table, pd.DataFrame):
        return {"columns": f"those of an object of type {type(table).__name__}, which is no DataFrame"}
    pattern = re.compile(r"class_\d+_prob|pred_class|pred_class_name")
    columns = sorted(str(column) for column in table.columns if pattern.fullmatch(str(column)))
    report = {"columns": columns, "result": probabilities(table, [c for c in columns if c[0] == "c"])}
    return report | {name: table[name].tolist() for name in columns if name[0] == "p"}


def watching(answer):
    """Reports what `look` names. A tokenizer travels as JSON."""

    def watched(texts, model, tokenizer, training, look):
        model.train(training)
        try:
            table = answer(texts, model, Tokenizer.from_str(tokenizer))
            stay_on = torch.is_grad_enabled()
        finally:
            torch.set_grad_enabled(True)
        names = ("eval", "training")
        gradients = "recorded" if any(recorded for _, recorded in model.seen) else "not recorded"
        report = described(table) | {
            "modes while it runs": sorted({names[mode] for mode, _ in model.seen}),
            "modes afterwards": sorted({names[part.training] for part in model.modules()}),
            "gradients": gradients if stay_on else "off for good",
        }
        if not model.seen:
            return dict.fromkeys(look, "unknown: the model did not run")
        return {side: report.get(side, "not there") for side in look}

    return watched


def _tokenizer() -> str:
    """As the lesson's: WordPiece, [PAD] is 0, [CLS] comes first, padding and truncation enabled."""
    vocabulary = {word: index for index, word in enumerate(["[PAD]", "[CLS]", "[UNK]", *WORDS])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")
    tokenizer.enable_truncation(max_length=LONGEST)
    return tokenizer.to_str()


def _text(draw, length):
    return " ".join(WORDS[index] for index in draw.integers(0, len(WORDS) - 1, length).tolist())


def _case(draw, lengths, look=TABLE, training=False, dropout=0.0, first_again=False):
    texts = [_text(draw, length) for length in lengths]
    texts += texts[:1] if first_again else []
    model, _ = small_model(draw, dropout)
    return ask(texts, model, _tokenizer(), training, list(look), through=watching)


@predict.group("the probabilities of one text", points=1)
def one_text(draw):
    for length in draw.sizes(3):
        yield _case(draw, [length], ("columns", "result"))


@predict.group("the probabilities of several texts, equally long", points=1)
def equally_long(draw):
    for count, length in (draw.sizes(2), (CLASSES, *draw.sizes(1))):
        yield _case(draw, [length] * count, ("columns", "result"))


@predict.group("the likeliest class and its name", points=2)
def class_and_name(draw):
    for count, length in (draw.sizes(2), (CLASSES, *draw.sizes(1)), (1, *draw.sizes(1))):
        yield _case(draw, [length] * count, ("pred_class", "pred_class_name"))


@predict.group("texts of unequal length, beside each other", points=2)
def unequally_long(draw):
    yield _case(draw, draw.sizes(2), TABLE)
    yield _case(draw, draw.sizes(7), TABLE, first_again=True)
    yield _case(draw, [*draw.sizes(2), LONGEST + draw.integer(2, 9), *draw.sizes(2)], TABLE)


@predict.group("a model with dropout, handed over in training mode", points=1)
def with_dropout(draw):
    for length in draw.sizes(2):
        yield _case(draw, [length], ("modes while it runs",), training=True, dropout=0.5)


@predict.group("the mode that the model is left in", points=1)
def mode_afterwards(draw):
    for training in (True, False):
        yield _case(draw, draw.sizes(1), ("modes afterwards",), training)


@predict.group("no gradients", points=1)
def no_gradients(draw):
    for training in (True, False):
        yield _case(draw, draw.sizes(1), ("gradients",), training)
