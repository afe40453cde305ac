"""`make lab` adds lessons to a student's folder and never touches what is there."""

import errno
import importlib.util
import io
import json
import os
import shutil
from pathlib import Path

import pytest
import zmq
from jupyter_client.manager import KernelManager
from rich.console import Console

from attention_lab.errors import CourseError
from attention_lab.start.jupyter_lab import open_lab
from attention_lab.start.lessons import add_missing_lessons
from nbjudge.course.course import Course

SECOND = "02_second/second.ipynb"


@pytest.fixture
def course(tmp_path):
    """A course of two lessons, with everything in it that students must not get."""
    root = tmp_path / "course"
    for name in ("01_first/first.ipynb", SECOND):
        for folder in ("source", "release", "solution"):
            path = root / folder / name
            path.parent.mkdir(parents=True)
            path.write_text(f"{folder} of {path.stem}")
    (root / "release/README.md").write_text("for authors")
    (root / "release/02_second/layers.py").write_text("given = True")
    for litter in ("__pycache__/layers.pyc", ".ipynb_checkpoints/second-checkpoint.ipynb"):
        path = root / "release/02_second" / litter
        path.parent.mkdir()
        path.write_text("litter")
    return Course(root)


def files_in(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != "lessons.json")
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def copy(course: Course, folder: Path) -> str:
    """Copies the lessons; returns what the student reads, on one line."""
    console = Console(file=io.StringIO(), width=1000)
    add_missing_lessons(course.root / "release", folder, console)
    return console.file.getvalue()


def test_students_get_the_lessons_and_nothing_else(course, tmp_path):
    output = copy(course, tmp_path / "new/lab")
    assert files_in(tmp_path / "new/lab") == {
        "01_first/first.ipynb": "release of first",
        SECOND: "release of second",
        "02_second/layers.py": "given = True",
    }
    assert "Added" in output and "01_first, 02_second" in output
    assert "Kept" not in output


def test_work_that_is_there_is_kept_and_only_missing_lessons_are_added(course, tmp_path):
    lab = tmp_path / "lab"
    copy(course, lab)
    (lab / SECOND).write_text("three evenings of work")
    (lab / "02_second/notes.txt").write_text("mine")
    shutil.rmtree(lab / "01_first")

    output = copy(course, lab)
    assert files_in(lab / "02_second") == {
        "second.ipynb": "three evenings of work",
        "layers.py": "given = True",
        "notes.txt": "mine",
    }
    assert files_in(lab / "01_first") == {"first.ipynb": "release of first"}
    added_line, kept_line = output.splitlines()
    assert "01_first" in added_line and "02_second" not in added_line
    assert "02_second" in kept_line and "01_first" not in kept_line


@pytest.mark.parametrize("name", ["second.ipynb", "layers.py"])
def test_a_missing_file_of_a_lesson_is_restored(course, tmp_path, name):
    """The notebook or a given file comes back as released; the rest of the folder is kept."""
    lab = tmp_path / "lab"
    copy(course, lab)
    for file in ("second.ipynb", "layers.py"):
        (lab / "02_second" / file).write_text("mine")
    (lab / "02_second" / name).unlink()
    output = copy(course, lab)
    released = (course.root / "release/02_second" / name).read_text()
    assert files_in(lab / "02_second") == {"second.ipynb": "mine", "layers.py": "mine"} | {name: released}
    assert f"Restored in {lab / '02_second'}: {name}." in output and "Kept" in output
    assert "Restored" not in copy(course, lab)


def test_a_lesson_that_was_released_again_brings_its_text_and_keeps_the_answers(course, tmp_path):
    def notebook(*cells):
        return json.dumps({"cells": [cell | {"cell_type": "code"} for cell in cells], "metadata": {}})

    def given(name, source):
        return {"id": name, "metadata": {}, "source": source}

    answer = {
        "id": "x",
        "metadata": {"nbgrader": {"grade_id": "softmax", "solution": True}},
        "source": "stub",
    }
    released, own = course.root / "release" / SECOND, tmp_path / "lab" / SECOND
    released.write_text(notebook(given("a", "old text"), given("gone", "dropped later"), answer))
    copy(course, tmp_path / "lab")
    edited = notebook(
        given("a", "old text"),
        given("gone", "dropped later"),
        answer | {"source": "my work"},
        given("m", "my own"),
    )
    own.write_text(edited)
    released.write_text(notebook(answer, given("a", "new text")))
    (course.root / "release/02_second/lesson_tests.py").write_text("new = True")

    output = copy(course, tmp_path / "lab")
    cells = json.loads(own.read_text())["cells"]
    assert [cell["source"] for cell in cells] == ["my work", "my own", "new text"]
    assert (own.parent / "lesson_tests.py").read_text() == "new = True"
    backup = own.with_name("second (before the update).ipynb")
    assert backup.read_text() == edited and backup.name in output and "your answers are kept" in output
    assert "(lesson_tests.py, second.ipynb)" in output
    assert "02_second" not in copy(course, tmp_path / "lab").partition("Updated")[2]  # once is enough


