"""`nbjudge publish --lti`: an assignment's scores for the column of a platform that belongs to it.

The log `published/ASSIGNMENT.jsonl` has a line for each score that the platform took. It tells which scores
have changed since, and where an interrupted run has stopped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from numbers import Real
from typing import Any
from urllib.parse import urlsplit

import msgspec
from nbgrader.api import Gradebook

from nbjudge.course.student_change import exclusive_run
from nbjudge.errors import CourseError, ExitStatus, PlatformRefusalError
from nbjudge.exports.learning_platform import grade_of, round_score
from nbjudge.lti.registration import read_registration
from nbjudge.lti.services import Member, Platform, content_of
from nbjudge.nbgrader_hooks.late_policy import follow_marks
from nbjudge.term.assignment import TermAssignment
from nbjudge.term.roster import Student, find_student
from nbjudge.term.tables import show

LINE_ITEM = "application/vnd.ims.lis.v2.lineitem+json"
LINE_ITEMS = "application/vnd.ims.lis.v2.lineitemcontainer+json"
SCORE = "application/vnd.ims.lis.v1.score+json"
TAG = "nbjudge"
# Canvas's extensions, which other platforms ignore: no work is handed in there.
NO_SUBMISSIONS = {"https://canvas.instructure.com/lti/submission_type": {"type": "none"}}
NO_NEW_SUBMISSION = {"https://canvas.instructure.com/lti/submission": {"new_submission": False}}
REST = "{} of {} scores were sent; the same command sends the rest."
HEADINGS = ("student", "sent before", "now")
REMARKS = {
    "unmarked": "Not marked yet, and sent without points: {}.",
    "above": "More than the maximum, and sent as the maximum: {}.",
    "no number": "Their points are no number, and not sent: {}.",
    "gone": "No longer active in the platform's course, and not sent: {}.",
    "not there": "Not in the platform's course, and not sent: {}. Is their number or e-mail address there "
    "that of the gradebook (`nbjudge student import`)?",
    "no score": "Students of the platform's without a score here: {}.",
}


class Score(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a platform is told of a student's work, without the time (AGS 2.0, section 3.4.9)."""

    activity_progress: str
    grading_progress: str
    score_given: float | None = None
    score_maximum: float | None = None
    comment: str = ""

    def __str__(self) -> str:
        if self.score_given is None:
            return "not marked yet"
        return ", ".join(filter(None, (f"{self.score_given:g} of {self.score_maximum:g}", self.comment)))


class Sent(msgspec.Struct, frozen=True):
    """A line of the log; without a score it says that all are to be sent again."""

    time: str
    line_item: str
    student: str = ""
    user_id: str = ""
    score: Score | None = None


