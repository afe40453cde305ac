"""`nbjudge try` grades the solution once in a student's kernel, and says what it loses there only."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from old_course import CLIP_TEST, code, make_clip_course
from rich.console import Console

from nbjudge.course.course import open_course
from nbjudge.sandbox import bubblewrap
from nbjudge.try_checks.command import try_all

ANSWER = "def clip(x):\n    ### BEGIN SOLUTION\n    return min(x, limit)\n    ### END SOLUTION"


def tried(root: Path, answer: str, later: str) -> tuple[int, str]:
    """The command's exit status and output, for a course whose given cell `later` is above the test."""
    cells = [code("limit = 3.0"), code(answer, "clip", solution=True), code(later)]
    cells += [code("clip(1.0)", "test_clip", **CLIP_TEST), code("1 / 0")]
    shown = io.StringIO()
    console = Console(file=shown, width=200)
    status = try_all(open_course(make_clip_course(root, cells)), "clip", "", 1, console, in_a_kernel=True)
    return status, shown.getvalue()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answer", "later", "status"),
    [
        (ANSWER, "limit = 0.25", 0),  # the reference and the kernel have the same limit
        (f"limit = 2.0\n{ANSWER}", "pass", 0),
        (f"limit = 2.0\n{ANSWER}", "limit = 0.25", 1),  # the answer's own, and the course's
    ],
)
def test_the_solution_is_graded_in_a_kernel(tmp_path, answer, later, status):
    """A name that the answer and a given cell both set costs the solution points in a kernel only."""
    ended, shown = tried(tmp_path, answer, later)
    assert ended == status, shown
    assert ("The solution of `clip` gets 0 of 2 points in a student's kernel" in shown) == bool(status)


def test_without_a_sandbox_the_kernel_is_left_out(tmp_path, monkeypatch):
    """The command says so, and tries the rest."""
    monkeypatch.setattr(bubblewrap, "refusal", lambda: "There is no bubblewrap.")
    ended, shown = tried(tmp_path, ANSWER, "pass")
    assert ended == 0
    assert "The solution was not run in a student's kernel: There is no bubblewrap." in shown
