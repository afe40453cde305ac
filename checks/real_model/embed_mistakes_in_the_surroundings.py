"""The mistakes that the grader can name in what `embed` leaves behind."""

import torch
import torch.nn as nn

from .embed import embed, encode, pool, run


@embed.mistake(
    "The result has requires_grad=True: autograd recorded all blocks. Switch gradients off while they run."
)
def records_gradients(texts, tokenizer, embeddings, blocks):
    ids, mask = encode(texts, tokenizer)
    x = embeddings(ids)
    for block in blocks:
        x = block(x, mask=mask.unsqueeze(1))
    return nn.functional.normalize(pool(x, mask), dim=-1)


@embed.mistake(
    "Gradients are off for good after the call. `torch.no_grad`, as a with block or as a decorator, puts "
    "them back as they were."
)
def gradients_off_for_good(texts, tokenizer, embeddings, blocks):
    torch.set_grad_enabled(False)
    return run(texts, tokenizer, embeddings, blocks)


@embed.mistake("Gradients are on after the call, also where they were off before. Leave the mode as it was.")
def gradients_on_afterwards(texts, tokenizer, embeddings, blocks):
    vectors = run(texts, tokenizer, embeddings, blocks)
    torch.set_grad_enabled(True)
    return vectors


@embed.mistake(
    "The modules are left in evaluation mode. These blocks answer the same in both modes, so leave their "
    "mode alone."
)
def left_in_evaluation_mode(texts, tokenizer, embeddings, blocks):
    blocks = list(blocks)
    for block in blocks:
        block.eval()
    return run(texts, tokenizer, embeddings, blocks)


@embed.mistake(
    "The tokenizer's settings are changed afterwards (its padding or its truncation). It is handed over "
    "ready to use; leave it as it is."
)
def changes_the_tokenizer(texts, tokenizer, embeddings, blocks):
    vectors = run(texts, tokenizer, embeddings, blocks)
    tokenizer.no_padding()
    return vectors


@embed.mistake("The list of texts is sorted in place. The caller's list is not yours to change.")
def sorts_the_texts(texts, tokenizer, embeddings, blocks):
    vectors = run(texts, tokenizer, embeddings, blocks)
    texts.sort(key=len)
    texts.append("")
    return vectors
