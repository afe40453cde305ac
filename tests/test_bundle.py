"""The zip for students holds what they need and nothing else, and is the same every time."""

import ast
import io
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from course_copies import MARK_SCHEME, MODEL_ANSWER, ROOT, write_course
from rich.console import Console
from tiny_course import FOLDER, NAME, cell_of

import attention_lab
from attention_lab import cli
from attention_lab.maintain.bundle.gate import leaks
from attention_lab.maintain.bundle.make_bundle import make_bundle
from nbjudge import CourseError
from nbjudge.course import Course, find_course, read_config, released

pytestmark = pytest.mark.integration

NOTEBOOK = f"attention-lab/lessons/{FOLDER}/{NAME}.ipynb"
INSIDE = f"attention_lab/lessons/{FOLDER}/{NAME}.ipynb"
Members = dict[str, bytes]


def read_zip(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_zip(members: Members) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def wheel_in(members: Members, package: str = "attention_lab") -> str:
    return next(name for name in members if name.startswith(f"attention-lab/{package}-"))


def make_school(root: Path) -> None:
    """Fill a folder with the tiny course, its package and its release, and make the zip in `dist/`."""
    write_course(root)
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "attention_lab", root / "attention_lab", ignore=unwanted)
    shutil.copytree(ROOT / "nbjudge/src/nbjudge", root / "nbjudge/src/nbjudge", ignore=unwanted)
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / "nbjudge" / name, root / "nbjudge")
    for name in ("LICENSE", "LICENSE-CONTENT", "environment.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    shutil.copytree(ROOT / "docs", root / "docs", ignore=shutil.ignore_patterns("images"))
    (root / "source" / FOLDER / "given.py").write_text("ANSWER = 42\n")
    release = root / "release" / FOLDER
    release.mkdir(parents=True)
    source = nbformat.read(root / "source" / FOLDER / f"{NAME}.ipynb", as_version=4)
    nbformat.write(released(source, read_config(root)), release / f"{NAME}.ipynb")
    shutil.copy(root / "source" / FOLDER / "given.py", release)
    make_bundle(Course(root), root / "dist", Console(quiet=True))


def type_bundle(patch: pytest.MonkeyPatch, root: Path, status: int, *options: str) -> None:
    """Type `attention-lab bundle` in a course."""
    patch.chdir(root)
    patch.setattr(sys, "argv", ["attention-lab", "bundle", *options])
    with pytest.raises(SystemExit, match=str(status)):
        cli.main()


def course_and_zip(root: Path) -> tuple[Course, Path]:
    (bundle,) = (root / "dist").iterdir()
    return Course(root), bundle


@pytest.fixture
def school(once) -> tuple[Course, Path]:
    return course_and_zip(once("bundled_course", make_school))


@pytest.fixture
def members(school) -> Members:
    return read_zip(school[1].read_bytes())


# ---- the zip ----


def test_the_zip_holds_what_students_need(school, members):
    course, bundle = school
    wheel, grader = wheel_in(members), wheel_in(members, "nbjudge")
    lessons = {NOTEBOOK, f"attention-lab/lessons/{FOLDER}/given.py"}
    names = ("README.md", "LICENSE", "LICENSE-CONTENT", "environment.yml")
    plain = {f"attention-lab/{name}" for name in names}
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


def test_the_same_course_makes_the_same_zip(school, tmp_path):
    course, bundle = school
    copied = tmp_path / "elsewhere"
    shutil.copytree(course.root, copied)
    for file in copied.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
        file.chmod(0o700)
    second_bundle = make_bundle(Course(copied), tmp_path, Console(quiet=True))
    assert second_bundle.read_bytes() == bundle.read_bytes()


def test_another_content_is_another_version(school, members, tmp_path):
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


def test_a_missing_release_is_told(school, tmp_path, monkeypatch, capsys):
    root = tmp_path / "course"
    shutil.copytree(school[0].root, root, ignore=shutil.ignore_patterns("dist", "release"))
    type_bundle(monkeypatch, root, 1)
    output = capsys.readouterr().out
    assert "make build" in output and "Traceback" not in output
    assert not (root / "dist").exists()


@pytest.mark.lesson
def test_the_courses_own_zip_has_no_leak(tmp_path):
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


# ---- with a tutor ----

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
            type_bundle(patch, root, 0, "--tutor", "full")

    return course_and_zip(once("taught_course", make))


@pytest.fixture
def taught_members(taught) -> Members:
    return read_zip(taught[1].read_bytes())


def test_it_checks_from_the_wheels_alone(taught_members, tmp_path):
    """And discloses as much as the course has set."""
    site, seen = tmp_path / "a site", tmp_path / "seen.json"
    for package in ("attention_lab", "nbjudge"):
        for name, data in read_zip(taught_members[wheel_in(taught_members, package)]).items():
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


def test_answers_are_only_where_the_tutor_reads(taught, taught_members):
    assert leaks(taught[1], taught[0], tutor=True) == []
    inside = read_zip(taught_members[wheel_in(taught_members)])
    course = {name for name in inside if name.startswith("attention_lab/course/")}
    files = (f"checks/{NAME}.py", f"source/{FOLDER}/{NAME}.ipynb", "nbgrader_config.py")
    assert course == {f"attention_lab/course/{name}" for name in files}
    holders = {name for name, content in inside.items() if b"okapi" in content}
    assert holders and holders <= course


@pytest.mark.parametrize("file", [f"checks/{NAME}.py", "nbgrader_config.py", "checks/another.py"])
def test_the_gate_refuses_foreign_files(taught, taught_members, tmp_path, file):
    inside = read_zip(taught_members[wheel_in(taught_members)])
    inside[f"attention_lab/course/{file}"] = b"x = 1"
    taught_members[wheel_in(taught_members)] = write_zip(inside)
    (tmp_path / "spoilt.zip").write_bytes(write_zip(taught_members))
    (found,) = leaks(tmp_path / "spoilt.zip", taught[0], tutor=True)
    assert file in found


def test_a_zip_without_a_tutor_may_not_hold_one(taught, monkeypatch, capsys):
    """There is no other tutor than the full one."""
    found = leaks(taught[1], taught[0])
    assert any(f"attention_lab/course/checks/{NAME}.py" in problem for problem in found)
    type_bundle(monkeypatch, taught[0].root, 1, "--tutor", "measured")
    assert "--tutor full" in capsys.readouterr().out


# ---- the leak gate sees every kind of leak, and says it in one sentence ----


def in_notebook(change: Callable[[nbformat.NotebookNode], object]) -> Callable[[Members], None]:
    def leak(members: Members) -> None:
        notebook = nbformat.reads(members[NOTEBOOK].decode(), as_version=4)
        change(notebook)
        members[NOTEBOOK] = nbformat.writes(notebook).encode()

    return leak


def in_cell(cell_id: str, text: str) -> Callable[[Members], None]:
    def write(notebook: nbformat.NotebookNode) -> None:
        cell_of(notebook, cell_id).source += f"\n{text}"

    return in_notebook(write)


def in_wheel(name: str, text: str, package: str = "attention_lab") -> Callable[[Members], None]:
    def leak(members: Members) -> None:
        wheel = wheel_in(members, package)
        inside = read_zip(members[wheel])
        members[wheel] = write_zip({**inside, name: inside.get(name, b"") + text.encode()})

    return leak


def in_zip(name: str, text: str) -> Callable[[Members], None]:
    def leak(members: Members) -> None:
        name_there = f"attention-lab/{name}"
        members[name_there] = members.get(name_there, b"") + text.encode()

    return leak


def with_output(notebook: nbformat.NotebookNode) -> None:
    cell_of(notebook, "shown").outputs = [nbformat.v4.new_output("stream", text="tensor([2.])")]


def with_widgets(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {}}}


