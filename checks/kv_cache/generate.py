"""The exercise `generate`; mistakes and accepted alternatives are in files of their own."""

import torch

from attention_lab.authoring import Exercise, case, made_by

generate = Exercise(
    "generate",
    results=("tokens",),
    axes=(("batch", "tokens"),),
    mistakes_from=("generate_mistakes", "generate_mistakes_in_the_cache"),
)

VOCABULARY = 40
STATES = 997  # a prime number, so that every earlier token keeps its say


class Cache:
    """What a step returns beside its logits: it can be handed on, and nothing else."""

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
