"""Questions to click: how they are read and scored, what students are given, and how they are graded."""

import copy
import json
import shutil
from fractions import Fraction
from pathlib import Path
from statistics import median, stdev
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from nbgrader_command import run
from rapidfuzz.distance import OSA

from nbjudge.batch.coordinator import _table
from nbjudge.course.course import Course
from nbjudge.errors import CourseError
from nbjudge.grading.job import run_job
from nbjudge.grading.prepare import solution_job
from nbjudge.grading.regrades import answers_of
from nbjudge.judge.question_verdict import question_verdict
from nbjudge.quiz import question_of, read_answers, read_question, slips
from nbjudge.record.graded_cell import read_verdict
from nbjudge.settings import GradingSettings
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.learner import OFF, asking, checking
from nbjudge.tutor.learner.record import LearnerRecord
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import QuestionReply, QuestionRequest
from nbjudge.tutor.tutor import WITH_THE_GRADE, Tutor

EXAMPLE = Path(__file__).parents[3] / "examples" / "statistics"
ONE = {"a": "the mean", "b": "the median", "right": "b", "replies": {"a": "It moves.", "b": "It stays."}}
SEVERAL = {
    "several": True,
    **{letter: letter.upper() for letter in "abcd"},
    "right": "ad",
    "replies": {letter: f"about {letter}" for letter in "abcd"},
}
PRACTICE = (("counted", 1), ("practice", 0))
NUMBER = {"right": 0.5, "within": 0.01, "replies": {0.25: "A quarter.", "otherwise": "No."}}
RANGE = {"right": (0, 1), "replies": {"otherwise": "It is a share."}}
WORD = {"right": ("softmax", "soft max"), "replies": {"relu": "It has no sum.", "otherwise": "No."}}
TYPED_WORD = {
    "right": ("decoder", "decoder block"),
    "within": 2,
    "replies": {"decoder": "It is.", "encoder": "That reads.", "otherwise": "No."},
}
NAME = {"right": "Linear", "exact": True, "replies": {"linear": "A class is upper case.", "otherwise": "No."}}


@pytest.fixture
def course(tmp_path):
    return Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))


CREDITS = [
    (ONE, {"b": 1, " B ": 1, "a": 0, "ab": 0, "x": 0, None: 0}),
    (SEVERAL, {"da": 1, "a": 0.5, "abd": 0.5, "abcd": 0, "": 0}),
    (NUMBER, {"0,5": 1, "0.51": 1, "0.52": 0, "nan": 0, "half": 0}),
    (RANGE, {"1": 1, "-1": 0}),
    (WORD, {"Soft  Max": 1, "relu": 0, "x" * 101: 0}),
    (TYPED_WORD, {"Decoder": 1, "dceodre": 1, "decodr blok": 1, "encoder": 0, "decode the": 0, "d": 0}),
    (NAME, {"Linear": 1, "linear": 0, "Linera": 0}),
]
REPLIES = [(ONE, {"a": "It moves."}), (SEVERAL, {"ab": "“A”: about a “B”: about b"})]
REPLIES += [(TYPED_WORD, {"decodre": "It is.", "encoder": "That reads.", "encoders": "No.", "x": "No."})]
REPLIES += [(NAME, {"linear": "A class is upper case.", "LINEAR": "No."})]
REPLIES += [(NUMBER, {"0.2512": "A quarter.", "7": "No."}), (WORD, {"ReLU": "It has no sum."})]


def test_an_answer_earns_its_share():
    """A wrong one has its own reply."""
    for question, credits in ((question_of("it", arguments), credits) for arguments, credits in CREDITS):
        assert {answer: question.credit(question.read(answer)) for answer in credits} == credits
        verdicts = {answer: question_verdict(question, answer, 3) for answer in credits}
        assert {answer: each.points / 3 for answer, each in verdicts.items()} == credits
        assert {each.max_points for each in verdicts.values()} == {3}
    for arguments, replies in REPLIES:
        assert {answer: question_of("it", arguments).reply(answer) for answer in replies} == replies


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"right": "c"}, "needs the letter of one choice"),
        ({"right": "ab"}, "needs the letter of one choice"),
        ({"several": True, "right": "ab"}, "letters of some choices, not of all"),
        ({"replies": {"a": "It moves."}}, "no reply for b"),
        ({"bb": "both"}, "called by one letter each"),
        ({"a": None, "b": None, "right": "mean", "within": 2}, "too much for the word 'mean'"),
    ],
)
def test_a_question_without_an_answer_is_refused(changes, sentence):
    with pytest.raises(CourseError, match=sentence):
        question_of("it", {name: each for name, each in (ONE | changes).items() if each is not None})


