"""An interpreter of any kind finds what it needs in the sandbox, and no one else's files with it."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from nbjudge.errors import CourseError
from nbjudge.sandbox import bubblewrap
from nbjudge.sandbox.bubblewrap import SYSTEM, exposed_paths, readable
from nbjudge.sandbox.fork_server_client import close_fork_server

pytestmark = pytest.mark.integration

PACKAGES = Path(__file__).parents[3] / "nbjudge" / "src"
STDLIB = Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix}))
PRINT_BWRAP_ARGS = """
import json, sys
sys.path[0] = sys.argv[1]
from nbjudge.sandbox import bubblewrap
readable = list(map(str, bubblewrap.shown_to_students()))
print(json.dumps([sys.executable, bubblewrap._bwrap_args(()), readable]))
"""
LOOK = """
import ctypes, decimal, hashlib, json, os, sqlite3, ssl, sys, zoneinfo
zoneinfo.ZoneInfo("Europe/Berlin")
found = []
for folder, _, files in os.walk("/"):
    found += [os.path.join(folder, name) for name in files if name == "of-the-course"]
try:
    import a_package
    found.append(a_package.WORD)
except ImportError:
    pass
print(json.dumps([sys.prefix, found]))
"""
PRIVATE = ("share/nbgrader/exchange", "share/jupyter", "etc/jupyter", "var", "src", "courses", "share")


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def install(prefix: Path) -> Path:
    """This interpreter once more, as conda or a docker image has one: all of it in a folder of its own."""
    unneeded = shutil.ignore_patterns("site-packages", "test", "idlelib", "config-*", "__pycache__")
    (prefix / "bin").mkdir(parents=True)
    interpreter = prefix / "bin" / "python3"
    shutil.copy2(os.path.realpath(sys.executable), interpreter)
    shutil.copytree(STDLIB, prefix / "lib" / STDLIB.name, ignore=unneeded, copy_function=link_or_copy)
    for library in STDLIB.parent.glob("libpython*"):
        shutil.copy2(library, prefix / "lib")
    return interpreter


def add_package(interpreter: Path) -> None:
    code = "import site; print(site.getsitepackages()[0])"
    found = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=True)
    folder = Path(found.stdout.strip())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a_package.py").write_text("WORD = 'the package'\n")


def leave_private_files(prefix: Path) -> None:
    for name in PRIVATE:
        (prefix / name).mkdir(parents=True, exist_ok=True)
        (prefix / name / "of-the-course").write_text("no student is to read this")


def bwrap_command(interpreter: Path) -> tuple[list[str], list[Path]]:
    """Return what bubblewrap is told to show for an interpreter, and the list of it."""
    command = [interpreter, "-B", "-c", PRINT_BWRAP_ARGS, str(PACKAGES)]
    run = subprocess.run(command, capture_output=True, text=True, env={}, check=True)
    executable, bwrap_args, shown = json.loads(run.stdout)
    # The copy of an interpreter looks for its library where the original does.
    libraries = ["--setenv", "LD_LIBRARY_PATH", str(interpreter.resolve().parents[1] / "lib")]
    return [*bwrap_args, *libraries, executable, "-B", "-c", LOOK], list(map(Path, shown))


def seen_by(interpreter: Path) -> tuple[str, list[str]]:
    command, _ = bwrap_command(interpreter)
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    prefix, found = json.loads(run.stdout)
    return prefix, found


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    return tmp_path / "opt" / "python"


def test_an_interpreter_sees_its_packages_only(installed):
    interpreter = install(installed)
    add_package(interpreter)
    leave_private_files(installed)
    assert seen_by(interpreter) == (str(installed), ["the package"])


@pytest.mark.parametrize(
    ("links", "place"), [("absolute", ".venv"), ("through another folder", ".venv"), ("absolute", ".")]
)
def test_an_environment_in_a_course_hides_the_course(installed, tmp_path, links, place):
    """Also where the course itself is the environment."""
    interpreter = install(installed)
    if links == "through another folder":  # as uv and Homebrew do
        (tmp_path / "current").symlink_to(installed)
        interpreter = tmp_path / "current" / "bin" / "python3"
    course = tmp_path / "course"
    environment = course / place
    for folder in {course, environment, installed}:
        leave_private_files(folder)
    subprocess.run([interpreter, "-m", "venv", "--without-pip", "--symlinks", environment], check=True)
    add_package(environment / "bin" / "python")
    assert seen_by(environment / "bin" / "python") == (str(environment), ["the package"])
    if environment != course:
        _, shown = bwrap_command(environment / "bin" / "python")
        assert readable([("The course", course)], shown) is None


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the system brings no Python")
def test_the_systems_own_interpreter_sees_its_packages():
    interpreter = Path("/usr/bin/python3")
    minor = subprocess.run([interpreter, "-c", "import sys; print(sys.version_info[1])"], capture_output=True)
    if int(minor.stdout) < 11:
        pytest.skip("the system's Python is too old")
    assert seen_by(interpreter) == ("/usr", [])


def test_of_usr_only_what_programs_need_is_shown():
    shown = set(map(str, exposed_paths()))
    assert not shown & {"/", "/usr", "/usr/share", "/usr/local", "/usr/local/share", "/usr/local/etc", "/etc"}
    assert not shown & {sys.prefix, sys.base_prefix, f"{sys.prefix}/share", f"{sys.base_prefix}/share"}
    assert shown - set(SYSTEM)
    for private in (
        "/usr/local/share/nbgrader/exchange",
        "/usr/src",
        "/etc/jupyter",
        "/usr/local/etc/jupyter",
    ):
        assert readable([("It", Path(private))], exposed_paths()) is None


def test_what_is_under_a_shown_folder_is_named(tmp_path):
    shown, course = tmp_path / "shown", tmp_path / "courses" / "one"
    (shown / "deep").mkdir(parents=True)
    course.mkdir(parents=True)
    assert readable([("The course", course)], [shown]) is None
    sentence = readable([("The course", course), ("The exchange", shown / "deep" / "exchange")], [shown])
    assert sentence == (
        f"The exchange ({shown}/deep/exchange) is inside {shown}, which student code can read in the "
        "sandbox: move it to a folder outside of it."
    )
    (tmp_path / "link to shown").symlink_to(shown)
    assert "The course" in readable([("The course", tmp_path / "link to shown" / "deep")], [shown])
    (shown / "link to the course").symlink_to(course)
    assert readable([("The course", course)], [shown]) is None  # a link leads nowhere inside
    (tmp_path / "link to courses").symlink_to(course.parent)
    assert "The course" in readable([("The course", course)], [tmp_path / "link to courses"])
    # An environment inside the course shows itself and not the course.
    assert readable([("The course", course)], [course / ".venv" / "lib"]) is None


@pytest.fixture
def a_course(tmp_path, monkeypatch):
    """A package of some course, in a folder that is shown under two names."""
    package = tmp_path / "lib" / "a_course"
    for name in ("pictures", "answers", "data", "__pycache__"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    for name in ("news", "key"):
        (package / "data" / f"{name}.py").touch()
    for name in ("__init__", "plots", "solved"):
        (package / f"{name}.py").touch()
    (tmp_path / "again").symlink_to(tmp_path / "lib")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "a_course"]:
        del sys.modules[name]


EXPOSED_MODULES = ("a_course.plots", "a_course.pictures", "a_course.data.news")


def test_only_named_modules_of_a_package_are_seen(a_course, monkeypatch):
    places = [a_course / "again", a_course / "lib"]
    monkeypatch.setattr(bubblewrap, "exposed_paths", lambda: places)
    words = bubblewrap.command(5, [], EXPOSED_MODULES)
    emptied = {words[at + 1] for at, word in enumerate(words) if word == "--tmpfs"}
    read_only = [words[at : at + 2] for at, word in enumerate(words, 1) if word == "--ro-bind"]
    emptied |= {place for shown, place in read_only if "null" in shown}
    for place in places:
        hidden = {Path(path).name for path in emptied if Path(path).is_relative_to(place / "a_course")}
        assert hidden == {"answers", "solved.py", "key.py", "__pycache__"}
    monkeypatch.undo()  # elsewhere, only they are shown
    monkeypatch.syspath_prepend(a_course / "lib")
    shown = set(bubblewrap.shown_to_students(EXPOSED_MODULES)) - set(bubblewrap.shown_to_students())
    package = a_course / "lib" / "a_course"
    files = ("__init__.py", "plots.py", "pictures", "data/__init__.py", "data/news.py")
    assert shown == {package / name for name in files}
    for name in ("a_course.plot", "no_course", "a_course.plots.more", ""):
        with pytest.raises(CourseError, match=f"names the module '{name}', which this Python cannot find"):
            bubblewrap.command(5, [], (name,))


def test_hidden_files_of_a_package_below_tmp(a_course, start, tmp_path, monkeypatch):
    """They are in a folder that is read-only by then, and what a kernel writes there the next would find."""
    exposed, package = [*exposed_paths(), a_course / "lib"], a_course / "lib" / "a_course"
    monkeypatch.setattr(bubblewrap, "exposed_paths", lambda: exposed)
    (package / "solved.py").write_text("answer = 1")
    (tmp_path / "work").mkdir()
    look = f"""
import os, sys
sys.path.append({str(a_course / "lib")!r})
import a_course.plots
print(os.listdir({str(package / "answers")!r}))
for file, mode in (({str(package / "solved.py")!r}, "r"), ({str(package / "answers" / "left.txt")!r}, "w")):
    try:
        print(open(file, mode))
    except OSError as error:
        print(error.strerror)
"""
    close_fork_server()
    for _ in range(2):
        with start(tmp_path / "work", exposed_modules=("a_course.plots",)) as kernel:
            assert kernel.says(look).splitlines() == ["[]", "Permission denied", "Read-only file system"]
    close_fork_server()


def test_only_the_learners_half_is_seen(monkeypatch):
    package = Path(bubblewrap.__file__).parents[1]
    hidden = set(bubblewrap.hidden_paths((), [package.parent]))
    seen = {package / name for name in ("__init__.py", "tutor", "tutor/__init__.py", "tutor/learner")}
    assert hidden | seen == {*package.iterdir(), *(package / "tutor").iterdir()} and not hidden & seen
