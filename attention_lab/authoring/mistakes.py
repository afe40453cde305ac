"""Mistakes in a table: what a right answer becomes when one of its steps is changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from attention_lab.authoring.exercise import Exercise
from nbjudge.authoring import Mistake, WrongStep, with_steps

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
        answer: Any = change
        if isinstance(change, Mapping):
            assert right is not None
            answer = with_steps(right, change, name)
        answer.__name__, answer.__module__ = name, module
        file = module.rpartition(".")[2]
        mistake = Mistake(name, sentence, exercise.as_called(answer), file)
        exercise.mistakes.append(mistake)
        if right is not None and isinstance(change, Mapping):
            exercise.steps.append(WrongStep(right, change, mistake=mistake))
