"""A report without names counts each student once."""

from nbjudge.report.table_type import table_of
from nbjudge.report.tables import NOT_SAID, WHO, _without_own_words


def test_no_more_students_than_there_are():
    """Sentences that few were told are one row: who was told several of them counts once in it."""
    rows = [
        {"exercise": "f", "students": len(who), "of": 5, "sentence": f"It says {who[0]}.", WHO: who}
        for who in (["ada", "ben"], ["ada", "eve"], ["ben", "eve"])
    ]
    (row,) = _without_own_words(table_of(["exercise", "students", "of", "sentence", WHO], rows)).rows
    assert (row["students"], row["of"], row["sentence"]) == (3, 5, NOT_SAID)
