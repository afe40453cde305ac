"""What two works have in common: what counts for nothing, what counts most, and whole classes."""

import ast
import random
from collections import Counter
from dataclasses import replace

import pytest
from made_authors import disguised, made_class, with_copies

from nbjudge.similar import rarity
from nbjudge.similar.fingerprints import LONGEST_ANSWER, Names, fingerprints, statements
from nbjudge.similar.rarity import Class, Work

# Two right answers to each of six exercises.
RIGHT = {
    "normalise": [
        "def normalise(x, eps=1e-5):\n    mean = x.mean(dim=-1, keepdim=True)\n"
        "    spread = ((x - mean) ** 2).mean(dim=-1, keepdim=True)\n"
        "    return (x - mean) / (spread + eps) ** 0.5",
        "def normalise(x, eps=1e-5):\n    centred = x - x.sum(dim=-1, keepdim=True) / x.shape[-1]\n"
        "    return centred / (centred.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt()",
    ],
    "attend": [
        "def attend(q, k, v):\n    scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5\n"
        "    weights = scores.softmax(dim=-1)\n    return weights @ v, weights",
        "def attend(q, k, v):\n    scores = torch.einsum('qd,kd->qk', q, k) * k.shape[-1] ** -0.5\n"
        "    weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)\n"
        "    return weights @ v, weights",
    ],
    "distances": [
        "def distances(a, b):\n    squares = (a * a).sum(dim=-1)[..., None] + (b * b).sum(dim=-1)\n"
        "    return (squares - 2 * a @ b.T).clamp(min=0) ** 0.5",
        "def distances(a, b):\n    return torch.stack([((row - b) ** 2).sum(dim=-1) ** 0.5 for row in a])",
    ],
    "smooth": [
        "def smooth(x, width):\n    total = torch.cat([torch.zeros(1), x.cumsum(dim=0)])\n"
        "    return (total[width:] - total[:-width]) / width",
        "def smooth(x, width):\n    return x.unfold(0, width, 1).sum(dim=-1) / width",
    ],
    "masked": [
        "def masked(scores, mask):\n    hidden = scores.masked_fill(~mask, float('-inf'))\n"
        "    return hidden.softmax(dim=-1).masked_fill(~mask, 0.0)",
        "def masked(scores, mask):\n    weights = torch.where(mask, scores.exp(), 0.0)\n"
        "    return weights / weights.sum(dim=-1, keepdim=True)",
    ],
    "Layer": [
        "class Layer(nn.Module):\n    def __init__(self, width, hidden):\n        super().__init__()\n"
        "        self.first = nn.Linear(width, hidden)\n        self.second = nn.Linear(hidden, width)\n\n"
        "    def forward(self, x):\n        hidden = torch.relu(self.first(x))\n"
        "        return x + self.second(hidden) * 0.5\n",
        "class Layer(nn.Module):\n    def __init__(self, width, hidden):\n        super().__init__()\n"
        "        self.w = nn.Parameter(torch.randn(width, hidden) / width ** 0.5)\n"
        "        self.u = nn.Parameter(torch.randn(hidden, width) / hidden ** 0.5)\n\n"
        "    def forward(self, x):\n        return x + (x @ self.w).clamp(min=0) @ self.u * 0.5\n",
    ],
}
GIVEN = [
    "import math\nimport torch\nfrom torch import nn",
    *(answer for ways in RIGHT.values() for answer in ways),
]
UNUSUAL = (
    "def odd(x):\n    rows = x.flip(0).cumsum(1)\n    return rows[1:].logsumexp(0) - rows[:-1].std(1) * 0.37"
)


def is_copy(pair):
    return pair.first.name.partition("'")[0] == pair.second.name.partition("'")[0]


@pytest.mark.parametrize("seed", range(5))
def test_copies_come_first(seed):
    """Of ten disguised copies among 100 independent works nine are among the first ten pairs."""
    works = with_copies(made_class(RIGHT, 100, seed, wrong={}), 10, seed)
    pairs = Class(works, GIVEN).compare().pairs
    assert sum(map(is_copy, pairs[:10])) >= 9


@pytest.mark.parametrize("seed", range(5))
def test_independent_right_works_are_not_listed(seed):
    """46 works are 1,035 pairs."""
    assert Class(made_class(RIGHT, 46, seed), GIVEN).compare().pairs == ()


