"""A zip with a tutor, which measures: it asks from recordings, and nothing in it gives an answer away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from bundle_school import Members, course_and_zip, make_school, read_zip, wheel_in, write_zip
from rich.console import Console
from tiny_course import FOLDER, ROOT

from attention_lab import cli
from attention_lab.maintain.bundle.gate import leaks
from attention_lab.maintain.bundle.make_bundle import make_bundle
from nbjudge.course.course import Course
from nbjudge.tutor.recordings import CONTENT

pytestmark = pytest.mark.integration

COURSE = "attention_lab/course"
RECORDED, SETTINGS = f"{COURSE}/recorded/{FOLDER}.recorded", f"{COURSE}/recorded/tutor.json"
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
    json.dump([repr(each) for each in (wrong, wrong.mistake(), wrong.solution(), right)], file)
"""


@pytest.fixture(scope="module")
def taught(once) -> tuple[Course, Path]:
    def make(root: Path) -> None:
        make_school(root)
        config = root / "nbgrader_config.py"
        config.write_text(f'{config.read_text()}c.Tutor.level = "full"\n')
        bundle = make_bundle(Course(root), root / "dist", Console(quiet=True), tutor=True)
        bundle.replace(root / "dist/with a tutor.zip")
        (root / "dist" / bundle.name).unlink(missing_ok=True)

    return course_and_zip(once("taught_course", make))


@pytest.fixture
def members(taught) -> Members:
    return read_zip(taught[1].read_bytes())


def test_it_measures_from_the_wheels_alone_and_knows_no_mistakes(members, tmp_path):
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
    wrong, mistake, solution, right = json.loads(seen.read_text())
    assert "Every number in doubled is 1.5 times what it should be" in wrong
    assert "leaves this to you" in mistake and "leaves this to you" in solution
    assert "✓ right in all 2 groups of cases" in right and "✗" not in right


def test_what_it_asks_with_holds_no_answer(taught, members):
    assert leaks(taught[1], taught[0], tutor=True) == []
    recorded = b"".join(read_zip(read_zip(members[wheel_in(members)])[RECORDED]).values())
    for private in (b"okapi", b"quagga", b"draw.", b"def ", b"2 * x"):
        assert private not in recorded
    assert b"tapir" in recorded  # the groups of cases have names, which a learner reads


def with_content(content):
    """Put other content into a recording."""

    def spoil(recording: bytes) -> bytes:
        return write_zip(read_zip(recording) | {CONTENT: json.dumps(content).encode()})

    return spoil


def with_text(text: str):
    return with_content([FOLDER, [text], {"dict": []}])


CODE = {"os.mkdir": {"path": "made by a recording"}}
SPOILT = {
    "code to be run": (RECORDED, with_content([FOLDER, [CODE], {}]), "mkdir is no part"),
    "no recording": (RECORDED, lambda _: b"anything", "cannot be read"),
    "a model answer": (RECORDED, with_text("    return 2 * x  # okapi"), "a solution"),
    "a line of a check": (RECORDED, with_text('@double.group("tapir vectors", points=1)'), "a check"),
    "other settings": (SETTINGS, lambda _: b'{"level": "measured"}', "nbgrader_config.py"),
    "a copy of the grader": ("nbjudge/errors.py", lambda _: b"x = 1", "no part"),
    "a check": ("attention_lab/course/checks/tiny.py", lambda _: b"x = 1", "no part"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_the_gate_refuses(taught, members, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    file, spoil, message = SPOILT[name]
    inside = read_zip(members[wheel_in(members)])
    inside[file] = spoil(inside.get(file, b""))
    members[wheel_in(members)] = write_zip(inside)
    Path("spoilt.zip").write_bytes(write_zip(members))
    (found,) = leaks(Path("spoilt.zip"), taught[0], tutor=True)
    assert file in found and message in found
    assert not Path("made by a recording").exists()


def test_a_zip_without_a_tutor_may_not_hold_one(taught):
    found = leaks(taught[1], taught[0])
    assert any(RECORDED in problem for problem in found)


def test_another_tutor_is_refused_in_a_sentence(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["attention-lab", "bundle", "--tutor", "full"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "--tutor measured" in capsys.readouterr().out
