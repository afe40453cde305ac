"""The zip for students holds what they need and nothing else, and is the same every time."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from bundle_school import (
    INSIDE,
    NOTEBOOK,
    Members,
    read_zip,
    wheel_in,
)
from fresh_clone import ROOT
from rich.console import Console
from tiny_course import FOLDER

import attention_lab
from attention_lab import cli
from attention_lab.maintain.bundle.gate import leaks
from attention_lab.maintain.bundle.make_bundle import make_bundle
from nbjudge.course.course import Course, find_course

pytestmark = pytest.mark.integration


def test_the_zip_holds_the_lessons_their_wheel_and_how_to_begin_and_no_leak(school, members):
    course, bundle = school
    wheel, grader = wheel_in(members), wheel_in(members, "nbjudge")
    lessons = {NOTEBOOK, f"attention-lab/lessons/{FOLDER}/given.py"}
    plain = {
        f"attention-lab/{name}" for name in ("README.md", "LICENSE", "LICENSE-CONTENT", "environment.yml")
    }
    assert set(members) == {wheel, grader, *lessons, *plain}
    assert leaks(bundle, course) == []
    for text in (members["attention-lab/README.md"], members["attention-lab/environment.yml"]):
        assert Path(wheel).name in text.decode() and Path(grader).name in text.decode()
    environment = members["attention-lab/environment.yml"].decode()
    local = [line.strip() for line in environment.splitlines() if "./" in line]
    # And no folder of the instructor's.
    assert local == [f"- ./{Path(grader).name}", f"- ./{Path(wheel).name}[lab]"]
    inside = read_zip(members[wheel])
    assert inside[INSIDE] == members[NOTEBOOK]
    folders = {"/".join(name.split("/")[:2]) for name in inside}
    assert not folders & {f"attention_lab/{name}" for name in ("authoring", "course", "maintain")}
    assert {name.partition("/")[0].partition("-")[0] for name in inside} == {"attention_lab"}
    metadata = next(text for name, text in inside.items() if name.endswith("METADATA")).decode()
    assert "Requires-Dist: torch>=" in metadata and "Requires-Dist: nbjudge[learner]>=" in metadata


def test_the_same_course_makes_the_same_zip_to_the_byte(school, tmp_path):
    course, bundle = school
    copied = tmp_path / "elsewhere"
    shutil.copytree(course.root, copied)
    for file in copied.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
        file.chmod(0o700)
    second_bundle = make_bundle(Course(copied), tmp_path, Console(quiet=True))
    assert second_bundle.read_bytes() == bundle.read_bytes()


def test_a_wheel_with_other_content_has_another_version(school, members, tmp_path):
    """pip does not install a wheel over an installed one of the same version."""
    root = tmp_path / "course"
    shutil.copytree(school[0].root, root)
    for folder in ("source", "release"):
        (root / folder / FOLDER / "given.py").write_text("ANSWER = 43\n")
    changed = read_zip(make_bundle(Course(root), tmp_path, Console(quiet=True)).read_bytes())
    assert wheel_in(changed, "nbjudge") == wheel_in(members, "nbjudge")
    versions = set()
    for each in (members, changed):
        wheel = wheel_in(each)
        metadata = next(text for name, text in read_zip(each[wheel]).items() if name.endswith("METADATA"))
        versions.add(version := Path(wheel).name.split("-")[1])
        assert version.startswith(f"{attention_lab.__version__}+")
        assert f"\nVersion: {version}\n" in metadata.decode()
    assert len(versions) == 2


def test_a_release_that_was_never_made_is_said_in_a_sentence(school, tmp_path, monkeypatch, capsys):
    root = tmp_path / "course"
    shutil.copytree(school[0].root, root, ignore=shutil.ignore_patterns("dist", "release"))
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "argv", ["attention-lab", "bundle"])
    with pytest.raises(SystemExit) as exit:
        cli.main()
    output = capsys.readouterr().out
    assert exit.value.code == 1 and "make build" in output and "Traceback" not in output
    assert not (root / "dist").exists()


@pytest.mark.lesson
def test_the_courses_own_zip_has_no_leak_and_its_package_works_alone(tmp_path):
    course = find_course(ROOT)
    bundle = make_bundle(course, tmp_path, Console(width=1000))  # a failed test shows what it says
    members = read_zip(bundle.read_bytes())
    package = tmp_path / "package"
    for name in ("attention_lab", "nbjudge"):
        with zipfile.ZipFile(io.BytesIO(members[wheel_in(members, name)])) as wheel:
            wheel.extractall(package)
    modules = modules_of_ours(members)
    assert len(modules) >= 5
    code = (
        f"import importlib, sys\nsys.path[:0] = {[str(package), *site.getsitepackages()]}\n"
        f"for name in {sorted(modules)}: importlib.import_module(name)\n"
        "import attention_lab\nfrom attention_lab.cli import main\n"
        "from attention_lab.start.lessons import released_lessons\n"
        "print(attention_lab.__file__, released_lessons())\n"
        "sys.argv = ['attention-lab', 'grade', '01_dot_product']\nmain()"
    )
    # Without `site`, which would bring the checkout in: it is installed in this environment.
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout.count(str(package)) == 2, run.stderr
    assert run.returncode == 1 and "This command is for instructors" in run.stdout and not run.stderr


def modules_of_ours(members: Members) -> set[str]:
    """The modules of the helper package that the lessons in a zip import."""
    found = set()
    for name, content in members.items():
        if not name.endswith(".ipynb"):
            continue
        cells = [cell for cell in json.loads(content)["cells"] if cell["cell_type"] == "code"]
        code = "\n".join(re.sub(r"^[%!].*$", "", "".join(cell["source"]), flags=re.M) for cell in cells)
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attention_lab"):
                found.add(node.module)
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names if alias.name.startswith("attention_lab")}
    return found
