"""The record of a learner's checks."""

import pytest

from nbjudge.tutor import LearnerRecord


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".checks" / "exercises.json"


def test_tries_are_answers_that_differ(file):
    record = LearnerRecord(file)
    for code, points in (("a", 1), ("a", 1), ("b", 1), ("c", 3), ("c", 3)):
        record.add_check("softmax", "01", code, points, 3)
    record.add_help("softmax")
    record.add_mistakes("softmax", {"clipped": "The scores are clipped."})
    reloaded = LearnerRecord(file).exercise("softmax")
    assert (reloaded.tries, reloaded.is_right, reloaded.right_code, reloaded.helps) == (3, True, "c", 1)
    assert reloaded.mistakes == {"clipped": "The scores are clipped."}
    record.add_check("softmax", "01", "d", 2, 3)  # broken again
    assert not record.exercise("softmax").is_right
    record.reset()
    assert not LearnerRecord(file).exercises()


@pytest.mark.parametrize(
    "text",
    ['{"score": {"tries": "many"}}', '{"score": {"mistakes": null}}', "[" * 200_000]
    + ["", "[]", '{"score": 3}', '{"score": {"tries": 2, "of another version": 1}}'],
    ids=range(7),
)
def test_a_spoilt_file_costs_only_the_record(file, text):
    file.parent.mkdir()
    file.write_text(text)
    assert LearnerRecord(file).exercise("score").tries == (2 if "another" in text else 0)
    LearnerRecord(file).add_mistakes("score", {"a": "b"})
    assert LearnerRecord(file).exercise("score").mistakes


def test_a_file_that_cannot_be_written_costs_only_itself(file):
    file.parent.write_text("a file in its place")
    record = LearnerRecord(file)
    record.add_check("score", "01", "a", 3, 3)
    assert record.exercise("score").tries == 1


def test_a_kernel_that_ended_is_told_once(file):
    record = LearnerRecord(file)
    record.last_words.parent.mkdir()
    record.last_words.write_text("softmax")
    assert [record.take_last_words(), record.take_last_words()] == ["softmax", ""]
