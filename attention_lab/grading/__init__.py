"""Moved to `nbjudge`."""

from __future__ import annotations

from typing import Any

from attention_lab.moved import say_moved


def __getattr__(name: str) -> Any:
    """`check`, for hidden regions of before; what else is asked for here says so itself."""
    if name != "check":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nbjudge import check

    say_moved("attention_lab.grading", "nbjudge")
    return check
