"""An invented class. Its names hold what breaks paths, tables and web pages that were not made with care."""

from __future__ import annotations

import itertools
import random

# A comma, quotes, accents, brackets, a hyphen, an ampersand, no family name, letters of other scripts.
DIFFICULT = (
    "Zoë O'Brien, jr",
    'Nguyễn "Minh" Anh',
    "Łucja Żółć-Wiśniewska",
    "Siobhán Ní Dhálaigh",
    "José María d'Ávila y Muñoz",
    "Åse & Bjørn Sæther",
    "Suharto",
    "王小明",
    "Jürgen Groß (ERASMUS)",
    "Ἑλένη Παππά",
)
GIVEN = (
    "Amara",
    "Aroha",
    "Beatriz",
    "Chidi",
    "Daniela",
    "Emre",
    "Farida",
    "Giorgos",
    "Hana",
    "Ibrahim",
    "Ji-woo",
    "Kofi",
    "Leilani",
    "Mateo",
    "Nadia",
    "Priya",
    "Rania",
    "Søren",
    "Viktor",
    "Zsófia",
)
FAMILY = (
    "Abebe",
    "Cohen",
    "Dubois",
    "Fernández",
    "Haddad",
    "Ivanova",
    "Kowalczyk",
    "Lindqvist",
    "Mbeki",
    "Novák",
    "Okafor",
    "Quispe",
    "Rossi",
    "Tanaka",
    "Watanabe",
    "Yılmaz",
)


def invented_names(count: int, seed: int) -> list[str]:
    """`count` different names, the same ones for the same seed; every second is difficult while they last."""
    ordinary = [f"{given} {family}" for given, family in itertools.product(GIVEN, FAMILY)]
    if count > len(ordinary):
        turns = range(2, 2 + count // len(ordinary))
        ordinary += [f"{name} {number}" for number in turns for name in ordinary]
    random.Random(seed).shuffle(ordinary)
    between = itertools.chain.from_iterable(zip(DIFFICULT, ordinary, strict=False))
    return [*between, *ordinary[len(DIFFICULT) :]][:count]
