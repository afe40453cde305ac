"""Mistakes in a table: what a right answer becomes when one of its steps is changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from attention_lab.authoring.exercise import Exercise
from nbjudge.authoring import Mistake

# Other attributes of a class or other keyword arguments of a function; or the whole answer, as a lambda.
Change = Mapping[str, Any] | Callable[..., Any]


def add_mistakes(
    exercise: Exercise, right: Callable[..., Any] | None = None, /, **mistakes: tuple[str, Change]
) -> None:
    """Add mistakes, by name: the sentence that helps, and what is changed about `right`.

    They are looked for in this order, behind those that the exercise has already. The demo class and the
    benchmarks read them from the file, so write the table into the call.
    """
    module = sys._getframe(1).f_globals["__name__"]
    for name, (sentence, change) in mistakes.items():
        answer = changed(right, name, change)
        answer.__module__ = module
        file = module.rpartition(".")[2]
        exercise.mistakes.append(Mistake(name, sentence, exercise.as_called(answer), file))


def changed(right: Callable[..., Any] | None, name: str, change: Change) -> Any:
    """Return `right` with a change, under a name of its own."""
    if not isinstance(change, Mapping):
        change.__name__ = name
        return change
    assert right is not None
    if isinstance(right, type):
        return type(name, (right,), dict(change))

    def answer(*args: Any, **kwargs: Any) -> Any:
        return right(*args, **kwargs, **change)

    answer.__name__ = name
    return answer
