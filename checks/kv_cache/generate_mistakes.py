"""The mistakes that the grader can name in `generate`."""

import torch

from .generate import generate


def _largest(logits):
    return logits[:, -1].argmax(dim=-1, keepdim=True)


def _loop(step, tokens, new_tokens, choose=_largest):
    """Right but for what `choose` takes."""
    ids, cache = tokens, None
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = step(ids, cache)
            ids = choose(logits)
            tokens = torch.cat([tokens, ids], dim=1)
    return tokens


@generate.mistake(
    "Every step gets the whole text again, and no cache: the tokens are right, but all the work is done "
    "again. Pass the cache that the last step returned, and after the prompt only the newest token."
)
def everything_at_each_step(step, tokens, new_tokens):
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, _ = step(tokens, None)
            tokens = torch.cat([tokens, _largest(logits)], dim=1)
    return tokens


@generate.mistake(
    "The whole text is passed at every step together with the cache, which holds it already: so each "
    "token is seen several times. After the prompt, pass the newest token alone."
)
def whole_text_and_the_cache(step, tokens, new_tokens):
    cache = None
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = step(tokens, cache)
            tokens = torch.cat([tokens, _largest(logits)], dim=1)
    return tokens


@generate.mistake(
    "At every step the prompt is passed again, although the cache holds it already. Pass it once, with "
    "the cache None; after that, only the token that was just chosen."
)
def the_prompt_at_every_step(step, tokens, new_tokens):
    prompt, cache = tokens, None
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, cache = step(prompt, cache)
            tokens = torch.cat([tokens, _largest(logits)], dim=1)
    return tokens


@generate.mistake(
    "The cache is thrown away: each new token is passed alone and with None, so the model sees nothing "
    "before it. Keep the second result of `step`, and pass it to the next step."
)
def forgets_the_cache(step, tokens, new_tokens):
    ids = tokens
    with torch.no_grad():
        for _ in range(new_tokens):
            logits, _ = step(ids, None)
            ids = _largest(logits)
            tokens = torch.cat([tokens, ids], dim=1)
    return tokens


@generate.mistake(
    "The cache of the prompt is passed to every later step: the tokens made since are not in it. Assign "
    "the cache again at each step."
)
def the_first_cache_for_ever(step, tokens, new_tokens):
    ids, first_cache = tokens, None
    with torch.no_grad():
        for number in range(new_tokens):
            logits, cache = step(ids, first_cache)
            first_cache = cache if number == 0 else first_cache
            ids = _largest(logits)
            tokens = torch.cat([tokens, ids], dim=1)
    return tokens


@generate.mistake(
    "The next token is drawn at random from the softmax of the logits: that is sampling. Greedy "
    "generation takes the position of the largest logit."
)
def samples(step, tokens, new_tokens):
    generator = torch.Generator().manual_seed(0)

    def drawn(logits):
        return torch.multinomial(torch.softmax(logits[:, -1].float(), -1), 1, generator=generator)

    return _loop(step, tokens, new_tokens, drawn)


@generate.mistake(
    "Among equal maxima the last is taken, as sorting does. Take the first: `argmax` returns it."
)
def the_last_of_equals(step, tokens, new_tokens):
    def last(logits):
        row = logits[:, -1]
        return row.shape[-1] - 1 - row.flip(-1).argmax(dim=-1, keepdim=True)

    return _loop(step, tokens, new_tokens, last)


@generate.mistake(
    "The logits of the first position are read: they say what follows the first token. What comes next is"
    " in the last row, `logits[:, -1]`."
)
def the_first_row(step, tokens, new_tokens):
    return _loop(step, tokens, new_tokens, lambda logits: logits[:, 0].argmax(dim=-1, keepdim=True))


@generate.mistake("The smallest logit wins. The likeliest token has the largest one: take `argmax`.")
def the_smallest(step, tokens, new_tokens):
    return _loop(step, tokens, new_tokens, lambda logits: logits[:, -1].argmin(dim=-1, keepdim=True))


@generate.mistake(
    "All texts get the token of the first one. Each row of the batch has logits of its own: take the "
    "argmax over the vocabulary, the last axis, and keep the batch."
)
def the_first_texts_token(step, tokens, new_tokens):
    def first(logits):
        return logits[:1, -1].argmax(dim=-1, keepdim=True).expand(len(logits), 1)

    return _loop(step, tokens, new_tokens, first)


@generate.mistake("You return only the new tokens. The result begins with the prompt, (B, T + new_tokens).")
def without_the_prompt(step, tokens, new_tokens):
    return _loop(step, tokens, new_tokens)[:, tokens.shape[1] :]


@generate.mistake(
    "The tokens are right, but `step` runs once more than needed, and its last logits are never read. "
    "Each step makes one token: take `new_tokens` steps, and none for 0."
)
def one_step_too_many(step, tokens, new_tokens):
    pieces = [tokens]
    with torch.no_grad():
        logits, cache = step(tokens, None)
        for _ in range(new_tokens):
            pieces.append(_largest(logits))
            logits, cache = step(pieces[-1], cache)
    return torch.cat(pieces, dim=1)


@generate.mistake(
    "You return one token too many. The first step, with the prompt, already makes one: `new_tokens` "
    "counts it."
)
def one_token_too_many(step, tokens, new_tokens):
    return _loop(step, tokens, new_tokens + 1)


@generate.mistake(
    "You return one token too few. The step with the prompt makes a token, and so does each later one: "
    "take `new_tokens` steps."
)
def one_token_too_few(step, tokens, new_tokens):
    return _loop(step, tokens, max(new_tokens - 1, 0))


@generate.mistake(
    "The prompt is fed one token at a time: as many steps as it is long, where one is enough. Pass the "
    "whole prompt at once; the causal layer computes all its positions at once."
)
def the_prompt_token_by_token(step, tokens, new_tokens):
    cache, pieces = None, [tokens]
    if new_tokens == 0:
        return tokens
    with torch.no_grad():
        for ids in tokens.split(1, dim=1):
            logits, cache = step(ids, cache)
        for number in range(new_tokens):
            pieces.append(_largest(logits))
            if number < new_tokens - 1:
                logits, cache = step(pieces[-1], cache)
    return torch.cat(pieces, dim=1)


@generate.mistake(
    "For no new tokens, one is made. `new_tokens=0` returns the prompt, and no step runs: test for it "
    "before the first step, or let the loop do all steps."
)
def none_makes_one(step, tokens, new_tokens):
    return _loop(step, tokens, max(new_tokens, 1))


@generate.mistake(
    "The tokens are right, but gradients are recorded while `step` runs: autograd keeps all that every "
    "step made, and memory grows with each token. Run the loop under `torch.no_grad`."
)
def gradients_left_on(step, tokens, new_tokens):
    ids, cache = tokens, None
    for _ in range(new_tokens):
        logits, cache = step(ids, cache)
        ids = _largest(logits)
        tokens = torch.cat([tokens, ids], dim=1)
    return tokens


@generate.mistake(
    "Gradients stay off after the call: a model that is trained afterwards learns nothing. "
    "`torch.no_grad` as a context restores the earlier setting."
)
def gradients_off_for_good(step, tokens, new_tokens):
    torch.set_grad_enabled(False)
    return _loop(step, tokens, new_tokens)


@generate.mistake(
    "Gradients are on afterwards, even if they were off before. Restore the earlier mode: `torch.no_grad`"
    " as a context does."
)
def gradients_on_afterwards(step, tokens, new_tokens):
    result = _loop(step, tokens, new_tokens)
    torch.set_grad_enabled(True)
    return result
