"""One learner's tutor: answers are examined, and help is given on the last examination of each exercise.

What it says is plain data, ready for JSON: a question for the kernel, or a reply. See `Tutor.check`.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable, Collection
from datetime import date
from typing import Any

from nbjudge.errors import CourseError
from nbjudge.judge.judge import Judgement, judge_groups
from nbjudge.judge.retest import retest_calls
from nbjudge.judge.verdict import Finding
from nbjudge.kernel import requests
from nbjudge.kernel.replies import CallAnswer
from nbjudge.kernel.requests import LARGEST_REPLY
from nbjudge.tutor.conversation import Abandoned, Conversation, KernelRequest, Lost, Talk
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.help import (
    Part,
    Step,
    hint,
    markdown_part,
    one_page,
    parts_as_data,
    smallest_case,
    solutions,
    which_mistake,
)
from nbjudge.tutor.material import AssignmentMaterial, Material

Reply = dict[str, Any]
# Begins a check: of which assignment and exercise, and what examines the answer.
Converse = Callable[[tuple[str, str], Callable[[CallAnswer], Judgement]], Talk]
MOST_CONVERSATIONS = 8  # that a kernel has begun and not ended
IT_DIFFERS = "It gives something else than it should."
ONLY_EXAMPLES = "In this assignment the tutor is not asked yet: the examples above test your answer."
CHECK_FIRST = "Run the cell with check({name!r}) again first: the tutor was restarted and has not seen it."
TOO_LATE = "This check is over: run its cell again."


class Tutor:
    """Talks with one kernel. Each method returns a reply; one with a "question" wants `answer` next."""

    def __init__(
        self,
        material: Material,
        seed: int | None = None,
        converse: Converse = lambda _, work: Conversation(work),
    ) -> None:
        self._material, self._converse = material, converse
        # One seed for as long as the tutor runs: a learner who fixes an answer meets the numbers again
        # that it went wrong on. No one knows the seed before.
        self._seed = secrets.randbits(48) if seed is None else seed
        self._examined: dict[str, Judgement] = {}
        self._case_shown: dict[str, bool] = {}  # as the first help on the last examination
        self._open: dict[str, tuple[str, Talk, Callable[[Any], Reply]]] = {}  # the exercise first
        self._preparing = threading.Lock()
        self.asking = ""  # the exercise that the kernel is being asked about

    def check(self, name: str, folder: str = "") -> Reply:
        """Examine the answer `name`. The reply, after its questions: points, groups, findings, `disclosure`.

        CourseError where the course has no such exercise.
        """
        assignment = self._material.find(name, folder)
        disclosure = self._disclosure(assignment)
        written = assignment.written(name)
        if written is not None:
            return {"written": True, "disclosure": disclosure}
        if disclosure == Disclosure.EXAMPLES:
            return {"said": ONLY_EXAMPLES, "disclosure": disclosure}
        if why_not := assignment.why_not(name):
            return {"said": why_not, "disclosure": disclosure}
        exercise, reference = assignment.exercise(name)

        def look(ask: CallAnswer) -> Judgement:
            questions = assignment.questions(name, self._seed)
            return judge_groups(exercise, reference, questions, ask, self._seed).without_answers()

        def finish(examination: Judgement) -> Reply:
            self._examined[name] = examination
            self._prepare_next(assignment, name)
            return _verdict_reply(examination, disclosure) | {"remark": assignment.remark(name)}

        return self._begin(name, self._converse((assignment.folder, name), look), finish)

    def help(self, name: str, step: Step, given: int, tries: int, folder: str = "") -> Reply:
        """A step of help on the last examination; `given` helps were shown before. The reply has "parts"."""
        assignment = self._material.find(name, folder)
        disclosure = self._disclosure(assignment)
        written = assignment.written(name)
        if written is not None:
            return _parts_reply(_model_answer(written.model_answer, written.scheme, disclosure))
        examination = self._examined.get(name)
        if examination is None:
            return {"said": CHECK_FIRST.format(name=name)}
        if step == "mistake":
            return _parts_reply(which_mistake(examination, disclosure))
        if step == "solution":
            right = examination.verdict.points == examination.verdict.max_points
            return _parts_reply(solutions(assignment, name, disclosure, right, tries))

        if given > 0:
            return _parts_reply(hint(assignment, name, given - self._case_shown.get(name, False)))
        current = examination

        def finish(case: list[Part]) -> Reply:
            self._case_shown[name] = bool(case)
            return _parts_reply(case or hint(assignment, name, 0))

        return self._begin(name, Conversation(lambda ask: smallest_case(assignment, current, ask)), finish)

    def one_page(self, folder: str, right: Collection[str]) -> Reply:
        """All the code of an assignment, for a learner who has these exercises right. The reply has "parts".

        CourseError where the course has no such assignment.
        """
        if folder not in self._material.assignments:
            known = ", ".join(self._material.assignments)
            raise CourseError(
                f"The tutor knows no assignment whose notebook is in a folder called {folder!r}. Give the "
                f"folder its name back: {known}."
            )
        assignment = self._material.assignments[folder]
        return _parts_reply(one_page(assignment, self._disclosure(assignment), right))

    def answer(self, conversation: str, reply: str | bytes | None, lost: str = "") -> Reply:
        """What the kernel gave to the last question, or why it gave nothing: "late" or "died"."""
        if (begun := self._open.get(conversation)) is None:
            return {"said": TOO_LATE}
        begun[1].answer(Lost(lost or "late") if reply is None or len(reply) > LARGEST_REPLY else reply)
        return self._go_on(conversation, *begun[1:])

    def program(self) -> Reply:
        """What a kernel answers questions with: the same for every kernel, with nothing of a course."""
        return {"program": requests.program()}

    def prepare(self, assignment: AssignmentMaterial, name: str) -> None:
        """Draw the questions of an exercise and answer them, so that its first check need not wait."""
        with self._preparing:
            for question in assignment.questions(name, self._seed):
                retest_calls(question)

    def _begin(self, name: str, talk: Talk, finish: Callable[[Any], Reply]) -> Reply:
        # A kernel that begins again with an exercise has given up what it had begun with it.
        given_up = [key for key, (exercise, *_) in list(self._open.items()) if exercise == name]
        others = [key for key in self._open if key not in given_up]
        for key in given_up + others[: max(0, len(others) + 1 - MOST_CONVERSATIONS)]:
            self._open.pop(key)[1].close()
        conversation = secrets.token_hex(8)
        self.asking = name
        self._open[conversation] = name, talk, finish
        return self._go_on(conversation, talk, finish)

    def _go_on(self, conversation: str, talk: Talk, finish: Callable[[Any], Reply]) -> Reply:
        try:
            coming = talk.next()
        except BaseException as error:
            self.asking = ""
            self._open.pop(conversation, None)
            if isinstance(error, Abandoned):
                return {"said": TOO_LATE}
            raise
        if isinstance(coming, KernelRequest):
            return {
                "conversation": conversation,
                "question": coming.request,
                "program": program_name(),
            }
        self.asking = ""
        self._open.pop(conversation, None)
        return finish(coming)

    def _prepare_next(self, assignment: AssignmentMaterial, name: str) -> None:
        """Prepare the exercises after this one, while the learner reads."""
        later = assignment.coded[assignment.coded.index(name) + 1 :]

        def work() -> None:
            for each in later[:2]:
                try:
                    self.prepare(assignment, each)
                except CourseError:
                    return  # its own check will say so

        threading.Thread(target=work, daemon=True).start()

    def _disclosure(self, assignment: AssignmentMaterial) -> Disclosure:
        disclosure = self._material.disclosure.on(assignment.folder, date.today())
        return assignment.max_disclosure if disclosure == Disclosure.FULL else disclosure


def program_name() -> str:
    """A digest of the program that kernels answer with: one that has another fetches it first."""
    return hashlib.sha256(requests.program().encode()).hexdigest()


def _verdict_reply(examination: Judgement, disclosure: Disclosure) -> Reply:
    verdict = examination.verdict
    return {
        "exercise": verdict.exercise,
        "points": verdict.points,
        "max_points": verdict.max_points,
        "disclosure": disclosure,
        "stopped": _always_stops(examination),
        "groups": [
            {"name": group.name, "agrees": group.agrees, "note": group.note} for group in verdict.groups
        ],
        "findings": [_finding(finding, disclosure) for finding in verdict.findings],
    }


def _always_stops(examination: Judgement) -> bool:
    """Whether there is no answer, or every call of it raised: there is no result to compare yet."""
    answers = [answer for result in examination.results for answer in result.answers]
    return examination.verdict.points == 0 and all(a.status in ("missing", "raised") for a in answers)


def for_learner(reply: Reply) -> Reply:
    """A reply as its learner may read it: only the disclosure "full" includes the names of mistakes.

    Parameters
    ----------
    reply : dict
        Any reply of a `Tutor`. The board of a class is made of the names before they go.

    Returns
    -------
    dict
        The same reply, or one without the names.
    """
    if "findings" not in reply or reply["disclosure"] == Disclosure.FULL:
        return reply
    return reply | {"findings": [finding | {"named": False, "mistake": ""} for finding in reply["findings"]]}


def _finding(finding: Finding, disclosure: Disclosure) -> dict[str, Any]:
    """What was measured; a named mistake keeps its name for the next step, see `for_learner`."""
    named = finding.mistake is not None and bool(finding.measured)
    # A step that is not allowed is no secret: the exercise says it.
    hidden = finding.mistake not in (None, "not_allowed") and disclosure != Disclosure.FULL
    return {
        "said": finding.measured if named else IT_DIFFERS if hidden else finding.sentence,
        "evidence": finding.evidence,
        "named": named,
        "mistake": finding.mistake or "",
    }


def _parts_reply(parts: list[Part]) -> Reply:
    return {"parts": parts_as_data(parts)}


def _model_answer(text: str, scheme: str, disclosure: Disclosure) -> list[Part]:
    if disclosure != Disclosure.FULL:
        return [Part("text", "A model answer comes with your grade.")]
    parts = [markdown_part(text, "A model answer")]
    return parts + ([markdown_part(scheme, "Ask your own text")] if scheme else [])
