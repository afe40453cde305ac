"""What is remembered of an exercise in the learner's folder."""

from attention_lab.tutor.learner_record import FIRST_LESSON, LearnerRecord


def test_tries_are_answers_that_differ(tmp_path):
    record = LearnerRecord(tmp_path)
    for code, points in (("a", 1), ("a", 1), ("b", 1), ("c", 3), ("c", 3)):
        state = record.add_check("softmax", "01", code, points, 3)
    assert (state.tries, state.is_right, state.right_code) == (3, True, "c")
    record.add_help("softmax")
    record.add_mistakes("softmax", {"clipped": "The scores are clipped."})
    reloaded = LearnerRecord(tmp_path).exercise("softmax")
    assert (reloaded.tries, reloaded.helps, dict(reloaded.mistakes)) == (
        3,
        1,
        {"clipped": "The scores are clipped."},
    )


def test_an_answer_that_is_broken_again_is_not_right(tmp_path):
    record = LearnerRecord(tmp_path)
    record.add_check("softmax", "01", "a", 3, 3)
    assert not record.add_check("softmax", "01", "b", 2, 3).is_right


def test_it_can_be_forgotten(tmp_path):
    record = LearnerRecord(tmp_path)
    record.add_check("score", "01", "a", 3, 3)
    record.add_check("softmax", "01", "a", 3, 3)
    record.reset("score")
    assert set(LearnerRecord(tmp_path).exercises()) == {"softmax"}
    record.reset()
    assert not LearnerRecord(tmp_path).exercises()


def test_only_where_someone_works_is_anything_written(tmp_path):
    lesson = tmp_path / "01_dot_product"
    lesson.mkdir()
    LearnerRecord.for_lesson(lesson).add_check("score", "01", "a", 3, 3)
    assert not (tmp_path / ".attention-lab").exists()
    (tmp_path / FIRST_LESSON).mkdir()
    LearnerRecord.for_lesson(lesson).add_check("score", "01", "a", 3, 3)
    assert (tmp_path / ".attention-lab").exists()


def test_a_spoilt_file_and_one_that_cannot_be_written_cost_nothing_but_the_record(tmp_path):
    file = tmp_path / ".attention-lab" / "exercises.json"
    file.parent.mkdir()
    wrong_types = ('{"score": {"tries": "many"}}', '{"score": {"mistakes": null}}', "[" * 200_000)
    for text in wrong_types:
        file.write_text(text)
        assert LearnerRecord(tmp_path).exercise("score").tries == 0
        LearnerRecord(tmp_path).add_mistakes("score", {"a": "b"})
    for text in ("", "[]", '{"score": 3}', '{"score": {"tries": 2, "of another version": 1}}'):
        file.write_text(text)
        assert LearnerRecord(tmp_path).exercise("score").tries == (2 if "tries" in text else 0)
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("a file in its place")
    record = LearnerRecord(tmp_path)
    record.add_check("score", "01", "a", 3, 3)
    assert record.exercise("score").tries == 1


def test_what_ended_a_kernel_is_said_once(tmp_path):
    record = LearnerRecord(tmp_path)
    record.last_words.parent.mkdir()
    record.last_words.write_text("softmax")
    assert [record.take_last_words(), record.take_last_words()] == ["softmax", ""]
