"""A tutor for each learner of a class, in one process; what they are told makes the board, too.

All learners of a class are asked the same questions, so the judge's next request or result depends only on
the replies so far. It is computed once for each sequence of replies that are equal byte for byte.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from nbjudge.calls import AnswerCaller
from nbjudge.classroom.board import CheckEvent, CheckEvents, tries
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.plain_text import plain_lines
from nbjudge.settings import ClassroomSettings
from nbjudge.tutor.conversation import Conversation, KernelRequest
from nbjudge.tutor.material import Material, TutoredAssignment
from nbjudge.tutor.messages import (
    AnyRequest,
    CallReply,
    CheckRequest,
    CheckResult,
    HelpRequest,
    HuntRequest,
    OnePageRequest,
    Reply,
    ShownFinding,
)
from nbjudge.tutor.tutor import Tutor

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
        """Take what the kernel gave to the last question."""
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


LONGEST_TOLD = 600  # characters of an example on the board
ON_THE_BOARD = (
    "The instructors of this class see {what} on a board which exercises are begun, stuck and done, and "
    "which mistakes were made. The board does not affect your grade."
)


class ClassTutors:
    """Answers what a learner's kernel asks, by the actions that a local tutor has.

    All learners are asked the same questions, so that these are drawn and answered once, and what several say
    is judged once; a learner who fixes an answer meets the numbers again that it went wrong on.
    """

    def __init__(
        self,
        material: Material,
        settings: ClassroomSettings,
        check_events: CheckEvents,
        seed: int | None = None,
    ) -> None:
        self._material = material
        self.settings, self.check_events = settings, check_events
        self._seed = seed if seed is not None else time.time_ns() % 2**48
        self._tutors: dict[str, Tutor] = {}
        self._transcripts = Transcripts()
        self._notified = set[str]()
        self.on_change: Callable[[], object] = lambda: None  # called after every check, in its thread

    @property
    def order(self) -> list[tuple[str, str]]:
        """Assignment and exercise, as the course has them."""
        return [
            (folder, name)
            for folder, assignment in self._material.assignments.items()
            for name in assignment.coded
        ]

    def sentence_of(self, assignment: str, exercise: str, mistake: str) -> str:
        """Return what a named mistake is, as its check says it; empty where that has gone since."""
        checks, _ = self._material.assignments[assignment].exercise(exercise)
        return next((each.message for each in checks.mistakes if each.name == mistake), "")

    def reply(self, learner: str, request: AnyRequest) -> Reply:
        """Return the reply to a learner's request. Raises CourseError if the course has no such exercise."""
        # What the kernel says of its learner's checks is replaced by what was checked here.
        own = [each for each in self.check_events.all if each.learner == learner]
        if isinstance(request, HelpRequest):
            counted = tries([each for each in own if each.exercise == request.exercise])
            request = msgspec.structs.replace(request, tries=counted)
        elif isinstance(request, HuntRequest):
            is_earned = any(each.exercise == request.exercise and each.right for each in own)
            request = msgspec.structs.replace(request, is_earned=is_earned)
        elif isinstance(request, OnePageRequest):
            last = {each.exercise: each.right for each in own if each.assignment == request.folder}
            request = msgspec.structs.replace(request, right=[name for name in last if last[name]])
        return self._tutor(learner).reply(request)

    def warm_up(self) -> None:
        """Draw the questions of all exercises; compute the reference's and mistakes' answers."""
        tutor = Tutor(self._material, self._seed)
        exercises = [(each, name) for each in self._material.assignments.values() for name in each.coded]
        for assignment, exercise in exercises:
            tutor.prepare(assignment, exercise)
            _make_mistakes(assignment, exercise, self._seed, of_all_cases=False)
        # What fewer need comes when every exercise has what all need.
        for assignment, exercise in exercises:
            _make_mistakes(assignment, exercise, self._seed, of_all_cases=True)

    def _tutor(self, learner: str) -> Tutor:
        if learner not in self._tutors:
            converse = partial(CachedConversation, self._transcripts, learner)
            observe = partial(self._add_to_board, learner)
            self._tutors[learner] = Tutor(self._material, self._seed, converse, observe)
        return self._tutors[learner]

    def _add_to_board(
        self, learner: str, request: CheckRequest, assignment: str, verdict: Verdict, result: CheckResult
    ) -> None:
        """Put the result of a check on the board, and the notice that there is one into the result."""
        findings = [*zip(verdict.findings, result.findings, strict=True), (Finding(""), ShownFinding("", ""))]
        finding, told = next((pair for pair in findings if pair[0].mistake), findings[0])
        self.check_events.add(
            CheckEvent(
                time=time.time(),
                learner=learner,
                assignment=assignment,
                exercise=request.exercise,
                code="" if result.stopped else request.code,
                right=result.points == result.max_points,
                mistake=finding.mistake or "",
                told=plain_lines(f"{told.sentence} {told.evidence}").strip()[:LONGEST_TOLD],
            )
        )
        self.on_change()
        if learner not in self._notified:  # with a learner's first check
            self._notified.add(learner)
            result.remark = ON_THE_BOARD.format(what="by name" if self.settings.names else "without names")


def _make_mistakes(assignment: TutoredAssignment, name: str, seed: int, of_all_cases: bool) -> None:
    """Compute what each mistake answers; on a group's first case most differ from a learner's answer."""
    exercise, _ = assignment.exercise(name)
    for group in assignment.drawn_groups(name, seed):
        if group.expected:
            for mistake in exercise.mistakes:
                for index in range(len(group.calls) if of_all_cases else 1):
                    group.mistake_answer(mistake, index)