class Publication(TermAssignment):
    """The scores of one assignment at a platform."""

    def publish(self) -> ExitStatus:
        """Bring the platform's column up to date, and show what has changed there.

        Raises CourseError where the platform cannot be reached or accepts nothing.
        """
        root = self.folders.root
        self.platform = Platform(read_registration(root))
        self.log = root / "published" / f"{self.assignment}.jsonl"
        self.who: dict[str, list[str]] = {remark: [] for remark in REMARKS}
        with exclusive_run(root), self.console.status("Reading the platform's students …") as status:
            maximum, scores = self._read_scores()
            found = self._match(self.platform.learners(), scores)
            lines = self._read_log()
            line_item, change = self._line_item(maximum)
            sent: dict[str, Score] = {}
            for line in (line for line in lines if line.line_item == line_item):
                if line.score is None:
                    sent.clear()
                else:
                    sent[line.user_id] = line.score
            changes = [
                (student, sent.get(member.user_id), scores[student])
                for student, member in found.items()
                # A platform whose maximum was another one may have scaled its scores.
                if change or sent.get(member.user_id) != scores[student]
            ]
            refused: dict[str, str] = {}
            for number, (student, _, score) in enumerate([] if self.dry_run else changes):
                status.update(f"Sending the scores of {self.assignment}: {number} of {len(changes)} …")
                try:
                    self._send(line_item, found[student].user_id, student, score)
                except PlatformRefusalError as error:
                    refused[student] = f"{student}: {error}"
                except (CourseError, OSError, KeyboardInterrupt) as error:
                    rest = REST.format(number - len(refused), len(changes))
                    raise CourseError(f"{str(error) or 'Interrupted.'} {rest}") from error
        rows = [(each, str(old or ""), str(new)) for each, old, new in changes if each not in refused]
        verb = "have changed" if self.dry_run else "were sent"
        sentences = [change, f"{len(rows)} of {len(scores)} scores {verb}.", *refused.values()]
        sentences += [REMARKS[remark].format(", ".join(each)) for remark, each in self.who.items() if each]
        show(self.console, sentences, HEADINGS, rows, self.dry_run)
        return ExitStatus.PROBLEM if refused else ExitStatus.SUCCESS

    def _read_scores(self) -> tuple[float, dict[str, Score]]:
        """Read the assignment's maximum, and the scores of all who handed in, less late penalties."""
        scores = {}
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            maximum = plain_number(gradebook.find_assignment(self.assignment).max_score)
            if not maximum or maximum < 0:  # AGS 2.0, section 3.2.9
                raise CourseError(f"{self.assignment} gives no points, so that there is nothing to send.")
            follow_marks(self.config, gradebook, self.assignment, dry_run=self.dry_run)
            submissions = gradebook.assignment_submissions(self.assignment)
            for student in sorted(submission.student_id for submission in submissions):
                grade = grade_of(gradebook, self.assignment, student, with_unmarked=False)
                points = plain_number(grade.score)
                if grade.unmarked:
                    self.who["unmarked"].append(student)
                    scores[student] = Score("Submitted", "PendingManual")
                elif points is None:
                    self.who["no number"].append(student)
                else:
                    if points > maximum:
                        self.who["above"].append(f"{student} ({points:g} of {maximum:g})")
                    comment = "\n".join(filter(None, (*grade.comments, grade.lateness)))
                    given = min(points, maximum)
                    scores[student] = Score("Completed", "FullyGraded", given, maximum, comment)
        return maximum, scores

    def _match(self, members: Sequence[Member], scores: dict[str, Score]) -> dict[str, Member]:
        """Find the members who are sent a score: by id, number or e-mail address, never by name."""
        found: dict[str, Member] = {}
        gone = set()
        for member in members:
            sourced_id, email = member.lis_person_sourcedid or "", member.email or ""
            rows = [
                Student(sourced_id, lms_user_id=member.user_id, email=email),
                Student(email, lms_user_id=sourced_id),  # an id may be an address, a number the registrar's
            ]
            student = next(filter(None, (find_student(row, self.students) for row in rows)), Student()).id
            if not member.is_active:
                gone.add(student)
            elif student in found:
                others = f"{found[student].name or found[student].user_id}, {member.name or member.user_id}"
                raise CourseError(
                    f"{student} fits two students of the platform's ({others}): enter their numbers with "
                    "`nbjudge student import`."
                )
            elif student in scores:
                found[student] = member
            elif student not in self.who["no number"]:
                self.who["no score"].append(student or member.name or email or member.user_id)
        for student in (student for student in scores if student not in found):
            self.who["gone" if student in gone else "not there"].append(student)
        return found

    def _line_item(self, maximum: float) -> tuple[str, str]:
        """Find the platform's column, make it, or change its maximum; its URL, and what is new of it."""
        url = self.platform.registration.line_items_url
        pages = self.platform.pages(url, LINE_ITEMS, resource_id=self.assignment, tag=TAG)
        ours = {"resourceId": self.assignment, "tag": TAG}
        listed = (item for page in pages for item in page if isinstance(item, dict))
        found = [item for item in listed if ours.items() <= item.items()]
        if len(found) > 1:
            raise CourseError(f"The platform has {len(found)} columns for {self.assignment}: keep one there.")
        item: dict[str, Any] = found[0] if found else {"label": self.assignment, **ours, **NO_SUBMISSIONS}
        old = item.get("scoreMaximum")
        if old == maximum:
            return item["id"], ""
        new = item | {"scoreMaximum": maximum}
        if not self.dry_run:
            # A column is made by one request: were it sent again after an error, there could be two.
            method, repeat = ("PUT", True) if found else ("POST", False)
            if found:
                self._log(Sent(_now(), item["id"]))
            response = self.platform.request(
                method, item.get("id", url), {"Content-Type": LINE_ITEM}, repeat, json=new
            )
            new = new if found else content_of(response)
        before = f", before {plain_number(old) or 0:g}" if found else ""
        column = "The platform's column" if found else "A new column at the platform"
        return str(new.get("id")), f"{column} for {self.assignment} has the maximum {maximum:g}{before}."

    def _send(self, line_item: str, user_id: str, student: str, score: Score) -> None:
        """Send a score and log it."""
        parts = urlsplit(line_item)
        url = parts._replace(path=f"{parts.path}/scores").geturl()  # AGS 2.0, section 3.4.3
        now = _now()
        content = {"userId": user_id, "timestamp": now, **msgspec.to_builtins(score), **NO_NEW_SUBMISSION}
        self.platform.request("POST", url, {"Content-Type": SCORE}, json=content)
        self._log(Sent(now, line_item, student, user_id, score))

    def _log(self, line: Sent) -> None:
        self.log.parent.mkdir(exist_ok=True)
        with open(self.log, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as log:
            log.write(msgspec.json.encode(line) + b"\n")

    def _read_log(self) -> list[Sent]:
        try:
            return msgspec.json.Decoder(Sent).decode_lines(self.log.read_bytes())
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            raise CourseError(
                f"{self.log} cannot be read ({error}): remove what is no whole line."
            ) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def plain_number(value: object) -> float | None:
    """Points as a plain, finite number of two places; None where they are none, such as NaN and True."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    return float(round_score(float(value)))
