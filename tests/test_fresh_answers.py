"""Wrong answers that no check lists are named: by what was done, where it shows, or two mistakes at once."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from judged_answers import judged

from attention_lab.authoring import attention
from nbjudge.authoring import with_steps
from nbjudge.course import open_course

COURSE = open_course(Path(__file__).parents[1])
EXERCISES = {
    name: (lesson, exercise)
    for lesson in COURSE.assignments.values()
    for name, exercise in lesson.exercises.items()
}


def right_of(exercise, step):
    """What the exercise's wrong steps of this name change."""
    return next(each.right for each in EXERCISES[exercise][1].steps if step in each.change)


def pairs(formula, cut=lambda x: (x[..., 0::2], x[..., 1::2])):
    return lambda x, angles: torch.stack(formula(*cut(x), angles), -1).flatten(-2)


def keys_turned(factor):
    right = right_of("RotaryAttention", "angles")
    return {"angles": lambda self, x, first: factor(self, right.angles(self, x, first))}


def by_position(x, mask):
    shares = torch.arange(1, mask.shape[1] + 1) * mask
    return (x * shares[..., None].to(x.dtype)).sum(1)


# The exercise, other steps of a right answer or a whole answer, and what the first sentence says.
ANSWERS = [
    ("MultiHeadAttention", {"finish": lambda self, x: self.output(x).tanh()}, "output is tanh of what it"),
    (
        "MultiHeadAttention",
        {"join": lambda self, parts: torch.cat([parts[-1], *parts[1:-1], parts[0]], -1)},
        "what reaches `output` has right numbers at wrong positions of “heads”: position 0 holds",
    ),
    (
        "MultiHeadAttention",
        {"join": lambda self, parts: torch.cat(parts[::-1], -1) / len(parts) ** 0.5},
        "times what it should be, that is 1/√",
    ),
    ("EfficientMultiHeadAttention", {"scale": lambda self, size: size**0.25}, "by the fourth root of D"),
    ("EfficientMultiHeadAttention", {"scale": lambda self, size: 0.7 * size**0.5}, "1.429 times what they"),
    (
        "EfficientMultiHeadAttention",
        {
            "finish": lambda self, x: self.output(
                x.unflatten(-1, (self.num_heads, -1)).flip(-2).flatten(-2)
            ).tanh()
        },
        "Two things are wrong at once. output is as if the heads were merged in reverse order",
    ),
    ("RotaryAttention", keys_turned(lambda self, angles: angles / math.pi), "0.3183 times the angles"),
    ("RotaryAttention", keys_turned(lambda self, angles: angles.flip(-1)), "in pair"),
    ("RotaryAttention", {"scale": lambda self, size: (2 * size) ** 0.5}, "divided by √(2 D), and not by √D"),
    (
        "TransformerBlock",
        {"second": lambda self, x: x + self.linear2(F.silu(self.linear1(self.norm2(x))))},
        "the second half were pre-norm: x + part(norm(x)), and the activation were SiLU",
    ),
    ("TransformerBlock", {"second": lambda self, x: x}, "No gradient reaches `linear1.weight`"),
    (
        "TransformerBlock",
        {"feed_forward": lambda self, x: self.linear2(F.gelu(self.linear1(x))) / 10},
        "what `linear2` gives were multiplied by 0.1",
    ),
    ("embed", {"pooling": by_position}, "is a weighted sum of the tokens' vectors, and not their mean"),
    ("rotate", pairs(lambda a, b, t: (a - b * t, a * t + b)), "the first number of a pair is a − b θ, and"),
    (
        "rotate",
        pairs(lambda a, b, t: (a * t.cos() - b * t.sin(), a * (2 * t).sin() + b * t.cos())),
        "the second number of a pair is a sin θ′ + b cos θ, and a sin θ + b cos θ is right; θ′ is twice its",
    ),
    (
        "rotate",
        lambda x, t: EXERCISES["rotate"][0].reference_answer("rotate")(x.roll(-1, -1), t).roll(1, -1),
        "a pair of neighbours from the second number on",
    ),
    (
        "flash_backward",
        {"rows_of": lambda output, grad_output: (output * grad_output).amax(-1, keepdim=True)},
        "what is subtracted in each row of the weights' gradient is",
    ),
    (
        "flash_attention",
        {
            "length_of": lambda length, size: max(length // size * size, min(size, length)),
            "ends": lambda state: (state[0] / state[2][..., None], state[2].log()),
        },
        "Two mistakes together explain output. The last, shorter block of keys is left out",
    ),
    (
        "GroupedQueryAttention",
        {"split_values": lambda self, x, heads: x.reshape(len(x), heads, x.shape[1], -1)},
        "the values were cut into heads by a view alone",
    ),
    (
        "masked_attention",
        lambda query, key=None, value=None, mask=None: attention(
            query, key, value, mask, scale=lambda q, k, v: 2.0**0.5
        ),
        "weights come from scores that are",
    ),
]


@pytest.mark.parametrize(("exercise", "answer", "sentence"), ANSWERS)
def test_a_fresh_wrong_answer_is_named(exercise, answer, sentence):
    lesson, checked = EXERCISES[exercise]
    if isinstance(answer, dict):
        answer = checked.as_called(with_steps(right_of(exercise, next(iter(answer))), answer))
    first = judged(checked, lesson.reference_answer(exercise), answer, seed=5).findings[0]
    assert sentence in first.sentence
