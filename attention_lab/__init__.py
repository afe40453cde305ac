"""Attention Lab: a notebook course on self-attention, and the grader that judges it."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from attention_lab.tutor.checking import check

__all__ = ["check"]


def __getattr__(name: str) -> object:
    """Import `check` when it is first used: most of the package does not need it."""
    if name == "check":
        from attention_lab.tutor.checking import check, notebook_begins

        notebook_begins()
        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
