"""What ends its grading process costs its neighbours nothing; memory and time are limited there."""

import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from nbjudge.batch import worker_process
from nbjudge.batch.workers import MAX_TRIES, LocalWorkers
from nbjudge.errors import WorkerDiedError

pytestmark = pytest.mark.integration


def work(_archive, job):
    """Stand for the grading of a notebook: the culprit's ends its process."""
    name, tries = job
    with tries.open("a") as file:
        file.write(name)
    if name == "c":
        time.sleep(0.2)
        os._exit(1)
    time.sleep(1)
    return name


def test_only_the_culprit_loses_a_try(tmp_path, monkeypatch):
    """Who was graded or queued beside it is graded alone, once; the culprit ends after its tries alone."""
    monkeypatch.setattr(worker_process, "work", work)
    workers = LocalWorkers(None, 2, tmp_path / "log", None)
    try:
        with ThreadPoolExecutor(4) as threads:
            honest = [threads.submit(workers.run, (name, tmp_path / name)) for name in "ab"]
            culprit = threads.submit(workers.run, ("c", tmp_path / "c"))
            queued = threads.submit(workers.run, ("d", tmp_path / "d"))
            assert [each.result() for each in (*honest, queued)] == ["a", "b", "d"]
            with pytest.raises(WorkerDiedError, match="the process that graded it ended"):
                culprit.result()
    finally:
        workers.close()
    assert (tmp_path / "c").read_text() == "c" * MAX_TRIES
    assert all(len((tmp_path / name).read_text()) <= 2 for name in "abd")


def fill_memory(*_):
    """Take more than judging may, a tenth at a time; an earlier test may have left free memory behind."""
    held = [b"x" * (worker_process.MEMORY // 10) for _ in range(100)]
    raise AssertionError(len(held))


def test_a_process_that_takes_too_much_memory_ends(tmp_path, monkeypatch):
    """Beyond the limit there is no more memory; the process ends, and its job loses a try."""
    limits = SimpleNamespace(startup=1, notebook=1)
    job = SimpleNamespace(assignment="", environment=SimpleNamespace(limits=limits, sandbox=True))
    monkeypatch.setattr(worker_process, "MEMORY", 2**28)
    monkeypatch.setattr(worker_process, "unpacked_assignment", fill_memory)
    before, ended = resource.getrlimit(resource.RLIMIT_DATA), []

    def exit_instead(status):
        ended.append(status)
        raise SystemExit

    monkeypatch.setattr(os, "_exit", exit_instead)
    with pytest.raises(SystemExit):
        worker_process.work(None, job)
    assert ended == [0] and resource.getrlimit(resource.RLIMIT_DATA) == before


LOST = """
import re
from nbjudge.batch.worker_process import _time_limit
with _time_limit({seconds}):
    {lost}
print("came through")
"""
# The second holds the interpreter, and with it every thread of the process.
WAYS = {"in a loop": "while True: pass", "in a search": 're.match("(a+)+b", "a" * 60)'}


@pytest.mark.long
@pytest.mark.parametrize("lost", WAYS.values(), ids=WAYS)
def test_whatever_it_is_lost_in_it_ends(lost):
    run = subprocess.run([sys.executable, "-c", LOST.format(seconds=0.2, lost=lost)], capture_output=True)
    assert run.returncode == -signal.SIGALRM


def test_a_process_that_is_done_in_time_is_left_alone():
    code = LOST.format(seconds=60, lost="pass")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "came through\n")
