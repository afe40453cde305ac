"""A cache of the judge's work for a class: learners whose kernels reply the same get the same result.

All learners of a class are asked the same questions, so the judge's next request or result depends only on
the replies so far. It is computed once for each sequence of replies that are equal byte for byte.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from nbjudge.calls import AnswerCaller
from nbjudge.tutor.conversation import Conversation, KernelRequest
from nbjudge.tutor.messages import CallReply

MOST_POSITIONS = 2_000  # positions in conversations that are kept
MOST_OF_ONE = 100  # those that one learner was the first to reach
MOST_BYTES = 2**28  # of the questions at them


class Transcripts:
    """The next step of each conversation, by position: a digest of the exercise and the replies so far."""

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, tuple[str, Any]] = OrderedDict()  # by position: who, what came next
        self._lock = threading.Lock()

    def at(self, position: bytes) -> Any:
        """Return the step at a position: a request, a result, or None if no conversation was there."""
        with self._lock:
            if position in self._entries:
                self._entries.move_to_end(position)
                return self._entries[position][1]
            return None

    def keep(self, learner: str, position: bytes, step: Any) -> None:
        """Keep the step at a position. A learner who adds too many loses the oldest of their own."""
        with self._lock:
            self._entries.pop(position, None)
            self._entries[position] = learner, step
            own = [key for key, (name, _) in self._entries.items() if name == learner]
            if len(own) > MOST_OF_ONE:
                del self._entries[own[0]]
            while len(self._entries) > MOST_POSITIONS or self._bytes() > MOST_BYTES:
                self._entries.popitem(last=False)

    def _bytes(self) -> int:
        """Count the bytes of all requests; one that several positions share counts once."""
        steps = (step for _, step in self._entries.values())
        return sum(
            {id(each): len(each.request) for each in steps if isinstance(each, KernelRequest)}.values()
        )


class CachedConversation:
    """A `Conversation` that runs `work` only for replies that the transcripts do not have.

    `about` is assignment and exercise.
    """

    def __init__(
        self,
        transcripts: Transcripts,
        learner: str,
        about: tuple[str, str],
        work: Callable[[AnswerCaller], Any],
    ) -> None:
        self._transcripts, self._learner, self._work = transcripts, learner, work
        # None after a lost reply: what follows is not the same for another learner.
        self._position: bytes | None = _next_position(b"", "\n".join(about).encode())
        self._replies: list[CallReply] = []
        self._own: Conversation[Any] | None = None

    def next(self) -> Any:
        """The next question, or the result. Raises what the work raised."""
        if self._own is None and self._position is not None:
            known = self._transcripts.at(self._position)
            if known is not None:
                return known
        step = self._own_conversation().next()
        if self._position is not None:
            self._transcripts.keep(self._learner, self._position, step)
        return step

    def answer(self, reply: CallReply) -> None:
        """What the kernel gave to the last question."""
        # An answer that timed out or died may succeed for another learner, or the next time.
        if self._position is not None:
            self._position = None if reply.text is None else _next_position(self._position, reply.text)
        if self._own is not None:
            self._own.answer(reply)
        else:
            self._replies.append(reply)

    def close(self) -> None:
        """End it: its questions will not be answered."""
        if self._own is not None:
            self._own.close()

    def _own_conversation(self) -> Conversation[Any]:
        """The conversation itself, which first receives the replies so far."""
        if self._own is None:
            self._own = Conversation(self._work)
            for reply in self._replies:
                if not isinstance(self._own.next(), KernelRequest):
                    raise RuntimeError("the same replies led to another question")
                self._own.answer(reply)
            self._replies.clear()
        return self._own


def _next_position(position: bytes, reply: bytes) -> bytes:
    digest = hashlib.sha256(position)
    digest.update(reply)
    return digest.digest()
