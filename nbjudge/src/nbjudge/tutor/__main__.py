"""`python -m nbjudge.tutor COURSE [LESSON [FILE]]`: a tutor for the kernel that started it, on this machine.

The token comes as the first line of standard input, the port goes out as the first line of standard output.
When standard input ends, because the kernel has ended, so does the tutor; where that was in the middle of a
question, it leaves the exercise's name in the file.
"""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from pathlib import Path

from nbjudge.course.course import find_course
from nbjudge.errors import CourseError
from nbjudge.tutor.material import Material, material_of
from nbjudge.tutor.recordings import SUFFIX, recorded_material
from nbjudge.tutor.service import serve
from nbjudge.tutor.tutor import Tutor


def main(course: str, folder: str = "", last_words: str = "") -> None:
    token = sys.stdin.readline().strip()
    try:
        material = _material(Path(course))
    except CourseError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    tutor = Tutor(material)
    server = serve(tutor, token)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    threading.Thread(target=_warm_up, args=(tutor, material, folder), daemon=True).start()
    sys.stdin.read()  # until the kernel has ended
    if last_words and tutor.asking:
        with suppress(OSError):
            Path(last_words).parent.mkdir(exist_ok=True)
            Path(last_words).write_text(tutor.asking, "utf-8")


def _material(folder: Path) -> Material:
    """From a course's sources and checks, or from recordings of them."""
    if any(folder.glob(f"*{SUFFIX}")):
        return recorded_material(folder)
    return material_of(find_course(folder))


def _warm_up(tutor: Tutor, material: Material, folder: str) -> None:
    """Load the libraries and the lesson's first exercise before somebody waits for them."""
    lesson = material.lessons.get(folder)
    with suppress(CourseError):  # the check itself will say so
        if lesson is not None:
            tutor.prepare(lesson, lesson.coded[0])


main(*sys.argv[1:])