@pytest.mark.parametrize(
    ("given", "count"),
    [("mean", 0), ("maen", 1), ("mea", 1), ("means", 1), ("moan", 1), ("amen", 2), ("", 4), ("nmae", 3)],
)
def test_slips_of_a_word(given, count):
    assert slips(given, "mean") == slips("mean", given) == count == OSA.distance(given, "mean")


def test_only_a_key_that_can_be_read_is_one():
    """Other cells ask no question."""
    with pytest.raises(CourseError, match="computed"):
        read_question('ask("it", a="x", b="y", right=the_key)')
    for source in ("import numpy", "ask(", "ask(name)", "task('it')", "%run it\nask('x')"):
        assert read_question(source) is None


def test_each_choice_has_its_reply_folded():
    shown = question_of("it", ONE).as_html()
    assert shown.count("<details>") == 2 and "<summary>a · the mean</summary><p>✗ It moves.</p>" in shown
    assert "moves" not in question_of("it", ONE).without_key().as_html()


CODE = {"a": "`x.mean()`", "b": "`x = x - 1\nx < y`", "c": "neither", "d": "both"}


def test_code_in_choices_is_code():
    plain, block = "<code>x.mean()</code>", "<pre><code>x = x - 1\nx &lt; y</code></pre>"
    for shown in (
        question_of("it", CODE).as_html(),
        question_of("it", CODE | {"right": "a", "replies": dict.fromkeys("abcd", "So.")}).as_html(),
    ):
        assert plain in shown and block in shown and "`" not in shown


def test_shuffled_choices_keep_their_letters():
    question = question_of("it", CODE | {"shuffle": True})
    orders = {"".join(question.in_order(f"learner {number}")) for number in range(200)}
    assert len(orders) == 24
    for learner in ("ada", "ben"):
        assert question.in_order(learner) == CODE and list(question.in_order(learner)) == list(
            question.in_order(learner)
        )
        shown = question.as_html(learner)
        positions = [
            shown.index(f'<li value="{"abcd".index(letter) + 1}">') for letter in question.in_order(learner)
        ]
        assert positions == sorted(positions)
    assert list(question_of("it", CODE).in_order("ada")) == list("abcd")


@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"it": 3}', b"\xff", b"[" * 10_000, b" " * 2**17])
def test_an_answers_file_may_hold_anything(content):
    """What is in it comes before what was typed."""
    assert read_answers(content, ["x = 1\nask('it', answer='b')"]) == {"it": "b"}
    typed = ["ask('it', answer='b')", "ask('other', answer='c')"]
    assert read_answers(b'{"it": "a"}', typed) == {"it": "a", "other": "c"}


def test_numbers_of_the_example_are_right(course):
    questions = Course(course).choose_one("middle").questions
    before, after = [20, 22, 25, 28, 35], [20, 22, 25, 28, 350]
    assert questions["boss"].replies["b"] == (
        f"Right: the mean goes from {Fraction(sum(before), 5)} to {Fraction(sum(after), 5)}, "
        f"the median stays {median(before)}."
    )
    assert median(before) == median(after) and sum(after) - sum(before) == 315
    assert questions["two-values"].credit(f"{stdev([2, 6]):.2f}") == 1


def test_students_get_no_key(course):
    lesson = Course(course).choose_one("middle")
    notebook = nbformat.read(lesson.source_path, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.id == "boss")
    cell.source = cell.source.replace("### BEGIN HIDDEN TESTS", "").replace("### END HIDDEN TESTS", "")
    nbformat.write(notebook, lesson.source_path)
    with pytest.raises(CourseError, match="or students get the key"):
        _ = Course(course).choose_one("middle").questions


