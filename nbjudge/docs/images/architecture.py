"""Draw architecture.svg, the packages of the grader, for nbjudge/docs/how-it-works.md.

Run `python nbjudge/docs/images/architecture.py`. `tests/test_repository.py` compares the picture with the
folders of nbjudge/src/nbjudge and with their imports, which run downwards or within a row.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("architecture.svg")


class Package(NamedTuple):
    """A package or module, its purpose in lines of text, and the part that runs in the student's kernel."""

    name: str
    purpose: tuple[str, ...]
    inside: str = ""


# From top to bottom: the name of a row, and its packages from left to right.
ROWS: dict[str, tuple[Package, ...]] = {
    "what people type": (
        Package("cli.py", ("the command", "nbjudge")),
        Package("batch/", ("a whole class, on all", "cores or a cluster")),
        Package("report/", ("what the class", "has understood")),
        Package("try_checks/", ("checks, tried before", "a class meets them")),
        Package("skeletons/", ("init, new lessons", "and exercises")),
    ),
    "while a learner works": (
        Package("classroom/", ("a class's tutor, a service of its hub,", "and the board of its mistakes")),
        Package("tutor/", ("the judge beside a kernel:", "smallest cases, hints, solutions")),
    ),
    "where nbgrader calls": (
        Package(
            "nbgrader_hooks/", ("the classes that nbgrader_config.py", "names, and what a course may set")
        ),
        Package("feedback/", ("the page that", "a student gets back")),
        Package("exports/", ("grades for Canvas", "and Moodle")),
    ),
    "one notebook": (
        Package(
            "grading/",
            ("a job, data in and data out: the stages below, one after another; what a person decides",),
        ),
    ),
    "an extra": (
        Package("torch/", ("tensors and modules: their kind of value, what watches them, what draws them",)),
    ),
    "its stages": (
        Package("kernel/", ("runs cells and calls answers", "in a kernel of its own")),
        Package("judge/", ("compares, and", "names the mistake")),
        Package("record/", ("the verdict, into", "the graded cell")),
    ),
    "what they use": (
        Package("sandbox/", ("what is exposed,", "the fork server"), inside="inside/"),
        Package("probe/", ("calls answers in", "the kernel"), inside="respond.py"),
        Package("course/", ("lessons, checks,", "students, grades")),
        Package("submission/", ("read as it is, merged", "into the source")),
        Package("authoring/", ("what a file of checks", "is written with")),
        Package("values/", ("arrays, tables: sent,", "copied, compared")),
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
  .package { fill: #ffffff; stroke: #6b7a88 }
  .stage { fill: #e3eff5; stroke: #2f6f8f; stroke-width: 1.5 }
  .inside { fill: none; stroke: #a3421b; stroke-width: 1.5; stroke-dasharray: 4 3 }
  .way { fill: #2f6f8f }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .row { fill: #a9b4bf }
    .panel { fill: #161b22; stroke: #3d4650 }
    .package { fill: #21282f; stroke: #7d8994 }
    .stage { fill: #173241; stroke: #6fb3d3 }
    .inside { stroke: #f0936a }
    .way { fill: #6fb3d3 }
  }
"""


def picture() -> str:
    """The drawing as SVG."""
    top, drawn = MARGIN, []
    for name, packages in ROWS.items():
        height = 30 + LINE * max(len(package.purpose) for package in packages)
        drawn += _row(name, packages, top, height)
        top += height + ROW_GAP
    drawn.append(f'<rect class="inside" x="{LABELS + MARGIN}" y="{top + 1}" width="24" height="14" rx="3"/>')
    drawn.append(_text(LABELS + MARGIN + 34, top + 13, LEGEND, "row"))
    top += LINE
    height = top + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-labelledby="title">\n<title id="title">The packages of the grader in rows: each imports only '
        f"from its own row and the rows below.</title>\n<style>{STYLE}</style>\n"
        f'<rect class="panel" x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="8"/>'
    )
    return "\n".join([head, *drawn, "</svg>\n"])


def _row(name: str, packages: tuple[Package, ...], top: int, height: int) -> list[str]:
    left, is_stage = LABELS + MARGIN, name == STAGES
    width = (WIDTH - MARGIN - left - GAP * (len(packages) - 1)) / len(packages)
    drawn = [_text(MARGIN, top + height / 2 + 5, name, "row")]
    for package in packages:
        drawn.append(
            f'<rect class="{"stage" if is_stage else "package"}" x="{left:g}" y="{top}" width="{width:g}" '
            f'height="{height}" rx="5"/>'
        )
        drawn.append(_text(left + 10, top + 21, package.name, "name"))
        if package.inside:
            chip = 10 + 7 * len(package.inside)
            edge = left + width - chip - 7
            drawn.append(
                f'<rect class="inside" x="{edge:g}" y="{top + 6}" width="{chip}" height="21" rx="3"/>'
            )
            drawn.append(_text(edge + 4, top + 21, package.inside, ""))
        drawn += [_text(left + 10, top + 41 + LINE * at, line, "") for at, line in enumerate(package.purpose)]
        left += width + GAP
        if is_stage and package is not packages[-1]:
            x, y = left - GAP + 4, top + height / 2
            drawn.append(f'<path class="way" d="M{x:g} {y - 6:g} l10 6 l-10 6 z"/>')
    return drawn


def _text(x: float, y: float, words: str, kind: str) -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{x:g}" y="{y:g}">{escape(words, quote=False)}</text>'


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
