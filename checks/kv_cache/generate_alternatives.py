"""Other right ways to write `generate`."""

import torch

from .generate import generate


@generate.accepted_alternative(
    "The decorator turns gradients off for the whole function and restores them whatever happens; the "
    "loop is then all there is to read."
)
@torch.no_grad()
def with_a_decorator(step, tokens, new_tokens):
    ids, cache = tokens, None
    for _ in range(new_tokens):
        logits, cache = step(ids, cache)
        ids = logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, ids], dim=1)
    return tokens


@generate.accepted_alternative(
    "The new tokens are gathered in a list and put together once at the end: no long tensor is copied at "
    "each step."
)
def gathered_in_a_list(step, tokens, new_tokens):
    pieces, cache = [tokens], None
    with torch.inference_mode():
        while len(pieces) <= new_tokens:
            logits, cache = step(pieces[-1], cache)
            pieces.append(torch.max(logits[:, -1, :], dim=1).indices[:, None])
        return torch.cat(pieces, dim=1)


@generate.accepted_alternative
def into_a_tensor_made_before(step, tokens, new_tokens):
    length = tokens.shape[1]
    result = tokens.new_zeros(len(tokens), length + new_tokens)
    result[:, :length] = tokens
    cache, begin = None, 0
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        for place in range(length, length + new_tokens):
            logits, cache = step(result[:, begin:place], cache)
            result[:, place] = torch.argmax(logits[:, -1], -1)
            begin = place
    finally:
        torch.set_grad_enabled(before)
    return result


@generate.accepted_alternative
def prompt_first_then_a_loop(step, tokens, new_tokens):
    if new_tokens == 0:
        return tokens
    with torch.no_grad():
        logits, cache = step(tokens, None)
        following = logits[:, -1:].argmax(-1)
        pieces = [tokens, following]
        for _ in range(new_tokens - 1):
            logits, cache = step(following, cache)
            following = logits[:, -1:].argmax(-1)
            pieces.append(following)
    return torch.hstack(pieces)


@generate.accepted_alternative
def by_calling_itself(step, tokens, new_tokens):
    def further(ids, cache, left):
        if left == 0:
            return []
        with torch.set_grad_enabled(False):
            logits, cache = step(ids, cache)
        following = logits.select(1, -1).argmax(1).unsqueeze(1)
        return [following, *further(following, cache, left - 1)]

    return torch.cat([tokens, *further(tokens, None, new_tokens)], dim=-1)


@generate.accepted_alternative
def by_comparing_with_the_maximum(step, tokens, new_tokens):
    ids, cache, texts = tokens, None, tokens.tolist()
    for _ in range(new_tokens):
        with torch.no_grad():
            logits, cache = step(ids, cache)
        last = [row[-1] for row in logits.tolist()]
        chosen = [row.index(max(row)) for row in last]
        ids = torch.tensor(chosen).view(-1, 1)
        texts = [[*text, token] for text, token in zip(texts, chosen)]
    return torch.tensor(texts)
