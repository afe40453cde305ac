"""The benchmark of judges: its data is built for one exercise and put to two judges."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks" / "judges"
RIGHT = "import torch\n\n\ndef softmax(scores):\n    return torch.softmax(scores, -1)\n"


@pytest.fixture
def path(monkeypatch):
    """The benchmark's modules import each other as its programs do."""
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.fixture
def answer(path):
    from answers import Answer

    return Answer("softmax/reference", "softmax", "01_dot_product", "", "softmax(scores)", "reference", RIGHT)


def run(program: str, *options: object) -> None:
    subprocess.run([sys.executable, FOLDER / program, *map(str, options)], check=True, timeout=240)


def test_the_published_answers_are_complete(path):
    from answers import read_answers

    answers = read_answers()
    assert len({answer.id for answer in answers}) == len(answers)
    for answer in answers:
        assert answer.statement and answer.signature.startswith(answer.exercise), answer.id
        if answer.kind != "torch-judge reference":
            assert answer.agrees_on if answer.is_right else answer.differs_on, answer.id
        assert answer.sentence or answer.is_right, answer.id
        compile(answer.code, answer.id, "exec")


def test_an_answer_that_is_not_what_its_kind_says_fails_the_build(answer):
    from dataclasses import replace

    from build import accept
    from validation import Outcome

    with pytest.raises(ValueError, match="should be right and differs"):
        accept(answer, Outcome("seed 0"))
    with pytest.raises(ValueError, match="should be wrong"):
        accept(replace(answer, kind="mistake"), Outcome("", seeds=3))
    assert accept(replace(answer, kind="mutation"), Outcome("", seeds=3)) is None
    assert accept(answer, Outcome("", seeds=3)).agrees_on == 3


@pytest.mark.integration
@pytest.mark.smoke
def test_a_child_that_hangs_or_dies_gives_no_result(path):
    import os
    import time

    from workers import WorkerError, run_in_child

    assert run_in_child(abs, -3) == 3
    with pytest.raises(WorkerError, match="no result after"):
        run_in_child(time.sleep, 60, seconds=0.2)
    with pytest.raises(WorkerError, match="ended without a result"):
        run_in_child(os._exit, 0)
    with pytest.raises(WorkerError, match="ZeroDivisionError"):
        run_in_child(divmod, 1, 0)


def test_a_sample_is_the_same_every_time_and_counts_each_kind(answer):
    from dataclasses import replace

    from run import sample

    many = [replace(answer, id=f"softmax/mistake/{n}", kind="mistake") for n in range(9)]
    chosen = sample([answer, *many], 2)
    assert [each.kind for each in chosen] == ["reference", "mistake", "mistake"]
    assert chosen == sample([answer, *many], 2)


def test_mutations_change_the_reference_and_nothing_else(answer):
    pytest.importorskip("mutmut")
    from dataclasses import replace

    from mutations import mutations_of

    found = mutations_of(replace(answer, code=f"def helper():\n    return 1 + 1\n\n\n{RIGHT}"), 5)
    assert found and all(each.kind == "mutation" and each.code != RIGHT for each in found)
    assert all("return 1 + 1" in each.code for each in found)
    assert not mutations_of(answer, 0)


@pytest.mark.integration
@pytest.mark.smoke
def test_a_pytest_suite_is_a_judge(path, tmp_path):
    from judge_pytest import PytestJudge

    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "test_softmax.py").write_text(
        "import torch\nfrom adapters import run\n\n"
        "def test_rows_sum_to_one():\n"
        "    assert torch.allclose(run(torch.ones(2, 3)).sum(-1), torch.ones(2))\n"
    )
    (suite / "adapters.py").write_text("")
    translation = tmp_path / "translation.py"
    translation.write_text(
        'ADAPTER = "adapters.py"\nTESTS = {"softmax": ["test_softmax.py"]}\n'
        'TRANSLATIONS = {"softmax": "def run(x):\\n    return answer(x)"}\n'
    )
    judge = PytestJudge(suite, translation)
    assert judge.judge("softmax", RIGHT).accepted
    wrong = judge.judge("softmax", RIGHT.replace("torch.softmax(scores, -1)", "scores"))
    assert not wrong.accepted and "test_rows_sum_to_one" in wrong.message


@pytest.mark.integration
@pytest.mark.smoke
def test_one_exercise_is_built_and_put_to_two_judges(tmp_path):
    data, results = tmp_path / "answers.jsonl", tmp_path / "judges.json"
    run("build.py", "--exercise", "softmax", "--seeds", 1, "--mutations", 0, "--output", data)
    run(
        *("run.py", "--judges", "nbjudge", "visible-tests", "--sample", 1, "--answers", data),
        *("--output", results, "--picture", tmp_path / "judges.svg"),
    )
    rows = json.loads(results.read_text(encoding="utf-8"))["judges"]
    assert rows["nbjudge"]["right accepted"] == {"judged": 2, "rightly": 2, "left out": 0}
    assert rows["nbjudge"]["mistakes caught"] == {"judged": 1, "rightly": 1, "left out": 0}
    assert rows["visible tests"]["right accepted"]["rightly"] == 2
    assert (tmp_path / "judges.svg").read_text(encoding="utf-8").startswith("<?xml")