def test_same_answers_are_known_by_themselves():
    """A regrade of one question, or of code, does not depend on the answers to the others."""
    cells = [
        {"cell_type": "code", "source": source, "metadata": {"nbjudge": {"check": name}}}
        for name, source in (("boss", "ask('boss', a='x', b='y')"), ("f", "f(1)"))
    ]
    files = ({"boss": "b"}, {"boss": "b", "robust": "a"}, {"boss": "a"})
    first, same, other = (answers_of(cells, {"answers.json": json.dumps(kept).encode()}) for kept in files)
    assert first == same and other["f"] == first["f"] and other["boss"] != first["boss"]


def test_the_table_of_a_class_has_what_is_worth_points():
    verdicts = {name: question_verdict(question_of(name, ONE), "a", points) for name, points in PRACTICE}
    table = _table("quiz1", [SimpleNamespace(notebooks=[SimpleNamespace(verdicts=verdicts)])])
    assert [str(cell) for cell in table.columns[0].cells] == ["counted"]


def tutor_of(course, points, disclosure=Disclosure.FULL):
    source = course / "source" / "quiz1" / "middle.ipynb"
    notebook = nbformat.read(source, as_version=4)
    for cell in notebook.cells:
        if "points" in cell.metadata.get("nbgrader", {}):
            cell.metadata.nbgrader["points"] = points
    nbformat.write(notebook, source)
    material = material_of(Course(course))
    return Tutor(
        SimpleNamespace(find_question=material.find_question, disclosure=DisclosureSettings(disclosure))
    )


@pytest.mark.parametrize(
    ("points", "disclosure", "is_told"),
    [(0, Disclosure.FULL, True), (1, Disclosure.FULL, False), (0, Disclosure.MEASURED, False)],
)
def test_the_tutor_tells_where_it_may(course, points, disclosure, is_told):
    """An unknown question is one sentence."""
    tutor = tutor_of(course, points, disclosure)
    reply = tutor.reply(QuestionRequest(folder="quiz1", question="boss", answer="a"))
    assert isinstance(reply, QuestionReply) == is_told and getattr(reply, "credit", 0) == 0
    assert ("25 before and after" in reply.sentence) if is_told else (reply.sentence == WITH_THE_GRADE)
    with pytest.raises(CourseError, match="There is no question 'bos'"):
        tutor.reply(QuestionRequest(folder="quiz1", question="bos", answer="a"))


@pytest.fixture
def notebook_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checking, "record", LearnerRecord(tmp_path / ".record" / "exercises.json"))
    return tmp_path


def test_the_answer_and_its_reply_are_kept(notebook_folder, monkeypatch):
    monkeypatch.setattr(
        checking, "converse", lambda request: (QuestionReply(sentence="It moves.", credit=0), [])
    )
    (notebook_folder / "answers.json").write_text('{"other": "c"}')
    asked = asking.ask("it", a="the mean", b="the median")
    asked.give("a")
    assert "Your answer: <strong>the mean</strong></p><p>✗ It moves.</p>" in asked._repr_html_()
    assert json.loads((notebook_folder / "answers.json").read_text()) == {"other": "c", "it": "a"}
    history = LearnerRecord(notebook_folder / ".record" / "exercises.json").exercise("it")
    assert (history.code, history.tries, history.is_right) == ("a", 1, False)
    again = asking.ask("it", a="the mean", b="the median")  # after a restart
    assert again.answer == "a"
    assert asking.ask("it", answer="b").answer == "b"  # typed, by the name of a question that was asked


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("choices", [CODE, dict(zip("abcd", ("one", "two", "three", "four"), strict=True))])
def test_a_click_keeps_the_authors_letter(notebook_folder, monkeypatch, several, choices):
    """In whichever order the learner sees the choices; the same one after a restart."""
    widgets = pytest.importorskip("ipywidgets")
    monkeypatch.setenv("NBJUDGE_TUTOR", OFF)

    def clickable(user):
        monkeypatch.setenv("JUPYTERHUB_USER", user)
        asked = asking.ask("it", shuffle=True, several=several, **choices)
        kinds, found, boxes = (widgets.Button, widgets.Checkbox), [], [asked._controls()]
        while boxes:
            box = boxes.pop(0)
            found += [box] if isinstance(box, kinds) else []
            boxes = [*getattr(box, "children", ()), *boxes]
        return asked, found

    orders = set()
    for user in ("ada", "ben", "cid", "dot"):
        asked, controls = clickable(user)
        letters = list(asked.choices)
        assert letters == list(clickable(user)[0].choices)
        orders.add("".join(letters))
        if several:
            for control in controls[:4]:
                control.value = control is controls[1]
            controls[4].click()
        else:
            controls[1].click()
        assert json.loads((notebook_folder / "answers.json").read_text()) == {"it": letters[1]}
    assert len(orders) > 1


