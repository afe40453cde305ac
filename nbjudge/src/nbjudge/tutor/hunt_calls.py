"""The calls of a bug hunt, written as calls of the answer: ``bug(sample)``, ``bug(degree=2)(x)``.

Both sides of the tutor use it: a learner's kernel to send a call, and the tutor for the calls of authors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

GIVEN = "given by the tutor"  # the one key of a dict that stands for something with a name


@dataclass(frozen=True)
class HuntCall:
    """A call of a function, or of an object that is made for it with the arguments in `make`."""

    args: list[Any]
    kwargs: dict[str, Any]
    make: tuple[list[Any], dict[str, Any]] | None = None
    method: str = ""
    is_made_only: bool = False


Send = Callable[[HuntCall], Any]


def call_of(is_class: bool, send: Send, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the result of a call of a function; of a class, what stands for the object that it makes."""
    return Made(send, (args, kwargs)) if is_class else send(HuntCall(args, kwargs))


@dataclass(frozen=True)
class Made:
    """Stands for an object of a class that is hunted in: it sends its calls, and itself where it is shown."""

    _send: Send = field(repr=False)
    _make: tuple[list[Any], dict[str, Any]]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the object."""
        return self._send(HuntCall(list(args), kwargs, self._make))

    def __getattr__(self, method: str) -> Any:
        """Return what calls a method of the object."""
        if method.startswith("_"):
            raise AttributeError(method)
        return partial(self._call_method, method)

    def _call_method(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self._send(HuntCall(list(args), kwargs, self._make, method))

    def _alone(self) -> Any:
        return self._send(HuntCall([], {}, self._make, is_made_only=True))

    def __repr__(self) -> str:
        return repr(self._alone())

    def _repr_html_(self) -> str:
        return str(self._alone()._repr_html_())


def given(name: str) -> dict[str, str]:
    """Return what stands for something that the tutor has, by its name."""
    return {GIVEN: name}
