"""The page of similar works: each pair with its answers side by side, what counts marked."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from nbjudge.plain_text import plain_line, plain_lines
from nbjudge.report.page import page_environment, script_and_style
from nbjudge.similar.fingerprints import LONGEST_ANSWER
from nbjudge.similar.rarity import Class, Common, Comparison, Pair, Work
from nbjudge.similar.works import Works

MOST_SHOWN = 50  # pairs with their answers; the JSON has all
LEAST_SHOWN = 5  # bits of an exercise


def render(assignment: str, group: Class, found: Comparison, works: Works) -> str:
    """The whole page as text."""
    environment = page_environment("nbjudge.similar")
    own = (files("nbjudge.similar") / "templates" / "similar.css").read_text(encoding="utf-8")
    return environment.get_template("similar.html.j2").render(
        assignment=assignment,
        found=found,
        unread=works.unread,
        pairs=[_shown(group, pair) for pair in found.pairs[:MOST_SHOWN]],
        **script_and_style(own),
    )


def _shown(group: Class, pair: Pair) -> dict[str, Any]:
    exercises = [
        {
            "name": name,
            "common": common,
            "texts": [_marked(group, work, name, common) for work in (pair.first, pair.second)],
        }
        for name, common in pair.exercises.items()
        if common.bits >= LEAST_SHOWN
    ]
    names = [plain_line(work.name) for work in (pair.first, pair.second)]
    return {"names": names, "bits": pair.bits, "exercises": exercises}


def _marked(group: Class, work: Work, exercise: str, common: Common) -> Markup:
    """An answer as HTML, with marks around what counts."""

    def parts(text: str) -> Iterator[Markup | str]:
        end = 0
        for start, stop in group.rare_places(work, exercise, common):
            yield plain_lines(text[end:start])
            yield Markup("<mark>{}</mark>").format(plain_lines(text[start:stop]))
            end = stop
        yield plain_lines(text[end:])

    return Markup("").join(parts(work.answers[exercise][:LONGEST_ANSWER]))
