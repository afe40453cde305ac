"""The benchmark of judges: its data is built for one exercise and put to two judges."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

# Its modules import each other as its programs do.
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "judges"))

import build
import run
from answers import Answer, answers_of, course, read_answers, standalone, write_answers
from judge_pytest import PytestJudge
from judging import Judged, JudgeError, Opinion, load_judge, put_to
from names import count, write_sheet
from validation import Outcome
from workers import ChildError, WorkerError, run_in_child

FOLDER = Path(build.__file__).parent
RIGHT = "import torch\n\n\ndef softmax(scores):\n    return torch.softmax(scores, -1)\n"


@pytest.fixture
def answer():
    return Answer("softmax/reference", "softmax", "01_dot_product", "", "softmax(scores)", "reference", RIGHT)


def test_the_published_answers_are_complete():
    answers = read_answers()
    assert len({answer.id for answer in answers}) == len(answers)
    for answer in answers:
        assert answer.statement and answer.signature.startswith(answer.exercise), answer.id
        if answer.kind != "torch-judge reference":
            assert answer.agrees_on if answer.is_right else answer.differs_on, answer.id
        assert answer.sentence or answer.is_right, answer.id
        compile(answer.code, answer.id, "exec")


def test_a_module_replaces_no_name_of_the_set_up():
    """Lesson 12's module defines ten attention functions called A to K, and answers call `F.softmax`."""
    lesson, _ = course().exercise("is_correct")
    code = standalone(lesson, "def is_correct(attention):\n    return F.softmax")
    assert code.startswith("import torch.nn.functional as F") and "def F(" not in code


def test_shared_answers_are_found_once():
    """A function adds answers to `rotate` and to `rotate_halves`, and two files import those checks."""
    lesson, _ = course().exercise("rotate")
    listed = [(each.id, each.code) for each in answers_of(lesson, ["rotate", "rotate_halves"])]
    found = dict(listed)
    assert len(found) == len(listed)
    assert "0::2" in found["rotate/mistake/mirrored"]
    assert "0::2" not in found["rotate_halves/mistake/mirrored"]


def test_an_answer_of_another_kind_fails_the_build(answer):
    with pytest.raises(ValueError, match="should be right and differs"):
        build.accept(answer, Outcome("seed 0"))
    with pytest.raises(ValueError, match="should be wrong"):
        build.accept(replace(answer, kind="mistake"), Outcome("", seeds=3))
    assert build.accept(replace(answer, kind="mutation"), Outcome("", seeds=3)) is None
    assert build.accept(answer, Outcome("", seeds=3)).agrees_on == 3


@pytest.mark.integration
@pytest.mark.smoke
def test_a_child_gives_a_result_or_says_why_not():
    """An error of a judge's own function is told from a child that hangs or dies."""
    assert run_in_child(lambda size: [torch.ones(size)], 2)[0].tolist() == [1, 1]
    with pytest.raises(WorkerError, match="no result after"):
        run_in_child(time.sleep, 60, seconds=0.2)
    with pytest.raises(WorkerError, match="ended without a result") as dead:
        run_in_child(os._exit, 0)
    assert not isinstance(dead.value, ChildError)
    with pytest.raises(ChildError, match="KeyError") as raised:
        run_in_child(lambda: {}["weights"])
    assert raised.value.place.startswith("test_judges_benchmark.py, line ")
    with pytest.raises(TypeError, match="tensor"):
        run_in_child(torch.ones, 2)


@pytest.mark.integration
@pytest.mark.smoke
def test_a_child_computes_after_its_parents_threads():
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
import torch
from workers import run_in_child

torch.set_num_threads(2)
large = torch.ones(1000, 1000)
large.exp()
print(run_in_child(lambda: float(large.exp().sum()), seconds=20) > 0)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert run.stdout == "True\n", run.stderr


def test_a_sample_is_the_same_every_time(answer):
    """A run that is stopped has some of each kind, and then mutations."""
    kinds = ["mistake", "mutation"]
    many = [replace(answer, id=f"softmax/{kind}/{n}", kind=kind) for kind in kinds for n in range(5)]
    order = [each.kind for each in run.sample([answer, *many], None)]
    assert order == ["reference", *kinds * 3, *["mutation"] * 2, *["mistake"] * 2]
    assert [each.kind for each in run.sample([answer, *many], 2)] == ["reference", *kinds * 2]
    assert run.sample([answer, *many], 2) == run.sample([answer, *many], 2)