def test_without_a_tutor_the_answer_is_kept(notebook_folder, monkeypatch):
    """Where nothing can be saved, it is said; stock nbgrader gives no points unseen."""
    monkeypatch.setenv("NBJUDGE_TUTOR", OFF)
    file, question = notebook_folder / "answers.json", {"a": "the mean", "b": "the median"}
    asked = asking.ask("it", **question, answer="b")
    assert asking.KEPT in repr(asked) and '"it": "b"' in file.read_text()
    file.unlink()
    file.mkdir()
    asked = asking.ask("it", **question, answer="b")
    assert "could not be saved" in repr(asked) and asked.answer == "b"
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(RuntimeError, match="graded by nbjudge"):
        asking.ask("it", **ONE)


@pytest.mark.integration
def test_a_class_is_graded_without_its_code(course):
    """Answers from the file, from a cell, and where the question's cells were changed or deleted."""
    config = course / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}\nfrom nbjudge import configure\n\nconfigure(c)\n")
    run(course, "generate_assignment", "quiz1")
    released = nbformat.read(course / "release/quiz1/middle.ipynb", as_version=4)
    assert "right=" not in (course / "release/quiz1/middle.ipynb").read_text()
    kept = {"boss": "b", "robust": "abd", "two-values": "2.83"}
    by_student = {"ada": kept, "bob": {}, "cyd": kept, "dan": kept}
    for student, answers in by_student.items():
        notebook = copy.deepcopy(released)
        questions = [cell for cell in notebook.cells if cell.source.startswith("ask(")]
        if student == "bob":
            notebook.cells.append(new_code_cell("ask('boss', answer='b')"))
        if student == "cyd":
            questions[0].source = "ask('boss', a='everything')\nraise SystemExit"
        if student == "dan":
            notebook.cells = [cell for cell in notebook.cells if cell not in questions]
        folder = course / "submitted" / student / "quiz1"
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / "middle.ipynb")
        if answers:
            (folder / "answers.json").write_text(json.dumps(answers))
    run(course, "autograde", "quiz1")
    points = {}
    for student in by_student:
        graded = nbformat.read(course / "autograded" / student / "quiz1/middle.ipynb", as_version=4)
        verdicts = [verdict for cell in graded.cells if (verdict := read_verdict(cell))]
        points[student] = [verdict.points for verdict in verdicts]
        notice = graded.cells[0].source
        assert ("was missing" in notice, "was changed" in notice) == (student == "dan", student == "cyd")
    assert points == {"ada": [1, 1, 1], "bob": [1, 0, 0], "cyd": [1, 1, 1], "dan": [1, 1, 1]}
    run(course, "generate_feedback", "quiz1")
    page = (course / "feedback/ada/quiz1/middle.html").read_text()
    assert "Every value is in the sum." in page and "a wrong choice takes these points back" in page


@pytest.mark.integration
def test_the_solution_of_the_example_has_all_points(course):
    assignment = Course(course).choose_one("middle")
    result = run_job(solution_job(assignment, GradingSettings()), assignment)
    assert [(points, of) for _, points, of in result.points] == [(1, 1), (2, 2), (1, 1)]
