"""A grading process that is lost in judging is ended by the system, and its class goes on."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

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
