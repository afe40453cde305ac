"""Puts lists of tensors in the places of texts in its reply, which take for ever to be printed."""

from attack import FORGED_REPLIES, IMPATIENT, wrong

DAILY = "text_of_no_encoding"

LIMITS = IMPATIENT | {"notebook_seconds": 40}
PROOF = "packs"
FORGE = """
wide = {"list": [tensor] * 9_000}
answers = [
    dict_of(raised=dict_of(type=wide, message={"plain": "x"}, line={"plain": "x"})),
    dict_of(raised=dict_of(type={"plain": "ValueError"}, message=wide, line=wide)),
    dict_of(value=tensor, changed={"list": [wide] * 2}), dict_of(missing=wide, raised=wide),
    dict_of(value=tensor, gradients=wide, ran={"list": [wide]}),
]
def reply(number):
    return words({"list": [answers[number % len(answers)]] * 3})
print("packs", flush=True)
def double(x):
    return x
"""


def submission():
    return wrong(double=FORGED_REPLIES + FORGE, row_sums="", biggest="")


def harm(arena):
    reasons = [arena.graded.reason(__name__, name) for name in ("double", "row_sums", "biggest")]
    return "" if all(0 < len(reason) < 10_000 for reason in reasons) else "a reason is missing or endless"
