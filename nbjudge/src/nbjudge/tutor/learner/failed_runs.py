"""Which cells stopped with an error in their last run, by the names that they define."""

from __future__ import annotations

import re
from typing import Any

# By the text, because a cell with a SyntaxError has no tree.
DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*=(?!=)", re.MULTILINE)
STOPPED = "The last run of the cell with `{name}` stopped with {error}"
LONGEST = 200  # characters of an error


class FailedRuns:
    """Is told when a cell begins and ends, and says of an answer whether its cell's last run failed."""

    def __init__(self) -> None:
        self._before: dict[str, Any] = {}  # what the names of the running cell held
        self._failed: dict[
            str, tuple[str, bool, Any]
        ] = {}  # the error, whether the name is as before, its value

    def begin(self, source: str, names: dict[str, Any]) -> None:
        """A cell begins to run."""
        defined = ("".join(found) for found in DEFINED.findall(source))
        self._before = {name: names.get(name) for name in defined}

    def end(self, error: BaseException | None, names: dict[str, Any]) -> None:
        """It has ended, perhaps with an error."""
        for name, before in self._before.items():
            value = names.get(name)
            self._failed.pop(name, None)
            if error is not None and not isinstance(error, NotImplementedError):
                text = f"{type(error).__name__}: {error}".partition("\n")[0][:LONGEST].rstrip(".: ")
                self._failed[name] = text, value is before, value
        self._before = {}

    def note(self, name: str, names: dict[str, Any], is_right: bool) -> str:
        """Return what to say beside the check of an answer; mostly nothing.

        If the run that failed has defined it all the same, the error explains only what is wrong.
        """
        error, is_older, value = self._failed.get(name, ("", False, None))
        if not error or names.get(name) is not value or (is_right and not is_older):
            return ""
        older = ": an earlier definition was checked." if is_older and value is not None else "."
        return STOPPED.format(name=name, error=error) + older
