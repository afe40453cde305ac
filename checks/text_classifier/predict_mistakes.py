"""The mistakes that the grader can name in `predict`."""

from contextlib import nullcontext

import pandas as pd
import torch

from attention_lab.corpus import CLASS_NAMES

from .predict import predict


def _softmax(logits):
    return logits.softmax(dim=-1)


def _logits(texts, model, tokenizer, *, mask=True, special=True, evaluating=True, after=None, quiet=True):
    """Right as it stands: most mistakes below change one thing about it or about `_table`."""
    encodings = tokenizer.encode_batch(texts, add_special_tokens=special)
    input_ids = torch.tensor([encoding.ids for encoding in encodings])
    if mask is True:
        mask = (input_ids != 0).unsqueeze(1)
    elif callable(mask):
        mask = mask(torch.tensor([encoding.attention_mask for encoding in encodings]))
    before = model.training
    model.train(before and not evaluating)
    with torch.no_grad() if quiet else nullcontext():
        logits = model(input_ids, mask=mask)
    model.train(before if after is None else after)
    return logits.detach()


def _table(logits, *, probable=_softmax, axis=-1, names=CLASS_NAMES, first=0, column="class_{}_prob"):
    shares = probable(logits)
    table = {column.format(index + first): shares[:, index].tolist() for index in range(shares.shape[1])}
    classes = logits.argmax(dim=axis).tolist()
    return pd.DataFrame(table | {"pred_class": classes, "pred_class_name": [names[i] for i in classes]})


@predict.mistake(
    "A text gets another answer beside longer ones than alone: the model reads the padding. The tokenizer "
    "says which places hold tokens; pass that to the model as its `mask`."
)
def attends_to_padding(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, mask=None))


@predict.mistake(
    "The model refuses the mask, for it has (B, T) numbers where (B, 1, T) is needed: the missing axis is "
    "that of the queries. Put it in between."
)
def mask_without_query_axis(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, mask=lambda kept: kept.bool()))


@predict.mistake(
    "The model refuses the mask, for it holds the numbers 0 and 1. Masks are boolean in this course, True on "
    "the tokens: convert it."
)
def mask_of_integers(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, mask=lambda kept: kept.unsqueeze(1)))


@predict.mistake(
    "The meaning of True is inverted in the mask that the model gets. True stands for a token, which may be "
    "attended to, and False for padding."
)
def mask_inverted(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, mask=lambda kept: (kept == 0).unsqueeze(1)))


@predict.mistake(
    "The columns of probabilities hold logits: some are negative, and a row does not sum to 1. Put them "
    "through a softmax over the classes."
)
def logits_as_probabilities(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), probable=lambda logits: logits)


@predict.mistake(
    "The softmax runs over the texts instead of the classes: a column sums to 1, a row does not, and a text "
    "alone gets 1 for every class. Normalise over the last dimension."
)
def softmax_over_the_texts(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), probable=lambda logits: logits.softmax(dim=0))


@predict.mistake(
    "Each class was taken by itself, with a sigmoid: a row does not sum to 1. A text has one class, so the "
    "classes share one softmax."
)
def sigmoid_of_each_class(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), probable=torch.sigmoid)


@predict.mistake(
    "The columns of probabilities hold their logarithms: all are negative. Take the softmax itself, not its "
    "logarithm."
)
def log_probabilities(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), probable=lambda logits: logits.log_softmax(dim=-1))


@predict.mistake(
    "The probabilities are right, but `pred_class` asks which *text* is likeliest for each class, so there "
    "are as many answers as classes. The classes are the last dimension."
)
def argmax_over_the_texts(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), axis=0)


@predict.mistake(
    "`pred_class` is right, but its name is another class's: the names were brought into another order, such "
    "as that of the alphabet. Class i is entry i of `class_names` as it stands."
)
def names_sorted(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), names=sorted(CLASS_NAMES))


@predict.mistake(
    "`pred_class` is right, but its name is that of the class before it: classes are counted from 0, as the "
    "entries of `class_names` are."
)
def names_off_by_one(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), names=[CLASS_NAMES[-1], *CLASS_NAMES[:-1]])


@predict.mistake(
    "The columns are numbered from 1. Classes are counted from 0 in the labels and in `pred_class`, so the "
    "first column is class_0_prob."
)
def columns_from_one(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), first=1)


@predict.mistake(
    "The columns of probabilities are missing, or have other names. There is one for each class, named "
    "class_0_prob, class_1_prob and so on."
)
def no_probabilities(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer), column="probability_{}")


@predict.mistake(
    "`pred_class` holds names. It is the class's number, 0 for the first; its name has a column of its own, "
    "`pred_class_name`."
)
def class_is_a_name(texts, model, tokenizer):
    table = _table(_logits(texts, model, tokenizer))
    return table.assign(pred_class=table["pred_class_name"])


@predict.mistake(
    "The cells of `pred_class` are tensors, each with one number inside. A table holds plain numbers: turn "
    "the tensor into a list before it becomes a column."
)
def class_is_a_tensor(texts, model, tokenizer):
    table = _table(_logits(texts, model, tokenizer))
    table["pred_class"] = pd.Series([torch.tensor(number) for number in table["pred_class"]], dtype=object)
    return table


@predict.mistake(
    "What comes back is no table but a list or a dict. Make a pandas DataFrame of it, with a row for each "
    "text."
)
def a_list_of_rows(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer)).to_dict("records")


@predict.mistake(
    "There is a single row, that of the first text, however many texts are given. Keep the batch dimension: "
    "one row of probabilities for each text."
)
def first_text_only(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer)[:1])


@predict.mistake(
    "The rows are in another order than the texts: they were sorted by length. Row i belongs to text i, so "
    "put the rows back into order."
)
def rows_sorted_by_length(texts, model, tokenizer):
    return _table(_logits(sorted(texts, key=len), model, tokenizer))


@predict.mistake(
    "The model gets the texts without their special tokens: the [CLS] in front, which it reads, is missing. "
    "Let the tokenizer add them, as it does unless it is told otherwise."
)
def without_special_tokens(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, special=False))


@predict.mistake(
    "The model is left in training mode while it predicts: with dropout in it, the same text gets another "
    "answer each time. Put it into eval mode first, and back afterwards."
)
def in_training_mode(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, evaluating=False))


@predict.mistake(
    "The model stays in eval mode after the call: if it came in training mode, training goes on without "
    "dropout. Note its mode before you change it, and put it back."
)
def stays_in_eval_mode(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, after=False))


@predict.mistake(
    "The model always leaves in training mode, even if it came in eval mode. Note which mode it was in "
    "before you change it, and put it back into that one."
)
def always_back_to_training(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, after=True))


@predict.mistake(
    "The table is right, but gradients are recorded while the model runs: that costs memory and time for "
    "nothing. To detach the result is too late; torch has a context that switches them off."
)
def gradients_recorded(texts, model, tokenizer):
    return _table(_logits(texts, model, tokenizer, quiet=False))


@predict.mistake(
    "Gradients are switched off and stay off after the call, so nothing can be trained any more. Use the "
    "context that switches them off for a block only."
)
def gradients_off_for_good(texts, model, tokenizer):
    torch.set_grad_enabled(False)
    return _table(_logits(texts, model, tokenizer, quiet=False))
