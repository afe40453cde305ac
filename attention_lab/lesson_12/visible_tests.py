"""The tests of lesson 12's answer: the eleven functions, and some that are broken only sometimes."""

from attention_lab.lesson_12.eleven import ELEVEN, RIGHT, SOMETIMES


def test_is_correct(answer):
    verdicts = {letter: answer(attention) for letter, attention in ELEVEN.items()}
    assert all(type(verdict) is bool for verdict in verdicts.values()), "return a Python bool for each"
    called_right = [letter for letter, verdict in verdicts.items() if verdict]
    assert called_right, "you call all eleven broken, but one is right"
    assert len(called_right) == 1, f"one of the eleven is right, and you pass {', '.join(called_right)}"
    assert called_right == ["H"], f"you pass {called_right[0]}, which is broken"
    print(f"✓ one of the {len(ELEVEN)} is right, and you found it")
    for when, attention in SOMETIMES.items():
        assert answer(attention) is False, f"you call one right that is broken {when}"
    print(f"✓ {len(SOMETIMES)} that are broken only sometimes")
    for why, attention in RIGHT.items():
        assert answer(attention) is True, f"you call one broken that is right: {why}"
    print(f"✓ {len(RIGHT)} that are right in a form of their own")
