"""What a student is not to read: hidden tests are cut out, a mark scheme is set apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme
from traitlets.config import Config


@dataclass(frozen=True)
class Regions:
    """The words that begin and end a region, as the course's configuration has them."""

    hidden_tests: tuple[str, str]
    mark_scheme: tuple[str, str]

    @classmethod
    def of(cls, config: Config) -> Regions:
        """Those of nbgrader's own preprocessors, default or configured."""
        tests, scheme = ClearHiddenTests(config=config), ClearMarkScheme(config=config)
        return cls(
            (tests.begin_test_delimeter, tests.end_test_delimeter),
            (scheme.begin_mark_scheme_delimeter, scheme.end_mark_scheme_delimeter),
        )

    def without_hidden_tests(self, source: str) -> tuple[str, bool]:
        """The source of a test cell without its hidden tests, and whether it had any.

        A region that never ends goes to the end of the cell: rather too much is cut than too little.
        """
        visible, cut = re.subn(_region(*self.hidden_tests), "", source)
        return visible.rstrip() if cut else source, bool(cut)

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
