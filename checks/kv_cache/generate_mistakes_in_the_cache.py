"""The mistakes that the grader can name in `generate`: what is passed twice, and a cache that is read."""

import torch

from .generate import generate


@generate.mistake(
    "The cache is read: its truth value, its length or one of its entries. Only `step` knows what it is "
    "made of: pass it on as it came, and test at most whether it is None."
)
def reads_the_cache(step, tokens, new_tokens):
    ids, cache = tokens, None
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = step(ids if cache else tokens, cache)
            ids = logits[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, ids], dim=1)
    return tokens


@generate.mistake(
    "The first new token is repeated up to the end, although each step returns other logits. Choose again "
    "after each step, from the logits that it returned."
)
def the_first_choice_for_ever(step, tokens, new_tokens):
    return _chosen_first(step, tokens, new_tokens, chooses_once=True)


@generate.mistake(
    "The first new token is there twice, and all others come one place late: it is appended before the loop "
    "and a second time in its first round. Append each token once, when it is chosen."
)
def the_first_choice_twice(step, tokens, new_tokens):
    tokens, last = _chosen_first(step, tokens, new_tokens), tokens.shape[1]
    twice = torch.cat([tokens[:, : last + 1], tokens[:, last:]], dim=1)
    return twice[:, : last + new_tokens]


def _chosen_first(step, tokens, new_tokens, chooses_once=False):
    """Right, unless `chooses_once` keeps the first choice."""
    if new_tokens == 0:
        return tokens
    with torch.no_grad():
        logits, cache = step(tokens, None)
        ids = logits[:, -1].argmax(dim=-1, keepdim=True)
        pieces = [tokens, ids]
        for _ in range(new_tokens - 1):
            logits, cache = step(ids, cache)
            ids = ids if chooses_once else logits[:, -1].argmax(dim=-1, keepdim=True)
            pieces.append(ids)
    return torch.cat(pieces, dim=1)


@generate.mistake(
    "The last token of the prompt is passed a second time after the prompt, which the cache holds "
    "already: it is seen twice. The logits of the prompt's own step say what comes next: take its last "
    "row."
)
def the_last_prompt_token_again(step, tokens, new_tokens):
    with torch.no_grad():
        _, cache = step(tokens, None)
        ids = tokens[:, -1:]
        for _ in range(new_tokens):
            logits, cache = step(ids, cache)
            ids = logits[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, ids], dim=1)
    return tokens


@generate.mistake(
    "The prompt is passed twice: once to fill the cache, and then a second time after it. The step that "
    "fills the cache returns logits as well: read the first new token from them."
)
def the_prompt_twice(step, tokens, new_tokens):
    ids = tokens
    with torch.no_grad():
        _, cache = step(tokens, None)
        for _ in range(new_tokens):
            logits, cache = step(ids, cache)
            ids = logits[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, ids], dim=1)
    return tokens
