"""Each grading process has one processor for its kernels, as long as there are enough of them."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from nbjudge.sandbox.fork_server_client import claimed_processor

CLAIM = """
import sys
from nbjudge.sandbox.fork_server_client import claimed_processor
print(claimed_processor(), flush=True)
sys.stdin.read()
"""


def claimers(many: int) -> list[subprocess.Popen[str]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return [subprocess.Popen([sys.executable, "-c", CLAIM], **pipes) for _ in range(many)]


@pytest.mark.integration
def test_no_two_processes_claim_the_same_and_one_that_ends_sets_it_free():
    processors = sorted(map(str, os.sched_getaffinity(0)))
    for _ in range(2):
        processes = claimers(len(processors) + 1)
        lines = [process.stdout.readline().strip() for process in processes]
        for process in processes:
            process.communicate()
        claimed = [processor for processor in lines if processor != "None"]
        assert len(claimed) == len(set(claimed))
        assert set(claimed) <= {*processors}
        assert "None" in lines


@pytest.mark.integration
def test_a_process_claims_once_and_a_fork_of_it_something_else():
    claimed = claimed_processor()
    assert claimed == claimed_processor()
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, str(claimed_processor()).encode())
        os._exit(0)
    os.wait()
    of_the_fork = os.read(reader, 20).decode()
    os.close(reader), os.close(writer)
    assert of_the_fork == "None" or of_the_fork != str(claimed)


@pytest.mark.integration
def test_a_kernel_and_all_it_starts_runs_where_it_was_told_to_and_its_supervisor_anywhere(start, tmp_path):
    claimed = claimed_processor()
    wanted = {*os.sched_getaffinity(0)} if claimed is None else {claimed}
    look = (
        "import os\nprint(os.sched_getaffinity(0))\nif os.fork() == 0: os.execlp('true', 'true')\nos.wait()"
    )
    with start(tmp_path) as kernel:
        assert kernel.says(look).splitlines()[0] == str(wanted)
        outcome, shown = kernel.run("os.sched_setaffinity(0, {*range(os.cpu_count())})")
        assert "Operation not permitted" in shown
        supervisor = psutil.Process(kernel.pid).parent()
        assert {*supervisor.cpu_affinity()} == {*os.sched_getaffinity(0)}
