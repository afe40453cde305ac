"""Names of before the grader became a package of its own: they work for one version, and say where it is."""

from __future__ import annotations

import warnings


def say_moved(old: str, new: str) -> None:
    """Warn whoever still uses `old`; it is gone in the version after this."""
    warnings.warn(f"{old} is now {new}: write that instead.", FutureWarning, stacklevel=3)
