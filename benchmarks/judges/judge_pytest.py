"""A folder of pytest tests as a judge: someone else's test suite, and a file that translates answers for it.

A translation is a Python file; README.md lists the names that it sets. ``cs336_assignment1.py`` is one.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

from judging import JudgeError, Opinion
from workers import WorkerError, run_in_child, temporary_folder

NOT_DEFINED = "which TRANSLATIONS does not define for"  # in the error of such a call
# In place of the suite's own adapter file. The suite may import other names from it, and not call them.
HEADER = """\
from pathlib import Path

import torch
import torch.nn as nn

space = {"__name__": "answer"}
exec(compile(Path(ANSWER).read_text(encoding="utf-8"), "<answer>", "exec", dont_inherit=True), space)
answer = space[EXERCISE]

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    def not_translated(*args, **kwargs):
        raise NotImplementedError(f"the test calls {name}, {NOT_DEFINED} {EXERCISE}")
    return not_translated
"""


class PytestJudge:
    """A pytest suite; an answer is accepted if all tests of its exercise pass.

    The folder of the suite is copied and never changed. Raises JudgeError if it or the file that translates
    answers for it is missing, or does not fit.
    """

    def __init__(self, folder: Path, translation: Path) -> None:
        import pytest  # noqa: F401 - once, before the forks

        if not folder.is_dir():
            raise JudgeError(f"There is no folder {folder}: name the folder of the pytest suite.")
        names = _read_translation(translation)
        self.name = str(names.get("NAME", folder.resolve().name))
        self._adapter, self._tests = names["ADAPTER"], names["TESTS"]
        self._translations = names["TRANSLATIONS"]
        if not (folder / self._adapter).is_file():
            raise JudgeError(f"{folder} has no file {self._adapter}, which ADAPTER in {translation} names.")
        files = names.get("FILES", {})
        for name, within in (("TESTS", "TRANSLATIONS"), ("FILES", "TESTS")):
            strange = sorted(set(names.get(name, {})) - set(names[within]))
            if strange:
                raise JudgeError(
                    f"{translation} has {strange[0]!r} in {name} and not in {within}: add it, or correct it."
                )
        self._suite = temporary_folder() / "suite"
        shutil.copytree(folder, self._suite, ignore=shutil.ignore_patterns(".git"))
        self.exercises = frozenset(
            test for test in self._tests if all((folder / file).is_file() for file in files.get(test, ()))
        )

    def judge(self, exercise: str, code: str) -> Opinion:
        """Replace the suite's adapter file by the translated answer and run the tests of the exercise.

        Raises JudgeError if pytest does not run the tests, although the answer on its own can be imported, or
        if a test calls what the translation does not define.
        """
        answer = self._suite / "answer.txt"
        answer.write_text(code, encoding="utf-8")
        constants = f"ANSWER = {str(answer)!r}\nEXERCISE = {exercise!r}\nNOT_DEFINED = {NOT_DEFINED!r}\n"
        adapter = self._suite / self._adapter
        adapter.write_text(f"{constants}{HEADER}\n{self._translations[exercise]}", encoding="utf-8")
        tests = list(self._tests[exercise])
        try:
            status, message = run_in_child(_run_tests, self._suite, tests, code, exercise)
        except WorkerError as error:
            return Opinion(False, str(error))
        if status not in (0, 1):
            raise JudgeError(
                f"pytest ended with exit status {status} ({message or 'no message'}): "
                f"does the suite run, and has it the tests {', '.join(tests)}?"
            )
        if f"{NOT_DEFINED} {exercise}" in message:
            raise JudgeError(f"{message}: define it there.")
        return Opinion(status == 0, message)


def _read_translation(path: Path) -> dict[str, Any]:
    """Run the file of a translation and return its names."""
    if not path.is_file():
        raise JudgeError(f"There is no file {path}: name the file that translates answers for the suite.")
    try:
        names = runpy.run_path(str(path))
    except Exception as error:
        raise JudgeError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    for name in ("ADAPTER", "TESTS", "TRANSLATIONS"):
        if name not in names:
            raise JudgeError(f"{path} does not set {name}: see cs336_assignment1.py for the names it needs.")
    for name in ("TESTS", "FILES"):
        for exercise, entries in names.get(name, {}).items():
            if isinstance(entries, str):
                raise JudgeError(f"{path} has a text as {name}[{exercise!r}]: write [{entries!r}], a list.")
    return names


class _Failures:
    """A pytest plugin that keeps the last line of each failure, and of each file that cannot be imported."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.not_collected: list[str] = []

    def pytest_collectreport(self, report: object) -> None:
        if getattr(report, "failed", False):
            text = str(getattr(report, "longreprtext", "")).strip()
            self.not_collected.append(text.rpartition("\n")[2])

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False):
            crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
            self.lines.append(f"{getattr(report, 'nodeid', '')}: {getattr(crash, 'message', 'error')}")


def _run_tests(suite: Path, tests: list[str], code: str, exercise: str) -> tuple[int, str]:
    """In the child: pytest's exit status, and the messages of the failed tests.

    The answer runs once before, so that one that cannot be imported is not taken for a broken suite.
    """
    import pytest

    os.chdir(suite)
    space: dict[str, Any] = {"__name__": "answer"}
    exec(compile(code, "<answer>", "exec", dont_inherit=True), space)
    if exercise not in space:
        raise NameError(f"the answer defines no {exercise}")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # of our own environment; loading them takes seconds
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(suite))
    failures = _Failures()
    status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=", *tests], plugins=[failures])
    if failures.not_collected:  # with -x, pytest itself ends with status 1
        return int(pytest.ExitCode.INTERRUPTED), failures.not_collected[0][:500]
    return int(status), "\n".join(failures.lines)[:2000]
