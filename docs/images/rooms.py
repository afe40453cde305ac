"""Draws rooms.svg, the grader's folders, for docs/how-it-works.md: `python docs/images/rooms.py`.

A room is a folder of nbjudge/src/nbjudge. `tests/test_rooms_picture.py` holds the picture to the folders and
to their imports, which run downwards or within a row.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("rooms.svg")


class Room(NamedTuple):
    """A folder (or file), what it is for in a few words a line, and what of it runs beside student code."""

    name: str
    purpose: tuple[str, ...]
    inside: str = ""


# From top to bottom: a name for the row, and its rooms from left to right.
ROWS: dict[str, tuple[Room, ...]] = {
    "what people type": (
        Room("cli.py", ("the command", "nbjudge")),
        Room("batch/", ("a whole class, on all", "cores or a cluster")),
        Room("report/", ("what the class", "has understood")),
        Room("preflight/", ("checks, tried before", "a class meets them")),
        Room("skeletons/", ("init, new lessons", "and exercises")),
    ),
    "while a learner works": (
        Room("classroom/", ("a class's tutor, a service of its hub,", "and the board of its mistakes")),
        Room("tutor/", ("the judge beside a kernel:", "smallest cases, hints, solutions")),
    ),
    "where nbgrader calls": (
        Room("nbgrader_hooks/", ("the classes that nbgrader_config.py", "names, and what a course may set")),
        Room("feedback/", ("the page that", "a student gets back")),
        Room("exports/", ("grades for Canvas", "and Moodle")),
    ),
    "one notebook": (
        Room("grading/", ("a job, data in and data out: the stages below, one after another",)),
        Room("regrade/", ("what a person decides instead",)),
    ),
    "an extra": (
        Room("torch/", ("tensors and modules: their kind of value, what watches them, what draws them",)),
    ),
    "its stages": (
        Room("kernel/", ("runs cells and calls answers", "in a kernel of its own")),
        Room("judge/", ("compares, and", "names the mistake")),
        Room("record/", ("the verdict, into", "the graded cell")),
    ),
    "what they stand on": (
        Room("sandbox/", ("what is exposed,", "the fork server"), inside="inside/"),
        Room("probe/", ("calls answers in", "the kernel"), inside="names.py"),
        Room("course/", ("lessons, checks,", "students, grades")),
        Room("submission/", ("read as it is, merged", "into the source")),
        Room("authoring/", ("what a file of checks", "is written with")),
        Room("values/", ("arrays, tables: sent,", "copied, compared")),
    ),
}
STAGES = "its stages"

WIDTH, MARGIN, LABELS = 1000, 16, 146  # pixels; LABELS: the column of the rows' names
GAP, ROW_GAP, LINE = 18, 16, 18
LEGEND = "dashed: this part runs in the sandbox, beside student code"
# The panel brings its own background, so that it reads on a page of any colour.
STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px;
         fill: #1b2733 }
  .name { font-family: ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace; font-size: 15px;
          font-weight: bold }
  .row { fill: #4d5b68 }
  .panel { fill: #f6f8fa; stroke: #c4ccd4 }
  .room { fill: #ffffff; stroke: #6b7a88 }
  .stage { fill: #e3eff5; stroke: #2f6f8f; stroke-width: 1.5 }
  .inside { fill: none; stroke: #a3421b; stroke-width: 1.5; stroke-dasharray: 4 3 }
  .way { fill: #2f6f8f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .row { fill: #a9b4bf }
    .panel { fill: #161b22; stroke: #3d4650 }
    .room { fill: #21282f; stroke: #7d8994 }
    .stage { fill: #173241; stroke: #6fb3d3 }
    .inside { stroke: #f0936a }
    .way { fill: #6fb3d3 }
  }
"""


def picture() -> str:
    """The drawing as SVG."""
    top, drawn = MARGIN, []
    for name, rooms in ROWS.items():
        height = 30 + LINE * max(len(room.purpose) for room in rooms)
        drawn += _row(name, rooms, top, height)
        top += height + ROW_GAP
    drawn.append(f'<rect class="inside" x="{LABELS + MARGIN}" y="{top + 1}" width="24" height="14" rx="3"/>')
    drawn.append(_text(LABELS + MARGIN + 34, top + 13, LEGEND, "row"))
    top += LINE
    height = top + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-labelledby="title">\n<title id="title">The rooms of the grader, in five rows: what stands '
        f"higher imports what stands lower.</title>\n<style>{STYLE}</style>\n"
        f'<rect class="panel" x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="8"/>'
    )
    return "\n".join([head, *drawn, "</svg>\n"])


def _row(name: str, rooms: tuple[Room, ...], top: int, height: int) -> list[str]:
    left, is_stage = LABELS + MARGIN, name == STAGES
    width = (WIDTH - MARGIN - left - GAP * (len(rooms) - 1)) / len(rooms)
    drawn = [_text(MARGIN, top + height / 2 + 5, name, "row")]
    for room in rooms:
        drawn.append(
            f'<rect class="{"stage" if is_stage else "room"}" x="{left:g}" y="{top}" width="{width:g}" '
            f'height="{height}" rx="5"/>'
        )
        drawn.append(_text(left + 10, top + 21, room.name, "name"))
        if room.inside:
            chip = 10 + 7 * len(room.inside)
            edge = left + width - chip - 7
            drawn.append(
                f'<rect class="inside" x="{edge:g}" y="{top + 6}" width="{chip}" height="21" rx="3"/>'
            )
            drawn.append(_text(edge + 4, top + 21, room.inside, ""))
        drawn += [_text(left + 10, top + 41 + LINE * at, line, "") for at, line in enumerate(room.purpose)]
        left += width + GAP
        if is_stage and room is not rooms[-1]:
            x, y = left - GAP + 4, top + height / 2
            drawn.append(f'<path class="way" d="M{x:g} {y - 6:g} l10 6 l-10 6 z"/>')
    return drawn


def _text(x: float, y: float, words: str, kind: str) -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{x:g}" y="{y:g}">{escape(words, quote=False)}</text>'


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