def test_mutations_change_only_the_reference(answer):
    pytest.importorskip("mutmut")
    from mutations import mutations_of

    found = mutations_of(replace(answer, code=f"def helper():\n    return 1 + 1\n\n\n{RIGHT}"), 5)
    assert found and all(each.kind == "mutation" and each.code != RIGHT for each in found)
    assert all("return 1 + 1" in each.code for each in found)
    assert not mutations_of(answer, 0)


def test_names_are_drawn_and_counted(tmp_path, capsys):
    opinions = tmp_path / "my.jsonl"
    entry = {"judge": "own judge", "answer": "softmax/mistake/clipped", "accepted": False}
    entry["message"] = "Clipped."
    opinions.write_text(f"{json.dumps(entry)}\n")
    write_sheet(opinions, tmp_path, seed=0)
    sheet = tmp_path / "names_sheet.csv"
    assert f"{sheet} holds 1 samples, and {tmp_path / 'names_key.json'}" in capsys.readouterr().out
    with pytest.raises(ValueError, match="the rating ''"):
        count([sheet], tmp_path)
    text = sheet.read_text(encoding="utf-8").rstrip()
    assert "own judge" not in text and text.endswith("Clipped.,")
    sheet.write_text(f"{text}right\n", encoding="utf-8")
    count([sheet], tmp_path)
    assert capsys.readouterr().out.startswith("own judge, mistake: coverage 100%, precision 100%")
    with pytest.raises(ValueError, match="1 ratings and names_key.json 60 samples"):
        count([sheet], FOLDER)


TRANSLATION = (
    'ADAPTER = "adapters.py"\nTESTS = {"softmax": ["test_softmax.py"]}\n'
    'TRANSLATIONS = {"softmax": "def run(x):\\n    return answer(x)"}\n'
)


@pytest.fixture
def suite(tmp_path):
    """A folder with a pytest suite."""
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "test_softmax.py").write_text(
        "import torch\nfrom adapters import run\n\n"
        "def test_rows_sum_to_one():\n"
        "    assert torch.allclose(run(torch.ones(2, 3)).sum(-1), torch.ones(2))\n"
    )
    (folder / "adapters.py").write_text("")
    return folder


@pytest.fixture
def translation(tmp_path):
    """A file that translates answers for that suite."""
    file = tmp_path / "translation.py"
    file.write_text(TRANSLATION)
    return file


@pytest.mark.integration
@pytest.mark.smoke
def test_a_pytest_suite_is_a_judge(suite, translation):
    judge = PytestJudge(suite, translation)
    assert judge.judge("softmax", RIGHT).accepted
    wrong = judge.judge("softmax", RIGHT.replace("torch.softmax(scores, -1)", "scores"))
    assert not wrong.accepted and "test_rows_sum_to_one" in wrong.message
    broken = judge.judge("softmax", "1 / 0\n")
    assert not broken.accepted and "ZeroDivisionError" in broken.message


@pytest.mark.integration
@pytest.mark.smoke
@pytest.mark.parametrize(
    ("test", "name", "sentence"),
    [
        ("import no_such_package\n", "run", "status 2 .*no_such_package"),
        ("def helper(): ...\n", "run", "status 5"),
        (None, "rum", "calls run, which TRANSLATIONS does not define for softmax"),
    ],
    ids=["cannot be imported", "holds no test", "name not defined"],
)
def test_a_suite_that_cannot_judge_is_an_error(suite, translation, test, name, sentence):
    """Such an answer is not refused."""
    if test is not None:
        (suite / "test_softmax.py").write_text(test)
    translation.write_text(TRANSLATION.replace("def run(x)", f"def {name}(x)"))
    with pytest.raises(JudgeError, match=sentence):
        PytestJudge(suite, translation).judge("softmax", RIGHT)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('["test_softmax.py"]', '"test_softmax.py"', r"TESTS\['softmax'\]: write \['test_softmax.py'\]"),
        ("ADAPTER =", 'FILES = {"softmax": "weights.pt"}\nADAPTER =', r"a text as FILES\['softmax'\]"),
        ('"adapters.py"', '"tests/adapters.py"', "has no file tests/adapters.py"),
        ('LATIONS = {"softmax"', 'LATIONS = {"score"', "'softmax' in TESTS and not in TRANSLATIONS"),
        ("ADAPTER =", 'FILES = {"sofmax": []}\nADAPTER =', "'sofmax' in FILES and not in TESTS"),
        ("ADAPTER =", "ADAPTOR =", "does not set ADAPTER"),
    ],
)
def test_a_translation_that_does_not_fit_is_an_error(suite, translation, old, new, sentence):
    translation.write_text(TRANSLATION.replace(old, new))
    with pytest.raises(JudgeError, match=sentence):
        PytestJudge(suite, translation)