def with_hidden_metadata(notebook: nbformat.NotebookNode) -> None:
    cell_of(notebook, "double").metadata.note = {"deep": ["down", f"x\n{MODEL_ANSWER}"]}


GROUP = '@double.group("tapir vectors", points=1)'
HIDDEN = "from nbjudge import check"
# name: (what is put where, words of the sentence that says so)
LEAKS = {
    "a solution": (in_cell("double", "    return 2 * x  # okapi"), ("'double'", NAME, "a solution")),
    "a solution with its marks": (in_cell("double", "### BEGIN SOLUTION"), ("'double'", "BEGIN SOLUTION")),
    "a model answer in prose": (in_cell("why", MODEL_ANSWER), ("'why'", "a solution")),
    "a hidden test": (in_cell("test_double", HIDDEN), ("'test_double'", "a hidden test")),
    "a hidden region": (in_cell("test_double", "### END HIDDEN TESTS"), ("'test_double'", "a hidden test")),
    "a mark scheme": (in_cell("why_question", MARK_SCHEME), ("'why_question'", "a mark scheme")),
    "a check": (in_cell("title", GROUP), ("'title'", "a check", "checks/tiny.py")),
    "an output": (in_notebook(with_output), ("'shown'", "outputs")),
    "widget state": (in_notebook(with_widgets), (NAME, "widgets")),
    "an answer in a cell's metadata": (in_notebook(with_hidden_metadata), ("'double'", "a solution")),
    "an answer in the README": (in_zip("README.md", f"\n{MODEL_ANSWER}\n"), ("README.md", "a solution")),
    "a cell that the source has not": (in_cell("title", "More."), (NAME, "not what its source makes")),
    "a given file of another kind": (
        in_zip(f"lessons/{FOLDER}/given.py", "B = 1\n"),
        ("given.py", "source/"),
    ),
    "the checks": (in_zip("checks/tiny.py", GROUP), ("checks/tiny.py", "take it out")),
    "a gradebook": (in_zip("gradebook.db", "SQLite"), ("gradebook.db", "take it out")),
    "a module of the grader": (
        in_wheel("nbjudge/judge/scoring.py", ""),
        ("nbjudge/judge/scoring.py", "take it out"),
    ),
    "checks in the grader's wheel": (
        in_wheel("nbjudge/checks/tiny.py", GROUP, "nbjudge"),
        ("nbjudge/checks/tiny.py", "take it out"),
    ),
    "a changed module of the grader": (
        in_wheel("nbjudge/errors.py", f"\n{GROUP}\n", "nbjudge"),
        ("nbjudge/errors.py", "make the zip again"),
    ),
    "an answer about the grader's wheel": (
        in_wheel("nbjudge-0.1.0.dist-info/METADATA", f"\n{MODEL_ANSWER}\n", "nbjudge"),
        ("METADATA", "a solution"),
    ),
    "a grader's wheel that is missing": (
        lambda members: members.pop(wheel_in(members, "nbjudge")),
        ("not one of each",),
    ),
    "a changed module": (
        in_wheel("attention_lab/memory.py", "KEY = 1\n"),
        ("memory.py", "make the zip again"),
    ),
    "a solution inside the wheel": (in_wheel(INSIDE, "return 2 * x"), (INSIDE, "notebook")),
    "an answer about the wheel": (
        in_wheel("attention_lab-0.2.0.dist-info/METADATA", f"\n{MODEL_ANSWER}\n"),
        ("METADATA", "a solution"),
    ),
    "a lesson that is missing": (lambda members: members.pop(NOTEBOOK), (NAME, "is missing")),
    "a wheel that is missing": (lambda members: members.pop(wheel_in(members)), ("not one of each",)),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_the_gate_refuses(school, members, tmp_path, leak):
    spoil, words = LEAKS[leak]
    spoil(members)
    (tmp_path / "spoilt.zip").write_bytes(write_zip(members))
    found = leaks(tmp_path / "spoilt.zip", school[0])
    assert len(found) == 1, found
    assert all(word in found[0] for word in words), found
    # One sentence, and after it what to do.
    assert re.search(r"(: |, )(take|run|clear|make|put)[^.]*.*\.$", found[0]), found


def test_the_gate_refuses_links_and_twins(school, members, tmp_path):
    bundle = tmp_path / "made.zip"
    bundle.write_bytes(b"no zip")
    assert "cannot be read as a zip" in leaks(bundle, school[0])[0]
    with zipfile.ZipFile(bundle, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr(NOTEBOOK, members[NOTEBOOK])
        link = zipfile.ZipInfo("attention-lab/lessons/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    problems = leaks(bundle, school[0])
    assert len(problems) == 2 and "twice" in problems[0] and "link" in problems[1], problems


def test_a_course_that_hides_nothing_makes_no_zip(school, tmp_path):
    """The gate does not rely on what makes the release: here nbgrader is told to leave everything in."""
    root = tmp_path / "course"
    shutil.copytree(school[0].root, root, ignore=shutil.ignore_patterns("dist"))
    careless = "c.GenerateAssignment.preprocessors = ['nbgrader.preprocessors.LockCells']\n"
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(careless)
    source = nbformat.read(root / "source" / FOLDER / f"{NAME}.ipynb", as_version=4)
    given_away = released(source, read_config(root))
    nbformat.write(given_away, root / "release" / FOLDER / f"{NAME}.ipynb")
    log = io.StringIO()
    with pytest.raises(CourseError, match="No zip was made"):
        make_bundle(Course(root), tmp_path / "dist", Console(file=log, width=10_000))
    assert not (tmp_path / "dist").exists()
    for words in ("a solution", "a hidden test", "a mark scheme"):
        assert words in log.getvalue()
    assert "'why'" in log.getvalue()
