"""One learner's tutor: it checks answers, and helps with the last check of each exercise."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import structs

from nbjudge.calls import AnswerCaller
from nbjudge.errors import CourseError
from nbjudge.judge import verdict
from nbjudge.judge.drawn_group import join_calls
from nbjudge.judge.retest import retest_calls
from nbjudge.judge.scoring import Judgement, judge_groups
from nbjudge.kernel import protocol
from nbjudge.tutor import hunt_replies, messages
from nbjudge.tutor.conversation import (
    AnyConversation,
    Conversation,
    ConversationEndedError,
    KernelRequest,
    packed_requests,
)
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.help import hint, model_answer, one_page, reveal, smallest_case
from nbjudge.tutor.hunts import Hunt
from nbjudge.tutor.material import Material, TutoredAssignment

# Starts the conversation of a check, from (assignment, exercise) and the function that judges the answer.
Converse = Callable[[tuple[str, str], Callable[[AnswerCaller], Judgement]], AnyConversation]
# Gets the request and the assignment's folder of each check, its verdict, and the result for the learner.
CheckObserver = Callable[[messages.CheckRequest, str, verdict.Verdict, messages.CheckResult], None]
MOST_CONVERSATIONS = 8  # that a kernel has begun and not ended
IT_DIFFERS = "It gives something else than it should."
VARIABLE_DIFFERS = "Its value is not the right one. Which is right the tutor does not say: it is the answer."
ONLY_EXAMPLES = "In this assignment the tutor is not asked yet: the examples above test your answer."
NO_SUCH_ANSWER = "This is none of the answers: choose again."
WITH_THE_GRADE = "Your answer is kept. What there is to say about it comes with your grade."
CHECK_FIRST = "Run the cell with check({name!r}) again first: the tutor was restarted and has not seen it."
NO_RESULT = ("missing", "raised", "unreadable")
HUNTS_CLOSED = "Bug hunts show code close to right answers: in this assignment they are not open."
NOT_EARNED = (
    "A hunt shows code close to a right answer: get your own `{name}` right first. With your own tutor you "
    "may look all the same, `hunt({name!r}, early=True)`."
)
CHECK_ENDED = "This check is over: run its cell again."


class OpenConversation(NamedTuple):
    """A conversation that has not ended."""

    assignment: TutoredAssignment
    exercise: str
    conversation: AnyConversation
    finish: Callable[[Any, Disclosure], messages.Reply]  # makes the reply of the conversation's result


class Tutor:
    """Answers the requests of one kernel. After a `CallRequest` it expects a `CallReply`."""

    def __init__(
        self,
        material: Material,
        seed: int | None = None,
        converse: Converse = lambda _, work: Conversation(work),
        observe: CheckObserver = lambda *_: None,
    ) -> None:
        self._material, self._converse, self._observe = material, converse, observe
        # One seed as long as the tutor runs: a corrected answer is checked with the numbers on which it was
        # wrong. No one knows the seed before.
        self._seed = secrets.randbits(48) if seed is None else seed
        self._examined: dict[str, Judgement] = {}
        self._case_shown: dict[str, bool] = {}  # by exercise: whether the first help showed a failing case
        self._open: dict[str, OpenConversation] = {}  # by id
        self._preparing = threading.Lock()
        self.called_exercise = ""  # the exercise whose calls the kernel is making now

    def reply(self, request: messages.AnyRequest) -> messages.Reply:
        """Do what a request of this tutor's kernel asks for; return a `CallRequest`, or the result.

        Raises CourseError if the course has no such exercise or assignment.
        """
        if isinstance(request, messages.QuestionRequest):
            return self._reply_to_answer(request)
        if isinstance(request, messages.HuntRequest) and request.step == "list":
            return self._hunt_list()
        assignment = self._assignment(request)
        if assignment is None:
            return messages.Notice(sentence=CHECK_ENDED)
        disclosure = self._material.disclosure.on(assignment.folder, date.today())  # as it is now
        if isinstance(request, messages.CheckRequest | messages.HelpRequest):
            written = assignment.written(request.exercise)
            if written is not None and isinstance(request, messages.CheckRequest):
                return messages.WrittenExercise()
            if written is not None:
                return messages.Help(parts=model_answer(written, disclosure))
        if disclosure == Disclosure.EXAMPLES:
            return messages.Notice(sentence=ONLY_EXAMPLES)
        match request:
            case messages.CheckRequest():
                return self._check(request, assignment, disclosure)
            case messages.HelpRequest():
                return self._help(request, assignment, disclosure)
            case messages.OnePageRequest():
                return messages.Help(parts=one_page(assignment, disclosure, request.right))
            case messages.HuntRequest():
                return self._hunt(request, assignment, disclosure)
            case messages.CallReply():
                opened = self._open.get(request.conversation)
                if opened is None:
                    return messages.Notice(sentence=CHECK_ENDED)
                opened.conversation.answer(request)
                return self._next_reply(request.conversation, opened, disclosure)

    def _assignment(
        self,
        request: messages.CheckRequest
        | messages.HelpRequest
        | messages.OnePageRequest
        | messages.HuntRequest
        | messages.CallReply,
    ) -> TutoredAssignment | None:
        """The assignment of a request; None if its conversation has ended."""
        if isinstance(request, messages.CallReply):
            opened = self._open.get(request.conversation)
            return opened and opened.assignment
        if not isinstance(request, messages.OnePageRequest):
            return self._material.find(request.exercise, request.folder)
        folder = request.folder
        if folder not in self._material.assignments:
            known = ", ".join(self._material.assignments)
            raise CourseError(
                f"The tutor knows no assignment whose notebook is in a folder called {folder!r}. Give the "
                f"folder its name back: {known}."
            )
        return self._material.assignments[folder]

    def _reply_to_answer(self, request: messages.QuestionRequest) -> messages.Reply:
        """What a question that is worth points says comes with the grade."""
        assignment, question = self._material.find_question(request.question, request.folder)
        if assignment.assignment.is_exam:  # whose questions differ from student to student
            return messages.Notice(sentence=WITH_THE_GRADE)
        answer = question.read(request.answer)
        if not answer:
            return messages.Notice(sentence=NO_SUCH_ANSWER)
        points = assignment.assignment.judged_cells[question.name][1]
        if points or self._material.disclosure.on(assignment.folder, date.today()) != Disclosure.FULL:
            return messages.Notice(sentence=WITH_THE_GRADE)
        return messages.QuestionReply(sentence=question.reply(answer), credit=question.credit(answer))

    def _check(
        self, request: messages.CheckRequest, assignment: TutoredAssignment, disclosure: Disclosure
    ) -> messages.Reply:
        name = request.exercise
        judge = self._judge(assignment, name)

        def finish(examination: Judgement, disclosure: Disclosure) -> messages.Reply:
            self._examined[name] = examination
            self._prepare_next(assignment, name)
            result = check_result(examination, disclosure)
            self._observe(request, assignment.folder, examination.verdict, result)
            return result

        conversation = self._converse((assignment.folder, name), judge)
        return self._begin(
            OpenConversation(assignment, name, conversation, finish), disclosure, request.program
        )

    def _judge(self, assignment: TutoredAssignment, name: str) -> Callable[[AnswerCaller], Judgement]:
        exercise, _ = assignment.exercise(name)

        def judge(call_answer: AnswerCaller) -> Judgement:
            drawn_groups = assignment.drawn_groups(name, self._seed)
            return judge_groups(exercise, drawn_groups, call_answer, self._seed).without_answers()

        return judge

    def _help(
        self, request: messages.HelpRequest, assignment: TutoredAssignment, disclosure: Disclosure
    ) -> messages.Reply:
        name, given = request.exercise, request.given
        examination = self._examined.get(name)
        if examination is None:
            return messages.Notice(sentence=CHECK_FIRST.format(name=name))
        if request.step != "help":
            return messages.Help(parts=reveal(assignment, examination, disclosure, request))
        if given > 0:
            return messages.Help(parts=hint(assignment, name, given - self._case_shown.get(name, False)))
        current = examination

        def finish(case: list[messages.Part], _disclosure: Disclosure) -> messages.Reply:
            self._case_shown[name] = bool(case)
            return messages.Help(parts=case or hint(assignment, name, 0))

        conversation = Conversation(lambda call_answer: smallest_case(assignment, current, call_answer))
        return self._begin(
            OpenConversation(assignment, name, conversation, finish), disclosure, request.program
        )

    def _hunt_list(self) -> messages.Reply:
        open_ones = {
            folder: assignment
            for folder, assignment in self._material.assignments.items()
            if self._material.disclosure.on(folder, date.today()) == Disclosure.FULL
        }
        return messages.HuntList(
            hunts={
                folder: {
                    name: [hunt.id for hunt in assignment.hunts(name)] for name in assignment.hunt_tables
                }
                for folder, assignment in open_ones.items()
                if assignment.hunt_tables
            }
        )

    def _hunt(
        self, request: messages.HuntRequest, assignment: TutoredAssignment, disclosure: Disclosure
    ) -> messages.Reply:
        name, text = request.exercise, request.text or b""
        if disclosure != Disclosure.FULL:
            return messages.Notice(sentence=HUNTS_CLOSED)
        if not request.is_earned:
            return messages.Notice(sentence=NOT_EARNED.format(name=name))
        if len(text) > hunt_replies.LONGEST_TEXT:
            return messages.Notice(sentence=hunt_replies.NOT_READ)
        number, hunt = hunt_replies.choose(assignment.hunts(name), name, request.number, request.fixed)
        match request.step:
            case "call":
                return hunt_replies.tried(hunt, text)
            case "hint":
                return messages.Help(parts=hunt_replies.hint(hunt, request.given))
            case "give_up":
                return messages.Help(parts=hunt_replies.last_word(hunt))
            case "fix":
                return self._hunt_fix(request, assignment, hunt, disclosure)
        shown = messages.HuntShown(
            exercise=name,
            number=number,
            id=hunt.id,
            code=hunt.code,
            is_class=hunt.is_class,
            parts=hunt_replies.shown(hunt),
            given=list(hunt.table.given),
            program=program_digest(),
        )
        shown.source = "" if shown.program == request.program else protocol.program()
        return shown

    def _hunt_fix(
        self,
        request: messages.HuntRequest,
        assignment: TutoredAssignment,
        hunt: Hunt,
        disclosure: Disclosure,
    ) -> messages.Reply:
        code, judge = (
            (request.text or b"").decode(errors="replace"),
            self._judge(assignment, request.exercise),
        )

        def finish(examination: Judgement, disclosure: Disclosure) -> messages.Reply:
            return hunt_replies.fixed(hunt, code, check_result(examination, disclosure))

        begun = OpenConversation(assignment, request.exercise, Conversation(judge), finish)
        return self._begin(begun, disclosure, request.program)

    def prepare(self, assignment: TutoredAssignment, name: str) -> None:
        """Make the requests and expected answers of an exercise, so that its first check need not wait."""
        exercise, _ = assignment.exercise(name)
        with self._preparing:
            groups = assignment.drawn_groups(name, self._seed)
            packed_requests.text(name, *join_calls(exercise, [group.calls for group in groups]))
            second = [call for group in reversed(groups) for call in retest_calls(group)[0]]
            if second:
                packed_requests.text(name, second, {})

    def _begin(self, begun: OpenConversation, disclosure: Disclosure, program: str) -> messages.Reply:
        # A kernel that begins an exercise again no longer waits for its earlier conversation about it.
        obsolete = [each for each, other in list(self._open.items()) if other.exercise == begun.exercise]
        others = [each for each in self._open if each not in obsolete]
        for each in obsolete + others[: max(0, len(others) + 1 - MOST_CONVERSATIONS)]:
            self._open.pop(each).conversation.close()
        conversation_id = secrets.token_hex(8)
        self.called_exercise = begun.exercise
        self._open[conversation_id] = begun
        reply = self._next_reply(conversation_id, begun, disclosure)
        if isinstance(reply, messages.CallRequest) and reply.program != program:
            reply.source = protocol.program()
        return reply

    def _next_reply(
        self, conversation_id: str, opened: OpenConversation, disclosure: Disclosure
    ) -> messages.Reply:
        step = None
        try:
            step = opened.conversation.next()
        except ConversationEndedError:
            return messages.Notice(sentence=CHECK_ENDED)
        finally:
            if not isinstance(step, KernelRequest):
                self.called_exercise = ""
                self._open.pop(conversation_id, None)
        if not isinstance(step, KernelRequest):
            return opened.finish(step, disclosure)
        return messages.CallRequest(conversation=conversation_id, program=program_digest(), text=step.request)

    def _prepare_next(self, assignment: TutoredAssignment, name: str) -> None:
        """Prepare the exercises after this one, while the learner reads."""
        later = assignment.coded[assignment.coded.index(name) + 1 :]

        def work() -> None:
            for each in later[:2]:
                try:
                    self.prepare(assignment, each)
                except CourseError:
                    return  # its own check will say so

        threading.Thread(target=work, daemon=True).start()


@lru_cache(maxsize=1)
def program_digest() -> str:
    """Return the digest of the program that kernels answer with; a kernel that has another one is sent it."""
    return hashlib.sha256(protocol.program().encode()).hexdigest()


def check_result(examination: Judgement, disclosure: Disclosure) -> messages.CheckResult:
    """Return the result of a check as its learner may read it: only "full" includes names of mistakes."""
    judged = examination.verdict
    findings = [_finding(finding, disclosure) for finding in judged.findings]
    if any(result.exercise.is_variable for result in examination.results) and not _always_stops(examination):
        findings = [structs.replace(finding, sentence=VARIABLE_DIFFERS) for finding in findings]
    return messages.CheckResult(
        exercise=judged.exercise,
        points=judged.points,
        max_points=judged.max_points,
        disclosure=disclosure,
        stopped=_always_stops(examination),
        groups=[messages.ShownGroup(group.name, group.is_earned, group.note) for group in judged.groups],
        findings=findings,
    )


def _always_stops(examination: Judgement) -> bool:
    """Return whether no call of the answer gave anything readable: there is no result to compare yet."""
    answers = [answer for result in examination.results for answer in result.answers]
    return examination.verdict.points == 0 and all(answer.status in NO_RESULT for answer in answers)


def _finding(finding: verdict.Finding, disclosure: Disclosure) -> messages.ShownFinding:
    named = finding.mistake is not None and bool(finding.measured)
    if disclosure == Disclosure.FULL:
        sentence = finding.measured if named else finding.sentence
        return messages.ShownFinding(sentence, finding.evidence, named, finding.mistake or "")
    # A forbidden call is no secret: the exercise names it.
    hidden = finding.mistake not in (None, "not_allowed")
    sentence = finding.measured if named else IT_DIFFERS if hidden else finding.sentence
    return messages.ShownFinding(sentence, finding.evidence)
