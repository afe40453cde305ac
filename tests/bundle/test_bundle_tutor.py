"""A zip with a tutor brings checks and solutions where the tutor reads them, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from bundle_school import Members, course_and_zip, make_school, read_zip, wheel_in, write_zip
from tiny_course import FOLDER, NAME

from attention_lab import cli
from attention_lab.maintain.bundle.gate import leaks
from nbjudge.course.course import Course

pytestmark = pytest.mark.integration

LEARNER = """
import json, os
from importlib.util import find_spec
import torch
from attention_lab import check
from pathlib import Path
assert Path(find_spec("nbjudge").origin).is_relative_to(os.environ["SITE"])

def double(x):
    return 3 * x

wrong = check("double")
double = lambda x: x + x
right = check("double")
with open(os.environ["SEEN"], "w") as file:
    json.dump([repr(shown) for shown in (wrong, wrong.mistake(), right, right.solution())], file)
"""


@pytest.fixture(scope="module")
def taught(once) -> tuple[Course, Path]:
    def make(root: Path) -> None:
        make_school(root)
        with (root / "nbgrader_config.py").open("a") as config:
            config.write(f"c.Tutor.levels = {{{FOLDER!r}: 'measured'}}\n")
        for earlier in (root / "dist").iterdir():
            earlier.unlink()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(root)
            patch.setattr(sys, "argv", ["attention-lab", "bundle", "--tutor", "full"])
            with pytest.raises(SystemExit, match="0"):
                cli.main()

    return course_and_zip(once("taught_course", make))


@pytest.fixture
def members(taught) -> Members:
    return read_zip(taught[1].read_bytes())


def test_it_checks_from_the_wheels_alone(members, tmp_path):
    """And discloses as much as the course has set."""
    site, seen = tmp_path / "a site", tmp_path / "seen.json"
    for package in ("attention_lab", "nbjudge"):
        for name, data in read_zip(members[wheel_in(members, package)]).items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_bytes(data)
    work = tmp_path / "my work" / FOLDER
    work.mkdir(parents=True)
    paths = os.pathsep.join((str(site), sysconfig.get_paths()["purelib"]))
    run = subprocess.run(
        [sys.executable, "-S", "-c", LEARNER],  # without what is installed for editing
        cwd=work,
        env=os.environ | {"SEEN": str(seen), "SITE": str(site), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    wrong, mistake, right, solution = json.loads(seen.read_text())
    assert "1.5 times" in wrong
    assert "leaves this to you" in mistake and "leaves this to you" in solution
    assert "✓ right in all 2 groups of cases" in right and "✗" not in right


def test_answers_are_where_the_tutor_reads_them_and_nowhere_else(taught, members):
    assert leaks(taught[1], taught[0], tutor=True) == []
    inside = read_zip(members[wheel_in(members)])
    course = {name for name in inside if name.startswith("attention_lab/course/")}
    files = (f"checks/{NAME}.py", f"source/{FOLDER}/{NAME}.ipynb", "nbgrader_config.py")
    assert course == {f"attention_lab/course/{name}" for name in files}
    holders = {name for name, content in inside.items() if b"okapi" in content}
    assert holders and holders <= course


@pytest.mark.parametrize("file", [f"checks/{NAME}.py", "nbgrader_config.py", "checks/another.py"])
def test_the_gate_refuses_what_the_course_does_not_have(taught, members, tmp_path, file):
    inside = read_zip(members[wheel_in(members)])
    inside[f"attention_lab/course/{file}"] = b"x = 1"
    members[wheel_in(members)] = write_zip(inside)
    (tmp_path / "spoilt.zip").write_bytes(write_zip(members))
    (found,) = leaks(tmp_path / "spoilt.zip", taught[0], tutor=True)
    assert file in found


def test_a_zip_without_a_tutor_may_not_hold_one(taught):
    found = leaks(taught[1], taught[0])
    assert any(f"attention_lab/course/checks/{NAME}.py" in problem for problem in found)


def test_there_is_no_other_tutor(taught, monkeypatch, capsys):
    monkeypatch.chdir(taught[0].root)
    monkeypatch.setattr(sys, "argv", ["attention-lab", "bundle", "--tutor", "measured"])
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert "--tutor full" in capsys.readouterr().out
