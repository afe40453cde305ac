"""Which works are closer than chance explains: the rarer what two have in common, the more it says.

What two works share is measured in bits: a part that one in 2**n of the class has is worth n bits. A
fingerprint's bits are those of its last token behind the others, so that a long copied line is not counted
once for each place in it. Independent works agree in habits, too, so that bits are no probabilities: a pair
is listed if it has far more of them than pairs of this class usually have.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from statistics import median

from rapidfuzz.distance import Indel

from nbjudge.similar.fingerprints import Fingerprint, Names, fingerprints, statements

COMMON = 0.2  # what a larger share of the works has counts for nothing
FULL_BITS = 40.0  # of one exercise; more count a quarter: two may have read one book, not six times
CHANCE_BITS = 12  # that a pair has at least, beyond one for each doubling of the number of pairs
SHORT = 20  # tokens: shorter answers have one natural form
USUAL = 0.1  # the share of pairs that have as many bits as any
UNLIKELY = 0.01  # pairs that chance lists in a class


@dataclass(frozen=True)
class Work:
    """What one student wrote: the texts by exercise, and the mistakes that the judge found in them."""

    name: str
    answers: Mapping[str, str]
    mistakes: Mapping[str, str] = field(default_factory=dict)  # by exercise
    in_class: bool = True  # and not of those that the class is compared with


@dataclass(frozen=True)
class Common:
    """What two works have in common in one exercise."""

    bits: float
    alike: float  # share of the tokens, whatever their rarity
    mistake: str = ""  # that few others made
    rare: frozenset[int] = frozenset()  # the values of the fingerprints that count


@dataclass(frozen=True)
class Pair:
    """Two works that are closer than chance explains."""

    first: Work
    second: Work
    bits: float
    exercises: Mapping[str, Common]  # the most bits first


@dataclass(frozen=True)
class Comparison:
    """The pairs, the closest first, and how they were found."""

    pairs: tuple[Pair, ...]
    works: int
    bits: float  # from which on a pair is listed
    short: tuple[str, ...]  # exercises that were left out


class Class:
    """The works of a class, compared with each other and with the works of others.

    Parameters
    ----------
    works
        All works.
    given
        What every student could see, and right answers that many find: code, and nothing of it counts.
    prose
        The exercises that are answered in words.
    """

    def __init__(self, works: Sequence[Work], given: Collection[str], prose: Collection[str] = ()) -> None:
        self.works, self._prose = works, prose
        self._tokens = cache(self._sorted_tokens)  # one work may be in many pairs
        names = Names.of_assignment(given)
        self._given = {
            each.value for text in given for kind in (names, None) for each in fingerprints(text, kind)
        }
        self._names = [names.of_work(work.answers.values()) for work in works]
        exercises = dict.fromkeys(exercise for work in works for exercise in work.answers)
        self._short = tuple(name for name in exercises if self._is_short(name))
        self._exercises = [name for name in exercises if name not in self._short]
        self._where = [
            {
                each.value: (name, each.context)
                for name in reversed(self._exercises)
                for each in self._own(index, name)
            }
            for index in range(len(works))
        ]
        self._limit = max(2.0, COMMON * len(works))
        self._count = Counter(value for where in self._where for value in where)
        self._contexts = Counter(
            context for where in self._where for context in {context for _, context in where.values()}
        )
        self._mistakes = Counter(mistake for work in works for mistake in work.mistakes.items())
        self._judged = Counter(name for work in works for name in work.answers)

    def compare(self) -> Comparison:
        """Find the pairs that are closer than chance explains."""
        holders = defaultdict[int, list[tuple[int, str]]](list)
        for index, where in enumerate(self._where):
            for value, (name, _) in where.items():
                if 1 < self._count[value] <= self._limit:
                    holders[value].append((index, name))
        # What is copied as a whole has the same holders, whose pairs are then gone through once.
        together = defaultdict[tuple[tuple[int, str], ...], float](float)
        for value, who in holders.items():
            _, context = self._where[who[0][0]][value]
            together[tuple(who)] += self._bits(value, context)
        shared = defaultdict[tuple[int, int], dict[str, float]](dict)
        for who_have, bits in together.items():
            for (first, name), (second, _) in combinations(who_have, 2):
                if self.works[first].in_class or self.works[second].in_class:
                    by_name = shared[first, second]
                    by_name[name] = by_name.get(name, 0.0) + bits
        totals = [
            sum(self._bits(value, context) for value, (_, context) in where.items()) for where in self._where
        ]
        scores = {pair: self._score(pair, bits, totals) for pair, bits in shared.items()}
        own = sum(work.in_class for work in self.works)
        pairs = max(1, own * (own - 1) // 2 + own * (len(self.works) - own))
        least = _least(sorted(scores.values(), reverse=True), pairs)
        listed = sorted(
            (pair for pair in scores if scores[pair] >= least), key=lambda pair: (-scores[pair], pair)
        )
        found = tuple(self._pair(pair, shared[pair], scores[pair]) for pair in listed)
        return Comparison(found, len(self.works), least, self._short)

    def rare_places(self, work: Work, exercise: str, common: Common) -> list[tuple[int, int]]:
        """The places in an answer, from start to end, that hold what counts of what is in common."""
        places = list[tuple[int, int]]()
        for each in self._prints(self.works.index(work), exercise):
            if each.value in common.rare:
                if places and each.start <= places[-1][1]:
                    places[-1] = places[-1][0], max(each.end, places[-1][1])
                else:
                    places.append((each.start, each.end))
        return places

    def _names_for(self, index: int, exercise: str) -> Names | None:
        return None if exercise in self._prose else self._names[index]

    def _prints(self, index: int, exercise: str) -> list[Fingerprint]:
        text = self.works[index].answers.get(exercise, "")
        return list(fingerprints(text, self._names_for(index, exercise)))

    def _own(self, index: int, exercise: str) -> list[Fingerprint]:
        return [each for each in self._prints(index, exercise) if each.value not in self._given]

    def _is_short(self, exercise: str) -> bool:
        """Return whether most answers have so few tokens that they have one natural form."""
        indices = [index for index, work in enumerate(self.works) if exercise in work.answers]
        lengths = [sum(1 for _ in self._prints(index, exercise)) for index in indices]
        return median(lengths) < SHORT

    def _bits(self, value: int, context: int) -> float:
        """The surprise of a fingerprint that two works have, or one alone, by what the others wrote."""
        if self._count[value] > self._limit:
            return 0.0
        others = max(0, self._count[value] - 2)
        return max(0.0, _surprise(others, self._contexts[context] - 2))

    def _score(self, pair: tuple[int, int], shared: dict[str, float], totals: Sequence[float]) -> float:
        """The bits of a pair, fewer if both have much that the other has not.

        Those of a rare mistake are added to `shared`.
        """
        overlap = sum(shared.values()) / max(1.0, min(totals[index] for index in pair))
        score = 0.0
        for name, bits in shared.items():
            if mistake := self._rare_mistake(self.works[pair[0]], self.works[pair[1]], name):
                others = self._mistakes[name, mistake] - 2
                shared[name] = bits = 2 * bits + _surprise(others, self._judged[name] - 2)
            score += min(bits, FULL_BITS) + max(0.0, bits - FULL_BITS) / 4
        return score * min(1.0, overlap) ** 2

    def _rare_mistake(self, first: Work, second: Work, exercise: str) -> str:
        mistake = first.mistakes.get(exercise, "")
        is_shared = mistake == second.mistakes.get(exercise)
        return mistake if is_shared and self._mistakes[exercise, mistake] <= self._limit else ""

    def _pair(self, pair: tuple[int, int], shared: Mapping[str, float], score: float) -> Pair:
        first, second = (self.works[index] for index in pair)
        one, other = (self._where[index] for index in pair)
        rare = frozenset(value for value in one.keys() & other.keys() if self._bits(value, one[value][1]) > 0)
        exercises = {}
        for name, bits in sorted(shared.items(), key=lambda item: -item[1]):
            if name in second.answers:
                alike = Indel.normalized_similarity(*(self._tokens(index, name) for index in pair))
                exercises[name] = Common(bits, alike, self._rare_mistake(first, second, name), rare)
        return Pair(first, second, score, exercises)

    def _sorted_tokens(self, index: int, exercise: str) -> list[str]:
        """The tokens of an answer, its statements in an order of their own."""
        text, names = self.works[index].answers[exercise], self._names_for(index, exercise)
        return [
            token
            for line in sorted([t.text for t in each] for each in statements(text, names))
            for token in line
        ]


def _surprise(others: int, of: int) -> float:
    """The bits of something that `others` of so many have: half a work more, so that none is impossible."""
    return math.log2((max(0, of) + 1) / (max(0, others) + 0.5))


def _least(scores: Sequence[float], pairs: int) -> float:
    """The bits from which on a pair is listed, of scores from high to low; pairs without a score have 0.

    Scores of independent pairs fall off exponentially, or faster: the score that a tenth of all pairs reach
    says where a hundredth of a pair is expected.
    """
    usual = scores[int(USUAL * pairs)] if int(USUAL * pairs) < len(scores) else 0.0
    by_class = usual * math.log(pairs / UNLIKELY) / math.log(1 / USUAL)
    return max(CHANCE_BITS + math.log2(pairs), by_class)
