"""The exercise `generate`, and the mistakes it can name."""

import torch

from attention_lab.authoring import Exercise, add_mistakes, case, made_by

generate = Exercise(
    "generate",
    results=("tokens",),
    axes=(("batch", "tokens"),),
)

VOCABULARY = 40
STATES = 997  # a prime number, so that every earlier token keeps its say


class Cache:
    """The cache that a step returns beside its logits: it can be handed on, and nothing else."""

    def __init__(self, state, length):
        self._state, self._length = state, length

    def _refuse(self, *_):
        raise TypeError("the cache is the step's own: hand it on as it came, without reading it")

    __getitem__ = __iter__ = __len__ = __bool__ = __contains__ = _refuse


class Stepper:
    """Whole numbers for a model: the logits hang on all tokens so far, on their order and on nothing else."""

    def __init__(self, logits):
        self.logits, self.seen = logits, []

    def __call__(self, ids, cache=None):
        if not isinstance(ids, torch.Tensor) or ids.dtype != torch.int64 or ids.dim() != 2:
            kind = (
                f"{tuple(ids.shape)} of {ids.dtype}" if isinstance(ids, torch.Tensor) else type(ids).__name__
            )
            raise TypeError(f"a step takes ids (B, T) of torch.int64, not {kind}")
        if cache is not None and not isinstance(cache, Cache):
            raise TypeError(f"the cache that a step returned was asked for, not a {type(cache).__name__}")
        past = 0 if cache is None else cache._length
        self.seen.append((ids.shape[1], past, torch.is_grad_enabled()))
        state = torch.ones(len(ids), dtype=torch.int64) if cache is None else cache._state
        rows = []
        for tokens in ids.unbind(1):
            state = (31 * state + 7 * tokens + 5) % STATES
            rows.append(self.logits[state])
        return torch.stack(rows, dim=1), Cache(state, past + ids.shape[1])


def watching(answer):
    """Reports what `look` names: the tokens, how the step was called, and what became of gradients."""

    def watched(step, tokens, new_tokens, look, recording):
        torch.set_grad_enabled(recording)
        try:
            result = answer(step, tokens, new_tokens)
            afterwards = torch.is_grad_enabled()
        finally:
            torch.set_grad_enabled(True)
        modes = sorted({"on" if enabled else "off" for _, _, enabled in step.seen})
        report = {
            "result": result,
            "tokens handed to each step": [count for count, _, _ in step.seen],
            "tokens in the cache at each step": [past for _, past, _ in step.seen],
            "gradients while a step runs": modes,
            "gradients afterwards": "on" if afterwards else "off",
        }
        return {side: report[side] for side in look}

    return watched


STEPS = ("tokens handed to each step", "tokens in the cache at each step", "result")
GRADIENTS = ("gradients while a step runs", "gradients afterwards", "result")


def _case(draw, batch, length, new_tokens, look=("result",), recording=True, ties=False):
    """A prompt that holds other tokens in each text, and logits that hang on every one of them."""
    # With few different numbers, the largest is at several positions.
    logits = draw.integers(0, 3, STATES, VOCABULARY).float() if ties else draw.normal(STATES, VOCABULARY)
    tokens = draw.integers(0, VOCABULARY - 1, batch, length)
    step = made_by(Stepper, logits=logits)
    return case(step, tokens, new_tokens, list(look), recording, through=watching)


@generate.group("one text", points=1)
def one_text(draw):
    for length, new_tokens in (draw.sizes(2), draw.sizes(2)):
        yield _case(draw, 1, length, new_tokens)


@generate.group("a batch of texts", points=1)
def a_batch(draw):
    for batch, length, new_tokens in (draw.sizes(3), draw.sizes(3)):
        yield _case(draw, batch, length, new_tokens)


@generate.group("the largest logit, and the first of equal ones", points=1)
def ties(draw):
    batch, length, new_tokens = draw.sizes(3)
    yield _case(draw, batch, length, new_tokens, ties=True)
    yield _case(draw, 1, length, new_tokens, ties=True)


@generate.group("the prompt once, then token by token, and no step too many", points=2)
def steps(draw):
    batch, length, new_tokens = draw.sizes(3)
    yield _case(draw, batch, length, new_tokens, STEPS)
    yield _case(draw, 1, new_tokens, length, STEPS)


