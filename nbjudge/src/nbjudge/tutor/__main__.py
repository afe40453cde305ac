"""`python -m nbjudge.tutor COURSE [ASSIGNMENT [FILE]]`: a tutor for the kernel that started it.

Requests come over standard input, replies go out over standard output (`nbjudge.tutor.service`).
When standard input ends, because the kernel has ended, so does the tutor; where that was in the middle of a
check, it leaves the exercise's name in the file.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from nbjudge.course.course import find_course
from nbjudge.errors import CourseError
from nbjudge.fast_start import no_collection
from nbjudge.tutor.material import Material, material_of
from nbjudge.tutor.messages import Notice
from nbjudge.tutor.service import serve
from nbjudge.tutor.tutor import Tutor


def main(course: str, folder: str = "", last_words: str = "") -> None:
    incoming, outgoing = _pipes()
    try:
        material = material_of(find_course(Path(course)))
    except CourseError as error:
        notice = Notice(sentence=str(error))
        serve(lambda _: notice, incoming, outgoing)
        return
    tutor = Tutor(material)
    warm_up = partial(_warm_up, tutor, material, folder)
    serve(tutor.reply, incoming, outgoing, warm_up)  # until the kernel has ended
    if last_words and tutor.called_exercise:
        with suppress(OSError):
            Path(last_words).parent.mkdir(exist_ok=True)
            Path(last_words).write_text(tutor.called_exercise, "utf-8")


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output, for messages alone: what prints or reads here meets stderr or nothing."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return incoming, outgoing


def _warm_up(tutor: Tutor, material: Material, folder: str) -> None:
    """Load the libraries and the assignment's first exercise before a learner waits for them."""
    assignment = material.assignments.get(folder)
    with no_collection(), suppress(CourseError):  # the check itself will say so
        if assignment is not None:
            tutor.prepare(assignment, assignment.coded[0])


main(*sys.argv[1:])
