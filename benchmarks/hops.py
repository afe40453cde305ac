"""How many files of nbjudge one graded notebook passes through, and one `check` of a learner's.

    .venv/bin/python benchmarks/hops.py [--lesson 02_scaling] [--exercise causal_attention] [--files]

A file counts when one of its functions runs in the grading process (or in the tutor); code that only defines
something does not. A change of file is a call into another file, or a return to another one.

- autograde: `nbgrader autograde` of one submission, from the submitted file to the gradebook
- job: the part of it that `nbjudge.grading.job.run_job` does: run the cells, call the answers, judge, record
- check: `check(...)` in the tutor, from the request to the verdict
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Annotated, Any

import typer
from courses import ROOT, hand_in, in_course, lesson_named, new_course, ordinary_class

import nbjudge
from nbjudge.course import Assignment
from nbjudge.grading import job as grading_job
from nbjudge.probe.respond import respond
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import CallReply, CallRequest, CheckRequest, CheckResult
from nbjudge.tutor.tutor import Tutor

PACKAGE = f"{Path(nbjudge.__file__).parent}{os.sep}"
GOALS = {"autograde": 40, "check": 20}


class Walk:
    """The files of nbjudge that one piece of work passes through, in this thread and in those it starts."""

    def __init__(self) -> None:
        self.calls = Counter[str]()  # by file
        self.changes = 0
        self._current = dict[int, str]()  # by thread

    @contextmanager
    def noting(self, new_threads: bool = True) -> Iterator[None]:
        """Note every call and return while the block runs, and in threads that it starts."""
        outer = sys.getprofile()
        threading.setprofile(self._note if new_threads else outer)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(outer)
            threading.setprofile(outer)

    def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and (name := _file(frame)):
            self.calls[name] += 1
            self._enter(name)
        elif event == "return" and _file(frame):
            caller = frame.f_back
            while caller is not None and not _file(caller):
                caller = caller.f_back
            self._enter(_file(caller) if caller is not None else "")

    def _enter(self, name: str) -> None:
        thread = threading.get_ident()
        self.changes += bool(name) and name != self._current.get(thread)
        self._current[thread] = name or self._current.get(thread, "")


def _file(frame: FrameType) -> str:
    """The file of nbjudge that a function is defined in; empty for other code and for bodies of modules."""
    code = frame.f_code
    is_function = code.co_flags & inspect.CO_OPTIMIZED
    return code.co_filename.removeprefix(PACKAGE) if is_function and PACKAGE in code.co_filename else ""


def walks_of_grading(lesson: Assignment) -> dict[str, Walk]:
    """Grade one submission with one mistake, in this process."""
    from nbgrader.apps.api import NbGraderAPI
    from traitlets.config.loader import PyFileConfigLoader

    autograde, job = Walk(), Walk()
    run_job = grading_job.run_job

    @wraps(run_job)
    def noted(*arguments: Any) -> Any:
        with job.noting():
            return run_job(*arguments)

    with TemporaryDirectory(prefix="attention-lab-hops-") as folder:
        course = new_course(Path(folder), lesson)
        hand_in(course, ordinary_class(course, 1), ["student_0000"])
        config = PyFileConfigLoader("nbgrader_config.py", path=folder).load_config()
        config.CourseDirectory.root = folder
        api = NbGraderAPI(config=config)
        os.chdir(folder)
        with autograde.noting():
            result = api.autograde(lesson.folder, "student_0000", force=True)
        if not result["success"]:
            raise SystemExit(f"The submission was not graded: {result['log']}")
        for module in list(sys.modules.values()):
            if vars(module).get("run_job") is run_job:
                module.run_job = noted  # type: ignore[attr-defined]
        api.autograde(lesson.folder, "student_0000", force=True)
        os.chdir(ROOT)
    return {"autograde": autograde, "job": job}


def walk_of_check(lesson: Assignment, exercise: str) -> Walk:
    """Let a tutor check the solution of an exercise; calls of the answer are not noted."""
    walk, tutor = Walk(), Tutor(material_of(lesson.course), seed=1)
    names = {exercise: lesson.reference_answer(exercise)}
    with walk.noting():
        reply = tutor.reply(CheckRequest(folder=lesson.folder, exercise=exercise))
    while isinstance(reply, CallRequest):
        raw_reply = respond((reply.text or b"").decode(), names)
        with walk.noting(new_threads=False):  # those would prepare the next exercises
            reply = tutor.reply(CallReply(conversation=reply.conversation, text=raw_reply.encode()))
    if not isinstance(reply, CheckResult) or reply.points != reply.max_points:
        raise SystemExit(f"The tutor did not accept the solution of {exercise}: {reply}")
    return walk


def main(
    lesson: Annotated[str, typer.Option(help="The folder of the lesson.")] = "02_scaling",
    exercise: Annotated[str, typer.Option(help="What is checked; the lesson's first by default.")] = "",
    files: Annotated[bool, typer.Option("--files", help="List the files, with calls into each.")] = False,
) -> None:
    """Grade one submission and check one answer, and count files of nbjudge and changes of file."""
    walks = walks_of_grading(lesson_named(lesson))
    own = in_course(ROOT, lesson_named(lesson))  # not loaded yet
    walks["check"] = walk_of_check(own, exercise or next(iter(own.exercises)))
    for name, walk in walks.items():
        goal = f" (goal: at most {GOALS[name]})" if name in GOALS else ""
        print(f"{name}: {len(walk.calls)} files{goal}, {walk.changes} changes of file")
        for file, calls in sorted(walk.calls.items()) if files else ():
            print(f"  {calls:7} {file}")
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()


if __name__ == "__main__":
    typer.run(main)
