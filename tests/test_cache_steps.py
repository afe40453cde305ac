"""The stepper through generation: its numbers are those of a loop that counts."""

import time

import pytest

from attention_lab.sliders import cache_steps

TOKENS = ["the", "cat", "sat", "on", "the", "mat"]


@pytest.mark.parametrize("prompt", [1, 3, 5])
def test_the_keys_made_are_those_of_a_loop_that_counts(prompt):
    keys_computed = {True: 0, False: 0}
    cache: set[int] = set()
    for step in range(1, len(TOKENS) - prompt + 1):
        seen = set(range(prompt + step - 1))
        keys_computed[True] += len(seen - cache)
        keys_computed[False] += len(seen)
        from_cache, new = cache_steps.keys_of(step, prompt, cached=True)
        assert (from_cache, new) == (len(seen & cache), len(seen - cache))
        cache = seen
        label = cache_steps.cache_step_figure(step, TOKENS, prompt=prompt).get_label()
        assert f"makes '{TOKENS[prompt + step - 1]}'" in label
        assert f"{keys_computed[True]} with a cache, {keys_computed[False]} without" in label


def test_the_blocks_say_which_key_is_kept_and_which_is_made():
    figure = cache_steps.cache_step_figure(2, TOKENS, prompt=3)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts.count("kept") == 3 and texts.count("new") == 1 + 4


@pytest.mark.parametrize("prompt", [0, 6])
def test_a_prompt_that_leaves_nothing_to_generate_is_refused(prompt):
    with pytest.raises(ValueError, match="not "):
        cache_steps.cache_stepper(TOKENS, prompt=prompt)


def test_buttons_and_slider_move_picture_and_words_at_once():
    widget = cache_steps.cache_stepper(TOKENS, prompt=3)
    slider, back, forward = widget.children[0].children
    before = bytes(widget.children[1].value), widget.children[2].value
    assert back.disabled and not forward.disabled
    began = time.perf_counter()
    forward.click()
    assert time.perf_counter() - began < 1  # a tenth of it on a quiet machine
    after = bytes(widget.children[1].value), widget.children[2].value
    assert slider.value == 2 and before[0] != after[0] and before[1] != after[1]
    slider.value = slider.max
    assert forward.disabled and after[0].startswith(b"\x89PNG")
