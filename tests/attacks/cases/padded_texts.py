"""Answers with arrays of texts of which one is long: numpy makes all others as long."""

from attack import FORGED_REPLIES, IMPATIENT, wrong

LIMITS = IMPATIENT
MOST_MEMORY = 300  # MiB
PROOF = "answers"
PADDED = """
def padded(count, length):
    return {"array": ["str", [count], ["x" * length, *[""] * (count - 1)], []]}
values = [padded(1_000, 500_000), {"list": [padded(200, 19_000)] * 100}, padded(100_000, 20)]
def reply(number):
    return words({"list": [dict_of(value=values[number % len(values)])] * 2})
print("answers")
"""


def submission():
    return wrong(double=FORGED_REPLIES + PADDED)
