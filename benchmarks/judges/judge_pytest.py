"""A folder of pytest tests as a judge: someone else's test suite, and a file that translates answers for it.

A translation is a Python file of three names:

- ``ADAPTER``: the file of the suite, below its folder, that is replaced, for example ``tests/adapters.py``;
- ``TESTS``: by our exercise, the ids of the tests that judge it;
- ``TRANSLATIONS``: by our exercise, code that defines what the suite imports, in terms of `answer`.

``cs336_assignment1.py`` is one, for the first assignment of Stanford's CS336.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
from pathlib import Path

from judging import Opinion
from workers import WorkerError, run_in_child, temporary_folder

# In place of the suite's own adapter file. Other names that the suite imports from it fail when called.
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
        raise NotImplementedError(name)
    return not_translated
"""


class PytestJudge:
    """A pytest suite; an answer is accepted if all tests of its exercise pass.

    Parameters
    ----------
    folder
        The folder of the suite. It is copied and never changed.
    translation
        The file that translates answers for it.
    """

    def __init__(self, folder: Path, translation: Path) -> None:
        import pytest  # noqa: F401 - once, before the forks

        names = runpy.run_path(str(translation))
        self.name = str(names.get("NAME", folder.name))
        self._adapter, self._tests = names["ADAPTER"], names["TESTS"]
        self._translations = names["TRANSLATIONS"]
        self._suite = temporary_folder() / "suite"
        shutil.copytree(folder, self._suite, ignore=shutil.ignore_patterns(".git"))
        self.exercises = frozenset(self._tests)

    def judge(self, exercise: str, code: str) -> Opinion:
        """Replace the suite's adapter file by the translated answer and run the tests of the exercise."""
        answer = self._suite / "answer.txt"
        answer.write_text(code, encoding="utf-8")
        constants = f"ANSWER = {str(answer)!r}\nEXERCISE = {exercise!r}\n"
        adapter = self._suite / self._adapter
        adapter.write_text(f"{constants}{HEADER}\n{self._translations[exercise]}", encoding="utf-8")
        try:
            message = run_in_child(_run_tests, self._suite, list(self._tests[exercise]))
        except WorkerError as error:
            message = str(error)
        return Opinion(not message, message)


class _Failures:
    """A pytest plugin that keeps the last line of each failure."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False):
            crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
            self.lines.append(f"{getattr(report, 'nodeid', '')}: {getattr(crash, 'message', 'error')}")


def _run_tests(suite: Path, tests: list[str]) -> str:
    """In the child: what the failed tests say; empty if all pass."""
    import pytest

    os.chdir(suite)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # of our own environment; loading them takes seconds
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(suite))
    failures = _Failures()
    status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=", *tests], plugins=[failures])
    if status == pytest.ExitCode.OK:
        return ""
    return "\n".join(failures.lines)[:2000] or f"pytest ended with exit status {int(status)}."
