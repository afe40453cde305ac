"""The regions of a cell that nbgrader's delimiters mark: solutions, hidden tests and mark schemes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

Delimiters = tuple[str, str]  # the words that the first and the last line of a region hold


@dataclass(frozen=True)
class Regions:
    """The delimiters of each kind of region; by default nbgrader's own."""

    solution: Delimiters = ("BEGIN SOLUTION", "END SOLUTION")
    hidden_tests: Delimiters = ("BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
    mark_scheme: Delimiters = ("BEGIN MARK SCHEME", "END MARK SCHEME")

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """Read the delimiters that a configuration sets for nbgrader's preprocessors.

        nbgrader itself is not imported: the tutor of a learner does without it.
        """

        def chosen(section: str, kind: str, default: Delimiters) -> Delimiters:
            options = config.get(section, {})
            first, last = (
                str(options.get(f"{end}_{kind}_delimeter", words))  # as nbgrader spells it
                for end, words in zip(("begin", "end"), default, strict=True)
            )
            return first, last

        return cls(
            chosen("ClearSolutions", "solution", cls.solution),
            chosen("ClearHiddenTests", "test", cls.hidden_tests),
            chosen("ClearMarkScheme", "mark_scheme", cls.mark_scheme),
        )

    def without_solution_delimiters(self, source: str) -> str:
        """The source of an answer cell with the solution in it, without the lines around the solution."""
        lines = source.splitlines()
        return "\n".join(line for line in lines if not any(words in line for words in self.solution))

    def without_hidden_tests(self, source: str) -> tuple[str, bool]:
        """The source of a test cell without its hidden tests, and whether it had any.

        A region that never ends goes to the end of the cell: rather too much is cut than too little.
        """
        visible, cut = re.subn(_region(*self.hidden_tests), "", source)
        return visible.rstrip() if cut else source, bool(cut)

    def is_hidden_test(self, source: str, line: int) -> bool:
        """Return whether a line of a test cell, counted from 1, is within its hidden tests."""
        regions = re.finditer(_region(*self.hidden_tests), source)
        return any(
            source.count("\n", 0, found.start()) < line <= source.count("\n", 0, found.end() - 1) + 1
            for found in regions
        )

    def without_mark_scheme(self, source: str) -> tuple[str, str]:
        """The source of a question without its mark scheme, and the mark scheme."""
        found = re.search(_region(*self.mark_scheme), source)
        if found is None:
            return source, ""
        return (source[: found.start()] + source[found.end() :]).rstrip(), found["inside"].strip()


def _region(begin: str, end: str) -> str:
    """From the line that holds `begin` to the one that holds `end`."""
    first, last = (rf"^[^\n]*{re.escape(words)}[^\n]*(?:\n|\Z)" for words in (begin, end))
    return rf"(?ms){first}(?P<inside>.*?)(?:{last}|\Z)"