def test_an_exercise_without_its_files_is_left_out(suite, translation):
    """A test that cannot read its file fails, and would count as a refusal."""
    translation.write_text(TRANSLATION + 'FILES = {"softmax": ["weights.pt"]}\n')
    assert not PytestJudge(suite, translation).exercises
    (suite / "weights.pt").touch()
    assert PytestJudge(suite, translation).exercises == {"softmax"}


OWN_JUDGE = """
from judging import Opinion

class OwnJudge:
    name = "own judge"
    exercises = frozenset({"softmax"})

    def judge(self, exercise, code):
        return RETURNED
"""


@pytest.fixture
def own_judge(tmp_path):
    """Write a judge that returns the value of an expression, and return how it is named."""

    def write(returned: str) -> str:
        file = tmp_path / "my_judge.py"
        file.write_text(OWN_JUDGE.replace("RETURNED", returned))
        return f"{file}:OwnJudge"

    return write


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ("True", "returned True: it must return an Opinion or None"),
        ("Opinion(True, None)", r"returned Opinion\(.*`message` a text"),
        ("code[10_000]", "raised IndexError .my_judge.py, line 9"),
        pytest.param(
            '__import__("workers").run_in_child(lambda: code[10_000])',
            r"raised an error in the child .my_judge.py, line 9.: IndexError",
            marks=[pytest.mark.integration, pytest.mark.smoke],
        ),
    ],
)
def test_a_faulty_judge_is_named_with_the_answer(answer, own_judge, returned, sentence):
    with pytest.raises(JudgeError, match=f"'own judge', asked about softmax/reference, {sentence}"):
        put_to(load_judge(own_judge(returned)), answer)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--judges"], "There is no judge: name one"),
        (["--judges", "nbjudg"], "There are: nbjudge, visible-tests, torch-judge"),
        (["--judges", "{own_judge}", "--exercise", "project"], "No judge knows any of the chosen exercises"),
        (["--judges", "{misspelt}"], "'own judge' has an exercise that no answer has: 'sofmax'"),
        (["--judges", "{own_judge}", "--sample", "0"], "--sample 0 takes no answer"),
        (["--judges", "{own_judge}", "{own_judge}"], "Two judges have the same name"),
    ],
)
def test_wrong_options_write_nothing(own_judge, run_main, capsys, tmp_path, options, sentence):
    misspelt = tmp_path / "misspelt.py"
    misspelt.write_text(OWN_JUDGE.replace('"softmax"', '"softmax", "sofmax"'))
    files = {"own_judge": own_judge("None"), "misspelt": f"{misspelt}:OwnJudge"}
    with pytest.raises(SystemExit) as ending:
        run_main(*(option.format(**files) for option in options))
    assert ending.value.code == 2 and sentence in capsys.readouterr().err
    assert not (tmp_path / "my.json").exists() and not (tmp_path / "my.svg").exists()


