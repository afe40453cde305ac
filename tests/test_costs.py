"""What grading and learning cost, as counts that are the same on every machine: they may not grow unnoticed.

`costs.toml` holds the counts. Where one of them changes for a good reason, write the new value there, in the
same commit, with the reason in its body.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from tiny_course import answered, hand_in, make_course
from traitlets.config import Config

import nbjudge
from nbjudge import api
from nbjudge.course import find_course, solved
from nbjudge.judge import drawn_group
from nbjudge.kernel import protocol
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.probe.respond import respond
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import CallReply, CallRequest, CheckRequest, decode_request, encode
from nbjudge.tutor.tutor import Tutor

pytestmark = [pytest.mark.integration, pytest.mark.smoke]
ROOT = Path(__file__).parents[1]
EXPECTED = tomllib.loads((ROOT / "tests" / "costs.toml").read_text())
STEP = 100_000  # bytes: what is sent is counted in such steps, because the inputs are drawn
HEAVY = {
    *("IPython", "dask", "jupyter_client", "matplotlib", "nbconvert", "nbformat", "nbgrader", "numpy"),
    *("pandas", "psutil", "rich", "seaborn", "sqlalchemy", "torch", "tornado", "zmq"),
}


def compare(name: str, measured: dict[str, Any]) -> None:
    """Fail with the counter's name, its old and its new value."""
    expected = EXPECTED[name]
    changed = {
        counter: f"was {expected.get(counter)}, is {value}"
        for counter, value in measured.items()
        if value != expected.get(counter)
    }
    assert not changed, f"[{name}] {changed}"
    assert set(measured) == set(expected)


def imports(statement: str) -> dict[str, Any]:
    """Return how many of our modules a process imports, and which heavy packages."""
    program = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    run = [sys.executable, "-c", program]
    names = json.loads(subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    own = [name for name in names if name.partition(".")[0] in ("nbjudge", "attention_lab")]
    return {"own modules": len(own), "heavy packages": sorted(HEAVY & set(names))}


PROCESSES = {
    "coordinator, nothing to do": "import nbjudge.batch.grade_command, nbjudge.batch.changed_submissions",
    "coordinator, grading": "import nbjudge.batch.coordinator, nbjudge.batch.coordinator",
    "worker": "import nbjudge.batch.worker_process",
    "learner's kernel": "from attention_lab import check",
    "learner's kernel with a tutor": "import nbjudge.tutor.learner.checking, nbjudge.tutor.learner.transport",
}


@pytest.mark.parametrize("process", PROCESSES)
def test_imports(process):
    compare(process, imports(PROCESSES[process]))


def test_a_check_in_the_tutor(monkeypatch):
    """What is left to do for a check once the tutor has prepared the exercise."""
    course = find_course(ROOT / "examples" / "statistics")
    material = material_of(course)
    assignment = material.assignments[course.choose_one("spread").folder]
    name = assignment.coded[0]
    names = {name: assignment.exercise(name)[1]}
    tutor = Tutor(material, seed=1)
    tutor.prepare(assignment, name)
    counts = Counter()
    answers_of, group_seed = drawn_group.answers_of, drawn_group.group_seed
    for counter, function in (("reference calls", answers_of), ("draws", group_seed)):

        def counted(*args, counter=counter, function=function):
            counts[counter] += 1
            return function(*args)

        monkeypatch.setattr(drawn_group, function.__name__, counted)
    monkeypatch.setattr(Tutor, "_prepare_next", lambda *_: None)  # a thread that works for the next exercise
    program = ""
    for check in ("check of a right answer", "second check"):
        counts.clear()
        request = CheckRequest(folder=assignment.folder, exercise=name, program=program)
        while True:
            counts["requests"] += 1
            reply = tutor.reply(decode_request(b"".join(encode(request))))
            if not isinstance(reply, CallRequest):
                break
            program = reply.program
            text = respond(reply.text.decode(), names)
            request = CallReply(conversation=reply.conversation, text=text.encode())
        assert reply.points == reply.max_points > 0
        compare(check, {counter: counts[counter] for counter in EXPECTED[check]})


def test_grading_the_solution_of_the_example_course(tmp_path, monkeypatch):
    """Kernels, messages and bytes of one graded notebook, and how often its reference is called."""
    shutil.copytree(ROOT / "examples" / "statistics", tmp_path / "course")
    target = find_course(tmp_path / "course").choose_one("spread")
    submitted = tmp_path / target.source_path.name
    nbformat.write(solved(nbformat.read(target.source_path, 4), Config()), submitted)
    results, reference_calls = [], []
    run_job, answers_of = api.run_job, drawn_group.answers_of

    def observed(*args):
        results.append(run_job(*args))
        return results[-1]

    def counted(function, calls):
        reference_calls.extend(calls)
        return answers_of(function, calls)

    # Whatever else this process has tested: the example course does not teach with torch.
    parts = [part for part in protocol.PARTS if not part.startswith("nbjudge.torch")]
    monkeypatch.setattr(protocol, "PARTS", parts)
    monkeypatch.setattr(api, "run_job", observed)
    monkeypatch.setattr(api, "check_solution", lambda *_: [])  # one notebook is counted, not two
    monkeypatch.setattr(drawn_group, "answers_of", counted)
    drawn_group.draw_group.cache_clear()
    # With the same key each time, the inputs and so the bytes of a request are the same.
    (tmp_path / "course" / ".grading-key").write_text("0" * 64)
    sent, request = Counter[str](), protocol.request

    def measured(name, calls, watched_calls):
        text = request(name, calls, watched_calls)
        sent[name] += len(text)
        return text

    monkeypatch.setattr(protocol, "request", measured)
    graded = nbjudge.grade_notebook(submitted, tmp_path / "course")
    assert graded.points == graded.max_points > 0
    (result,) = results
    counts = {name: result.costs.counts[name] for name in ("kernels", "messages")}
    counts |= {
        "100 kB sent": round(result.costs.counts["bytes sent"] / STEP),
        "reference calls": len(reference_calls),
    }
    compare("examples/statistics", counts)
    compare("bytes of requests per exercise", dict(sent))


STARTED = """
import sys
from pathlib import Path
from nbjudge.cli import main

names = []

def note(event, arguments):
    if event == "subprocess.Popen":
        names.append(Path(arguments[0]).name)

sys.addaudithook(note)
sys.argv[1:] = ["grade", "01_tiny", "--workers", "2", "--force"]
try:
    main()
finally:
    print("started:", *names)
"""


@pytest.mark.requires("bwrap")
def test_programs_that_a_class_starts(tmp_path):
    """None per submission: workers and kernels are forks of two processes that have imported everything."""
    make_course(tmp_path)
    for student in ("ada", "ben", "cem"):
        hand_in(tmp_path, student, answered())
    run = [sys.executable, "-c", STARTED]
    printed = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "3 graded" in printed
    compare("programs that a class starts", Counter(printed.rpartition("started:")[2].split()))


@pytest.mark.requires("bwrap")
def test_a_kernel(tmp_path):
    """Of the process that runs a notebook: what a Jupyter server would need is not there."""
    with open_kernel(tmp_path, KernelEnvironment()) as kernel:
        process = psutil.Process(kernel.process.pid)
        family = [process.parent(), *process.parent().children()]
        opened = [
            os.readlink(f"/proc/{process.pid}/fd/{each}") for each in os.listdir(f"/proc/{process.pid}/fd")
        ]
        counts = {"threads": process.num_threads(), "processes": len(family)}
    compare("a kernel", counts | {"sockets": sum(name.startswith("socket:") for name in opened)})
