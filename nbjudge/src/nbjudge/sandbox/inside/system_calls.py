"""Which system calls student code may not make, and their numbers: `system_calls.toml`, read."""

import errno
import tomllib
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
MACHINES: dict[str, int] = _TABLES["machines"]  # how seccomp calls them
NEWEST_KNOWN: int = _TABLES["newest_known"]
JUDGED_BY_ARGUMENTS: dict[str, list[int]] = _TABLES["judged_by_arguments"]
_NUMBERS: dict[str, list[int]] = _TABLES["not_implemented"] | _TABLES["not_permitted"] | JUDGED_BY_ARGUMENTS
REFUSED = dict.fromkeys(_TABLES["not_implemented"], errno.ENOSYS)
REFUSED |= dict.fromkeys(_TABLES["not_permitted"], errno.EPERM)


def number_of(call: str, machine: str) -> int | None:
    """A call's number on a machine; None where it has none."""
    numbers, index = _NUMBERS[call], list(MACHINES).index(machine)
    return numbers[index] if index < len(numbers) else None
