"""The draw of papers, from items that are made up, and what questions become with their numbers."""

import itertools

import pytest

from nbjudge.course.exam import DrawnItem, ExamTable, in_quarters
from nbjudge.errors import CourseError
from nbjudge.exam.blueprint import FIX, NUMBER, PREDICTION, QuestionTable, read_blueprint, variants
from nbjudge.exam.draw import BOUND, draw_papers, points_of, slots_of
from nbjudge.exam.items import Item, Task
from nbjudge.exam.results import compare, item_results, shares_of

STUDENTS = [f"s{number}" for number in range(40)]
DOUBLED = {"name": "doubled", "text": "Twice {n}?", "numbers": {"n": [2, 3, 1200]}}


def task(family, number, expected, right="", code=""):
    return Task(
        f"{family}/{number}", FIX, family, f"l/{family[0]}", expected, code or f"bug{number}", right, (), ()
    )


@pytest.fixture
def items():
    """Exercises with four hunts each, easy and hard ones, and questions with five choices of numbers."""
    tasks = [
        task(f"{name}x", at, 0.35 + 0.05 * (place + at))
        for place, name in enumerate("abcdef")
        for at in range(4)
    ]
    asked = [
        Item(f"{kind}{name}/{at}", kind, f"{kind}{name}", f"l/{name}", 0.5 + place / 10)
        for kind in (NUMBER, PREDICTION)
        for place, name in enumerate("abcd")
        for at in range(5)
    ]
    return [*tasks, *asked]


def test_the_same_key_draws_the_same_papers(items):
    papers = draw_papers(items, STUDENTS, 45, b"key", "exam")
    assert papers == draw_papers(items, STUDENTS, 45, b"key", "exam")
    assert papers[:10] == draw_papers(items, STUDENTS[:10], 45, b"key", "exam")
    for others in (
        draw_papers(items, STUDENTS, 45, b"other", "exam"),
        draw_papers(items, STUDENTS, 45, b"key", "retake"),
    ):
        assert sum(one.items == other.items for one, other in zip(papers, others, strict=True)) < 5


def test_neighbours_share_nothing_and_papers_are_equally_hard(items):
    for key in (b"1", b"2", b"3"):
        papers = draw_papers(items, STUDENTS, 45, key, "exam")
        for one, other in itertools.pairwise(papers):
            assert not {item.id for item in one.items} & {item.id for item in other.items}
        expected = [paper.expected for paper in papers]
        slots = [item.kind for item in papers[0].items]
        assert max(expected) - min(expected) <= 2 * BOUND * points_of(slots)
        for paper in papers:
            assert [item.kind for item in paper.items] == slots == [FIX] * 3 + [NUMBER] * 3 + [PREDICTION] * 3
            assert len({item.family for item in paper.items}) == 9


def test_what_fits_into_the_time():
    assert slots_of(30, {FIX, NUMBER, PREDICTION}) == [FIX] * 2 + [NUMBER] * 2 + [PREDICTION] * 2
    assert slots_of(20, {FIX, NUMBER}) == [FIX, FIX, NUMBER]
    with pytest.raises(CourseError, match="Nothing fits into 2 minutes: an exam needs 3"):
        slots_of(2, {FIX, PREDICTION})


def test_too_few_hunts_for_neighbours():
    only = [task("ax", 0, 0.5), task("bx", 0, 0.5)]
    assert len(draw_papers(only, ["ada", "ben"], 8, b"key", "exam")) == 2
    with pytest.raises(CourseError, match="too few tasks: a paper of 16 minutes needs 2"):
        draw_papers(only, ["ada", "ben"], 16, b"key", "exam")
    # A task that shows the line which another one has to become is in no paper with it.
    giving = [
        task("ax", 0, 0.5, right="return total / count"),
        task("bx", 0, 0.5, code="return total / count"),
    ]
    with pytest.raises(CourseError, match="too few tasks"):
        draw_papers(giving, ["ada"], 16, b"key", "exam")


def test_a_question_with_numbers():
    table = QuestionTable(**DOUBLED, right="2 * n", replies={"n + 2": "Added.", "otherwise": "No."})
    made = variants(table, "it")
    assert {each.text for each in made} == {"Twice 3?", "Twice 1,200?"}  # with 2 the wrong answer is right
    assert all(each.question.credit(each.question.right_answer) == 1 for each in made)
    chosen = QuestionTable(**DOUBLED, choices=[("{2 * n}", "Yes."), ("{n + 2}", "Added.")])
    for each in variants(chosen, "it"):
        right = each.question.shown_answer(each.question.right_answer)
        assert right.replace(",", "") == str(2 * int(each.text[6:-1].replace(",", "")))
        assert each.question.replies[each.question.right_answer] == "Yes."


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"right": "2 * m", "replies": {"otherwise": "No."}}, "cannot be made .NameError"),
        ({"right": "2 * n"}, "has no reply"),
        ({"choices": [("{n}", "Yes."), ("{n}", "No.")]}, "no numbers with which its answers differ"),
    ],
)
def test_a_question_that_cannot_be_made(change, sentence):
    with pytest.raises(CourseError, match=sentence):
        variants(QuestionTable(**DOUBLED | change), "it")


def test_a_blueprint_that_cannot_be_read(tmp_path):
    (tmp_path / "exam.toml").write_text("task = []")
    with pytest.raises(CourseError, match="exam.toml cannot be read"):
        read_blueprint(tmp_path / "exam.toml")
    assert read_blueprint(tmp_path / "none.toml") is None


def test_points_in_quarters():
    assert in_quarters([0.5, 0.5, 2, 1], 8) == [1, 1, 4, 2]
    for parts in ([1] * 13, [1, 100], [3, 3, 1]):
        shares = in_quarters(parts, 8)
        assert sum(shares) == 8 and min(shares) >= 0.25


def test_harder_papers_are_worth_more():
    """Two students with half of the points: the one with the harder tasks has more comparable points."""
    drawn = {"hard/1": DrawnItem(FIX, 0.3, "hard"), "easy/1": DrawnItem(FIX, 0.8, "easy")}
    papers = {"ada": ["hard/1"], "ben": ["easy/1"], "cid": ["easy/1"], "dot": ["hard/1"], "eve": ["hard/1"]}
    table = ExamTable(8, {FIX: 8.0}, [], {}, drawn, papers)
    points = {"ada": 4, "ben": 4, "cid": 8, "dot": 0, "eve": 8}
    shares = shares_of(table, {student: {"task_1_points": each} for student, each in points.items()})
    results = {each.student: each for each in compare(table, shares)}
    assert results["ada"].comparable > 4 > results["ben"].comparable
    assert (results["dot"].comparable, results["cid"].comparable, results["eve"].comparable) == (0, 8, 8)
    assert results["ada"].expected < results["ben"].expected
    earned = {each.name: (each.students, each.earned) for each in item_results(table, shares)}
    assert earned == {"hard/1": (3, 0.5), "easy/1": (2, 0.75)}
