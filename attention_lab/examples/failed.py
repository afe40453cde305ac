"""What an example raises that does not come out, and where a notebook shows it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class ExampleFailedError(AssertionError):
    """An example that did not come out; the message says what is right and what came instead."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the line of the example, not those of this file."""
        from IPython import get_ipython

        outside = None
        trace = self.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != __file__:
            outside, trace = trace, trace.tb_next
        if outside is not None:
            outside.tb_next = None
        formatter = get_ipython().InteractiveTB
        lines: list[str] = formatter.structured_traceback(type(self), self, self.__traceback__)
        return lines


def at_its_own_line(function: Callable[..., None]) -> Callable[..., None]:
    """Have what it finds wrong shown at the line that calls it."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        try:
            function(*args, **kwargs)
        except AssertionError as error:
            raise ExampleFailedError(str(error)) from None

    return called