@pytest.mark.parametrize("seed", range(20))
def test_a_disguise_changes_no_fingerprint(seed):
    chance = random.Random(seed)
    for ways in RIGHT.values():
        answer = ast.unparse(ast.parse(f"{ways[0]}\n\n{ways[1].replace('Layer', 'Other')}"))
        hidden = disguised(answer, chance)
        before, after = (
            {each.value for each in fingerprints(text, Names.of_assignment(GIVEN).of_work([text]))}
            for text in (answer, hidden)
        )
        assert before <= after and answer != hidden


def class_with(*answers, mistakes=(), size=30):
    """A class of which the first works have these answers to `e`, and the others their own."""
    works = made_class({"e": ["def f(x):\n    return x.sum(dim=-1) / x.shape[-1] ** 0.5"]}, size, 3)
    for at, answer in enumerate(answers):
        works[at] = Work(f"first {at}", {"e": answer}, dict(mistakes[at : at + 1]))
    return works


def bits_of(works, given=(), prose=()):
    pairs = Class(works, given, prose).compare().pairs
    return {(pair.first.name, pair.second.name): pair.bits for pair in pairs}


def test_what_was_given_or_is_frequent_counts_for_nothing():
    twice = class_with(UNUSUAL, UNUSUAL)
    assert list(bits_of(twice)) == [("first 0", "first 1")]
    assert bits_of(twice, [UNUSUAL]) == {}
    assert bits_of(class_with(*[UNUSUAL] * 10)) == {}


def test_a_rare_mistake_in_common_counts_most():
    works = class_with(UNUSUAL, UNUSUAL, mistakes=[("e", "no shift")] * 2)
    (plain,) = bits_of(class_with(UNUSUAL, UNUSUAL)).values()
    (rare,) = bits_of(works).values()
    frequent = [replace(work, mistakes={"e": "no shift"}) for work in works]
    assert rare > plain + 2 and list(bits_of(frequent).values()) == [plain]
    (pair,) = Class(works, []).compare().pairs
    assert pair.exercises["e"].mistake == "no shift" and pair.exercises["e"].alike == 1


def test_written_answers_are_compared():
    own = "Because the sum of {} many rows grows with word{}, each weight{} shrinks."
    own += " In layer {} the root of the size is what a vector{} is divided by before the softmax."
    copied = (
        "Its variance doubles whenever two random vectors of equal length meet. Large logits win, and every "
        "other gradient dies early. Dividing by a root brings back the scale that training began with."
    )
    texts = [copied, copied.upper(), *(own.format(*[at] * 5) for at in range(30))]
    works = [Work(str(at), {"why": text}) for at, text in enumerate(texts)]
    assert list(bits_of(works, prose=["why"])) == [("0", "1")]


def test_works_of_others_are_compared_with_the_class():
    works = class_with(UNUSUAL, UNUSUAL)
    works[0] = replace(works[0], in_class=False)
    assert list(bits_of(works)) == [("first 0", "first 1")]
    works[1] = replace(works[1], in_class=False)
    assert bits_of(works) == {}


def test_a_work_in_many_pairs_is_read_as_often_as_one_in_few(monkeypatch):
    """Three who hand in one text make three pairs; sixty make 1,770, and a class must not wait for them."""
    read, text = Counter(), 2 * UNUSUAL

    def counted(answer, names):
        read[answer] += 1
        return statements(answer, names)

    monkeypatch.setattr(rarity, "statements", counted)
    pairs = Class(class_with(*[text] * 3), []).compare().pairs
    assert len(pairs) == 3 and read == {text: 3}


def test_short_exercises_are_named():
    works = [Work(str(at), {"short": "def f(x):\n    return x.T", "e": UNUSUAL * at}) for at in range(9)]
    assert Class(works, []).compare().short == ("short",)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part",
    [
        "(",
        '"""',
        "'",
        'f"{',
        "\\\n",
        "\n",
        " \t",
        "x",
        "x.",
        "#",
        "import ",
        "self.a:",
        "class ",
        "9.",
        "é̂",
        "==",
    ],
)
def test_no_text_takes_long(part):
    """Nor does one that is no Python: what is behind the limit is not looked at."""
    text = part * (1_000_000 // len(part))
    names = Names.of_assignment([]).of_work([text])
    for kind in (names, None):
        found = list(fingerprints(text, kind))
        assert all(each.end <= LONGEST_ANSWER for each in found)