def test_refused_right_answers_are_printed_first(answer, tmp_path):
    mistakes = [
        replace(answer, id=f"softmax/mistake/{n}", kind="mistake", sentence="Clipped.") for n in range(6)
    ]
    judged = [Judged(mistake, "own judge", Opinion(accepted=True), 1.0) for mistake in mistakes]
    accepted = replace(answer, id="softmax/accepted/loop", kind="accepted")
    judged += [Judged(each, "own judge", Opinion(False, "x" * 999), 1.0) for each in (accepted, answer)]
    judged += [Judged(answer, "own judge", Opinion(True), 1.0), Judged(answer, "own judge", None, 0.0)]
    lines = run.list_wrong_verdicts("own judge", judged, tmp_path / "my.jsonl")
    assert lines[0] == "own judge: 8 of 9 verdicts are wrong."
    assert lines[1] == f"  refused right softmax/reference: {'x' * 150}"
    assert lines[2].startswith("  refused right softmax/accepted/loop: x")
    assert lines[3:-1] == [f"  accepted wrong softmax/mistake/{n}: Clipped." for n in range(3)]
    assert lines[-1] == f"  and 3 more: {tmp_path / 'my.jsonl'}"
    right = [Judged(answer, "own judge", Opinion(True), 1.0)]
    assert run.list_wrong_verdicts("own judge", right, tmp_path) == ["own judge: 0 of 1 verdicts are wrong."]


@pytest.fixture
def run_main(monkeypatch, tmp_path):
    """Run the benchmark with some options, and return the rows of its table."""

    def run_with(*options):
        places = ("--output", tmp_path / "my.json", "--picture", tmp_path / "my.svg")
        monkeypatch.setattr(sys, "argv", ["run.py", *map(str, [*options, *places])])
        run.main()
        return json.loads((tmp_path / "my.json").read_text(encoding="utf-8"))["judges"]

    return run_with


def test_answers_of_several_files_are_judged(answer, own_judge, run_main, tmp_path):
    files = [tmp_path / "references.jsonl", tmp_path / "mistakes.jsonl"]
    write_answers([answer], files[0])
    mistake = replace(answer, id="softmax/mistake/raises", kind="mistake", code="1 / 0\n")
    write_answers([mistake], files[1])
    judge = own_judge('Opinion("1 / 0" not in code)')
    row = run_main("--judges", judge, "--answers", *files)["own judge"]
    for column in ("right accepted", "mistakes caught"):
        assert row[column] == {"judged": 1, "rightly": 1, "left out": 0}, column


def test_a_run_without_time_counts_what_it_has(own_judge, run_main, tmp_path):
    opinion = {"judge": "own judge", "answer": "softmax/reference", "accepted": False}
    opinion |= {"message": "", "seconds": 1.0}
    opinions = tmp_path / "my.jsonl"
    opinions.write_text(json.dumps(opinion) + "\n")
    options = ["--judges", own_judge("Opinion(True)"), "--exercise", "softmax", "--minutes", 0]
    row = run_main(*options, "--resume")["own judge"]
    assert row["right accepted"] == {"judged": 1, "rightly": 0, "left out": 0}
    assert row["mistakes caught"]["judged"] == 0
    assert json.loads(opinions.read_text()) == opinion  # once
    with pytest.raises(SystemExit, match="no time for any answer"):
        run_main(*options)


@pytest.mark.integration
@pytest.mark.smoke
def test_one_exercise_is_built_and_put_to_two_judges(run_main, monkeypatch, tmp_path):
    """In this process: a process of its own costs an import of torch for each program."""
    data = tmp_path / "answers.jsonl"
    options = ["--exercise", "causal_mask", "--seeds", 1, "--mutations", 0, "--output", data]
    monkeypatch.setattr(sys, "argv", ["build.py", *map(str, options)])
    with pytest.raises(SystemExit) as ending:
        build.main()
    assert ending.value.code == 0
    rows = run_main("--judges", "nbjudge", "visible-tests", "--sample", 1, "--answers", data)
    assert rows["nbjudge"]["right accepted"] == {"judged": 2, "rightly": 2, "left out": 0}
    assert rows["nbjudge"]["mistakes caught"] == {"judged": 1, "rightly": 1, "left out": 0}
    assert rows["nbjudge"]["names"]["mutation"]["ratings"] == 20  # from the sample rated by hand
    assert rows["visible tests"]["right accepted"]["rightly"] == 2
    assert (tmp_path / "my.svg").read_text(encoding="utf-8").startswith("<?xml")
