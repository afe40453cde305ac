"""Lessons are loaded one at a time, however many threads of a service want one."""

import importlib
import sys
import threading
import time
from pathlib import Path

from nbjudge.course.loading import importing_from, load_checks


def in_threads(work, inputs):
    threads = [threading.Thread(target=work, args=(each,)) for each in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_no_lesson_finds_the_files_of_another(tmp_path):
    folders = [str(tmp_path / name) for name in "abcd"]
    found = []

    def load(folder):
        with importing_from(Path(folder)):
            time.sleep(0.01)
            found.append([path for path in sys.path if path in folders])

    in_threads(load, folders)
    assert sorted(found) == [[folder] for folder in folders]


def test_a_lesson_may_load_another_on_its_way(tmp_path):
    with importing_from(tmp_path / "a"), importing_from(tmp_path / "b"):
        assert sys.path[:2] == [str(tmp_path / "b"), str(tmp_path / "a")]


def test_each_lesson_imports_its_own_files(tmp_path):
    found = []
    for name in ("a", "b", "a"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "given_beside.py").write_text(f"name = {name!r}\n")
        with importing_from(tmp_path / name):
            found.append(importlib.import_module("given_beside").name)
    assert found == ["a", "b", "a"]


def test_checks_are_loaded_while_other_modules_come(tmp_path):
    """What is imported meanwhile changes the very table that is looked through for a package's files."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "asked.py").write_text(f"name = {name!r}\n")
    going, loaded = threading.Event(), []

    def come_and_go():
        number = 0
        while not going.is_set():
            number = (number + 1) % 5000
            sys.modules[f"comes_and_goes_{number}"] = sys
            sys.modules.pop(f"comes_and_goes_{number - 2500}", None)

    other = threading.Thread(target=come_and_go)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        other.start()
        for _ in range(200):
            loaded.append([load_checks(tmp_path / name)[0].name for name in ("first", "second")])
    finally:
        going.set()
        other.join()
        sys.setswitchinterval(before)
        for name in [each for each in sys.modules if each.startswith("comes_and_goes_")]:
            del sys.modules[name]
    assert loaded == [["first", "second"]] * 200