def test_a_second_server_in_the_same_folder_is_refused(course, tmp_path, monkeypatch):
    server = {"root_dir": str(tmp_path / "lab"), "url": "http://localhost:8888/", "token": "t"}
    monkeypatch.setattr("jupyter_server.serverapp.list_running_servers", lambda: [server])
    with pytest.raises(
        CourseError, match=r"already running in .*lab: open http://localhost:8888/lab\?token=t"
    ):
        open_lab(course, tmp_path / "lab", Console(file=io.StringIO()))


def test_a_copy_that_was_interrupted_is_made_again_whole(course, tmp_path, monkeypatch):
    def interrupted(source, target, **options):
        target.mkdir()
        (target / "half").write_text("")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copytree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            copy(course, tmp_path / "lab")
    copy(course, tmp_path / "lab")
    assert sorted(files_in(tmp_path / "lab")) == ["01_first/first.ipynb", "02_second/layers.py", SECOND]


def remove(monkeypatch, *names):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else find(name))


def test_missing_packages_are_named_with_the_command_that_installs_them(course, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        remove(patched, "jupyterlab", "nbgrader")
        with pytest.raises(CourseError, match="jupyterlab and nbgrader.*pip install jupyterlab nbgrader"):
            open_lab(course, tmp_path / "lab", Console(file=io.StringIO()))
    remove(monkeypatch, "jupyterlab")
    with pytest.raises(CourseError, match="beside this Python: jupyterlab.*pip install jupyterlab`"):
        open_lab(course, tmp_path / "lab", Console(file=io.StringIO()))


def test_without_nbgrader_it_starts_and_says_how_to_get_the_validate_button(course, tmp_path, monkeypatch):
    remove(monkeypatch, "nbgrader")
    started = []
    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", started.append)
    output = io.StringIO()
    open_lab(course, tmp_path / "lab", Console(file=output, width=1000))
    assert started and "Without nbgrader there is no Validate button" in output.getvalue()
    assert "pip install nbgrader`" in output.getvalue()


def test_jupyterlab_does_not_ask_about_news_and_messages_to_kernels_are_encrypted(
    course, tmp_path, monkeypatch
):
    """Without the second, ipykernel prints a warning into the learner's terminal."""
    settings = {}

    def read_settings(options):
        folder = Path(os.environ["JUPYTER_CONFIG_PATH"].partition(os.pathsep)[0])
        for name in ("jupyter_server_config.json", "labconfig/page_config.json"):
            settings.update(json.loads((folder / name).read_text()))

    monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", read_settings)
    open_lab(course, tmp_path / "lab", Console(file=io.StringIO()))
    assert settings["disabledExtensions"]["@jupyterlab/apputils-extension:announcements"]
    if not (hasattr(KernelManager, "transport_encryption") and zmq.has("curve")):
        pytest.skip("messages to kernels cannot be encrypted with these versions")
    assert settings["KernelManager"] == {"transport_encryption": "auto"}


def test_a_folder_that_cannot_hold_the_lessons_is_said_in_a_sentence(course, tmp_path, monkeypatch):
    (tmp_path / "essay").write_text("mine")
    with pytest.raises(CourseError, match="essay is a file: name a folder"):
        copy(course, tmp_path / "essay")
    with pytest.raises(CourseError, match="holds the lessons themselves: choose another folder"):
        copy(course, course.root / "release")

    def full(source, target, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copytree", full)
    with pytest.raises(CourseError, match="No space left on device.*whose disk is not full, and start again"):
        copy(course, tmp_path / "lab")
    assert files_in(tmp_path / "lab") == {}
