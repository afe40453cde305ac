"""Other right ways to write `predict`."""

import pandas as pd
import torch
import torch.nn.functional as F

from attention_lab.corpus import CLASS_NAMES

from .predict import predict

class_names = list(CLASS_NAMES)


@predict.also_right(
    "One text at a time: no padding, no mask, and no company that could change an answer. Slow, and the "
    "safest way to check a batched one against."
)
def text_by_text(texts, model, tokenizer):
    before = model.training
    model.eval()
    rows = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.no_grad():
            probabilities = F.softmax(model(ids)[0], dim=0).tolist()
        row = {f"class_{number}_prob": share for number, share in enumerate(probabilities)}
        row["pred_class"] = probabilities.index(max(probabilities))
        row["pred_class_name"] = class_names[row["pred_class"]]
        rows.append(row)
    model.train(before)
    return pd.DataFrame(rows)


@predict.also_right(
    "The table is made of one array, with map for the names: what you would write in a project that lives "
    "in pandas."
)
def with_numpy(texts, model, tokenizer):
    encodings = tokenizer.encode_batch(list(texts))
    ids = torch.stack([torch.tensor(encoding.ids) for encoding in encodings])
    before = model.training
    try:
        with torch.inference_mode():
            logits = model.eval()(ids, ids.ne(0)[:, None, :])
    finally:
        model.train(before)
    shares = logits.softmax(-1).numpy()
    table = pd.DataFrame(shares, columns=[f"class_{number}_prob" for number in range(shares.shape[1])])
    table["pred_class"] = shares.argmax(axis=1)
    table["pred_class_name"] = table["pred_class"].map(dict(enumerate(class_names)))
    return table


@predict.also_right
@torch.no_grad()
def in_small_batches(texts, model, tokenizer):
    before = model.training
    model.eval()
    logits = []
    for start in range(0, len(texts), 4):
        encodings = tokenizer.encode_batch(texts[start : start + 4])
        mask = torch.tensor([[encoding.attention_mask] for encoding in encodings], dtype=torch.bool)
        logits.append(model(input_ids=torch.tensor([encoding.ids for encoding in encodings]), mask=mask))
    if before:
        model.train()
    shares = torch.exp(torch.log_softmax(torch.cat(logits), dim=1))
    best = shares.max(dim=1).indices.numpy()
    names = pd.Series(class_names)[best].to_list()
    columns = {f"class_{number}_prob": column.numpy() for number, column in enumerate(shares.unbind(dim=1))}
    return pd.DataFrame({**columns, "pred_class": best, "pred_class_name": names})