@generate.group("equal sizes, a prompt of one token, one new token, none", points=1)
def edges(draw):
    size, batch, length = draw.sizes(3)
    yield _case(draw, size, size, size, STEPS)
    yield _case(draw, batch, 1, length, STEPS)
    yield _case(draw, batch, length, 1, STEPS)
    yield _case(draw, batch, length, 0, STEPS)


@generate.group("gradients off while a step runs, and afterwards as before", points=1)
def gradients(draw):
    for recording in (True, False):
        batch, length, new_tokens = draw.sizes(3)
        yield _case(draw, batch, length, new_tokens, GRADIENTS, recording)


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


def _largest(logits):
    return logits[:, -1].argmax(dim=-1, keepdim=True)


def _prompt(step, tokens):
    return tokens, None


def _newest(prompt, tokens, ids, cache):
    return ids, cache


def _loop(step, tokens, new_tokens, choose=_largest, begin=_prompt, given=_newest):
    """Right; a mistake changes what is chosen, what is there at first, or what a step is given."""
    prompt = tokens
    with torch.no_grad():
        ids, cache = begin(step, tokens)
        for _ in range(new_tokens):
            logits, cache = step(*given(prompt, tokens, ids, cache))
            ids = choose(logits)
            tokens = torch.cat([tokens, ids], dim=1)
    return tokens


def the_first_cache_for_ever(step, tokens, new_tokens):
    ids, first_cache = tokens, None
    with torch.no_grad():
        for number in range(new_tokens):
            logits, cache = step(ids, first_cache)
            first_cache = cache if number == 0 else first_cache
            ids = _largest(logits)
            tokens = torch.cat([tokens, ids], dim=1)
    return tokens


def samples(step, tokens, new_tokens):
    generator = torch.Generator().manual_seed(0)

    def drawn(logits):
        return torch.multinomial(torch.softmax(logits[:, -1].float(), -1), 1, generator=generator)

    return _loop(step, tokens, new_tokens, drawn)


def one_step_too_many(step, tokens, new_tokens):
    pieces = [tokens]
    with torch.no_grad():
        logits, cache = step(tokens, None)
        for _ in range(new_tokens):
            pieces.append(_largest(logits))
            logits, cache = step(pieces[-1], cache)
    return torch.cat(pieces, dim=1)


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


def gradients_left_on(step, tokens, new_tokens):
    ids, cache = tokens, None
    for _ in range(new_tokens):
        logits, cache = step(ids, cache)
        ids = _largest(logits)
        tokens = torch.cat([tokens, ids], dim=1)
    return tokens


def gradients_off_for_good(step, tokens, new_tokens):
    torch.set_grad_enabled(False)
    return _loop(step, tokens, new_tokens)


