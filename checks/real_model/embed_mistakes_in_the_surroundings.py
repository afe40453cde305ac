"""The mistakes that the grader can name in what `embed` leaves behind."""

import torch
import torch.nn as nn

from .embed import embed, encode, pool, run


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
