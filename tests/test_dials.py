"""The two dials: what they say is what rotation matrices give, and the score stays while both move."""

import cmath
import re
import time

import pytest
import torch

from attention_lab.sliders.dials import dials_figure, dials_slider

QUERY, KEY = torch.tensor([1.0, 0.5]), torch.tensor([0.5, 1.0])


@pytest.mark.parametrize("distance", [0, 3, 8])
def test_the_score_is_that_of_complex_numbers_and_the_same_at_every_place(distance):
    query, key = complex(*QUERY.tolist()), complex(*KEY.tolist())
    for place in (distance, distance + 1, 45):
        label = dials_figure(place, QUERY, KEY, distance=distance).get_label()
        turned = query * cmath.exp(1j * place), key * cmath.exp(1j * (place - distance))
        score = (turned[0] * turned[1].conjugate()).real
        assert f"Score: {score:.4f}." in label
        assert f"Score: {(query * key.conjugate() * cmath.exp(1j * distance)).real:.4f}." in label
        degrees = [float(number) for number in re.findall(r"(-?\d+)°", label)]
        assert (degrees[0] - degrees[1] - degrees[2]) % 360 in (0, 1, 359)


@pytest.mark.parametrize(("query", "key"), [(torch.ones(3), KEY), (QUERY, torch.ones(1, 2))])
def test_what_is_no_arrow_is_refused(query, key):
    with pytest.raises(ValueError, match=r"must be \(2,\)"):
        dials_slider(query, key, distance=3)


def test_a_key_before_the_text_is_refused():
    with pytest.raises(ValueError, match="3 positions before the query, not at -1"):
        dials_figure(2, QUERY, KEY, distance=3)


def test_the_slider_turns_picture_and_words_at_once():
    widget = dials_slider(QUERY, KEY, distance=3)
    slider, typed = widget.children[0].children
    before = bytes(widget.children[1].value), widget.children[2].value
    began = time.perf_counter()
    slider.value = 24
    assert time.perf_counter() - began < 1  # a tenth of it on a quiet machine
    after = bytes(widget.children[1].value), widget.children[2].value
    assert typed.value == 24 and before[0] != after[0] and before[1] != after[1]
    assert after[0].startswith(b"\x89PNG")