add_mistakes(
    generate,
    _loop,
    everything_at_each_step=(
        "Every step gets the whole text again, and no cache: the tokens are right, but all the work is done "
        "again. Pass the cache that the last step returned, and after the prompt only the newest token.",
        {"given": lambda prompt, tokens, ids, cache: (tokens, None)},
    ),
    whole_text_and_the_cache=(
        "The whole text is passed at every step together with the cache, which holds it already: so each "
        "token is seen several times. After the prompt, pass the newest token alone.",
        {"given": lambda prompt, tokens, ids, cache: (tokens, cache)},
    ),
    the_prompt_at_every_step=(
        "At every step the prompt is passed again, although the cache holds it already. Pass it once, with "
        "the cache None; after that, only the token that was just chosen.",
        {"given": lambda prompt, tokens, ids, cache: (prompt, cache)},
    ),
    forgets_the_cache=(
        "The cache is thrown away: each new token is passed alone and with None, so the model sees nothing "
        "before it. Keep the second result of `step`, and pass it to the next step.",
        {"given": lambda prompt, tokens, ids, cache: (ids, None)},
    ),
    the_first_cache_for_ever=(
        "The cache of the prompt is passed to every later step: the tokens made since are not in it. Assign "
        "the cache again at each step.",
        the_first_cache_for_ever,
    ),
    samples=(
        "The next token is drawn at random from the softmax of the logits: that is sampling. Greedy "
        "generation takes the position of the largest logit.",
        samples,
    ),
    the_last_of_equals=(
        "Among equal maxima the last is taken, as sorting does. Take the first: `argmax` returns it.",
        {"choose": lambda logits: logits.shape[-1] - 1 - logits[:, -1].flip(-1).argmax(dim=-1, keepdim=True)},
    ),
    the_first_row=(
        "The logits of the first position are read: they say what follows the first token. What comes next "
        "is in the last row, `logits[:, -1]`.",
        {"choose": lambda logits: logits[:, 0].argmax(dim=-1, keepdim=True)},
    ),
    the_smallest=(
        "The smallest logit wins. The likeliest token has the largest one: take `argmax`.",
        {"choose": lambda logits: logits[:, -1].argmin(dim=-1, keepdim=True)},
    ),
    the_first_texts_token=(
        "All texts get the token of the first one. Each row of the batch has logits of its own: take the "
        "argmax over the vocabulary, the last axis, and keep the batch.",
        {"choose": lambda logits: _largest(logits[:1]).expand(len(logits), 1)},
    ),
    without_the_prompt=(
        "You return only the new tokens. The result begins with the prompt, (B, T + new_tokens).",
        lambda step, tokens, new_tokens: _loop(step, tokens, new_tokens)[:, tokens.shape[1] :],
    ),
    one_step_too_many=(
        "The tokens are right, but `step` runs once more than needed, and its last logits are never read. "
        "Each step makes one token: take `new_tokens` steps, and none for 0.",
        one_step_too_many,
    ),
    one_token_too_many=(
        "You return one token too many. The first step, with the prompt, already makes one: `new_tokens` "
        "counts it.",
        lambda step, tokens, new_tokens: _loop(step, tokens, new_tokens + 1),
    ),
    one_token_too_few=(
        "You return one token too few. The step with the prompt makes a token, and so does each later one: "
        "take `new_tokens` steps.",
        lambda step, tokens, new_tokens: _loop(step, tokens, max(new_tokens - 1, 0)),
    ),
    the_prompt_token_by_token=(
        "The prompt is fed one token at a time: as many steps as it is long, where one is enough. Pass the "
        "whole prompt at once; the causal layer computes all its positions at once.",
        the_prompt_token_by_token,
    ),
    none_makes_one=(
        "For no new tokens, one is made. `new_tokens=0` returns the prompt, and no step runs: test for it "
        "before the first step, or let the loop do all steps.",
        lambda step, tokens, new_tokens: _loop(step, tokens, max(new_tokens, 1)),
    ),
    gradients_left_on=(
        "The tokens are right, but gradients are recorded while `step` runs: autograd keeps all that every "
        "step made, and memory grows with each token. Run the loop under `torch.no_grad`.",
        gradients_left_on,
    ),
    gradients_off_for_good=(
        "Gradients stay off after the call: a model that is trained afterwards learns nothing. "
        "`torch.no_grad` as a context restores the earlier setting.",
        gradients_off_for_good,
    ),
    reads_the_cache=(
        "The cache is read: its truth value, its length or one of its entries. Only `step` knows what it is "
        "made of: pass it on as it came, and test at most whether it is None.",
        {"given": lambda prompt, tokens, ids, cache: (ids if cache else tokens, cache)},
    ),
    the_first_choice_for_ever=(
        "The first new token is repeated up to the end, although each step returns other logits. Choose "
        "again after each step, from the logits that it returned.",
        lambda step, tokens, new_tokens: _chosen_first(step, tokens, new_tokens, chooses_once=True),
    ),
)


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


add_mistakes(
    generate,
    _loop,
    the_last_prompt_token_again=(
        "The last token of the prompt is passed a second time after the prompt, which the cache holds "
        "already: it is seen twice. The logits of the prompt's own step say what comes next: take its last "
        "row.",
        {"begin": lambda step, tokens: (tokens[:, -1:], step(tokens, None)[1])},
    ),
    the_prompt_twice=(
        "The prompt is passed twice: once to fill the cache, and then a second time after it. The step that "
        "fills the cache returns logits as well: read the first new token from them.",
        {"begin": lambda step, tokens: (tokens, step(tokens, None)[1])},
    ),
)
