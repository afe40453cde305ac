"""Who says the same as another is told the same, at once: a class has few answers that differ.

What the judge asks and finds follows from the questions, which are the same for a class, and from what a
kernel said to them. So that is worked out once for each thing that was said, bit for bit.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from nbjudge.ask.answers import Ask
from nbjudge.tutor.conversation import Asked, Conversation, Lost, Said

MOST = 200  # places in conversations that are kept; what was found at one may be some megabytes


class Transcripts:
    """What came next in conversations of a class, by what they are about and what was said in them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._alone = threading.Lock()

    def conversation(self, about: tuple[str, str], work: Callable[[Ask], Any]) -> RememberedConversation:
        """One that runs `work` only where it comes to what nobody has said before; `about` names the work."""
        return RememberedConversation(self, about, work)

    def at(self, place: bytes) -> Any:
        """What came next there: a question, a result, or None where nobody was."""
        with self._alone:
            if place in self._kept:
                self._kept.move_to_end(place)
            return self._kept.get(place)

    def keep(self, place: bytes, coming: Any) -> None:
        with self._alone:
            self._kept[place] = coming
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)


class RememberedConversation:
    """As a `Conversation`, and led by what is remembered for as long as that goes."""

    def __init__(self, kept: Transcripts, about: tuple[str, str], work: Callable[[Ask], Any]) -> None:
        self._kept, self._work = kept, work
        self._place: bytes | None = _after(
            b"", "\n".join(about)
        )  # None: what comes here holds for nobody else
        self._said: list[Said] = []
        self._own: Conversation[Any] | None = None

    def next(self) -> Any:
        """The next question, or the result. Raises what the work raised."""
        if self._own is None and self._place is not None:
            known = self._kept.at(self._place)
            if known is not None:
                return known
        coming = self._own_one().next()
        if self._place is not None:
            self._kept.keep(self._place, coming)
        return coming

    def answer(self, said: Said) -> None:
        """What the kernel gave to the last question."""
        # An answer that was late or died may do better with somebody else, or the next time.
        if self._place is not None:
            self._place = None if isinstance(said, Lost) else _after(self._place, said)
        if self._own is not None:
            self._own.answer(said)
        else:
            self._said.append(said)

    def close(self) -> None:
        """End it: nobody will answer its questions."""
        if self._own is not None:
            self._own.close()

    def _own_one(self) -> Conversation[Any]:
        """The conversation itself, which is told first what was said so far."""
        if self._own is None:
            self._own = Conversation(self._work)
            for said in self._said:
                if not isinstance(self._own.next(), Asked):
                    raise RuntimeError("the same was said, and something else was asked")
                self._own.answer(said)
            self._said.clear()
        return self._own


def _after(place: bytes, said: str | bytes) -> bytes:
    digest = hashlib.sha256(place)
    digest.update(said if isinstance(said, bytes) else said.encode(errors="surrogatepass"))
    return digest.digest()
