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
    "Amara Aroha Beatriz Chidi Daniela Emre Farida Giorgos Hana Ibrahim Ji-woo Kofi Leilani Mateo Nadia "
    "Oluwaseun Priya Quentin Rania Søren Tomás Ulla Viktor Wanjiru Ximena Yusuf Zsófia"
).split()
FAMILY = (
    "Abebe Bergström Cohen Dubois Eriksen Fernández García Haddad Ivanova Jankowski Kowalczyk Lindqvist "
    "Mbeki Novák Okafor Petrov Quispe Rossi Sato Tanaka Usman Varga Watanabe Yılmaz Zhang"
).split()


def invented_names(count: int, seed: int) -> list[str]:
    """`count` different names, the same ones for the same seed; the difficult ones are spread among the rest."""
    chance = random.Random(seed)
    ordinary = [f"{given} {family}" for given, family in itertools.product(GIVEN, FAMILY)]
    chance.shuffle(ordinary)
    if count > len(ordinary):
        ordinary += [f"{name} {number}" for number in range(2, 2 + count // len(ordinary)) for name in ordinary]
    names: list[str] = []
    for position, name in enumerate(ordinary[:count]):
        difficult = position // 2 if position % 2 == 0 else len(DIFFICULT)
        names.append(DIFFICULT[difficult] if difficult < len(DIFFICULT) else name)
    return names
