"""Reports hundreds of thousands of steps that ran, with long names, for its judge to look through."""

from attack import FORGED_REPLIES, IMPATIENT, wrong

LIMITS = IMPATIENT | {"notebook_seconds": 40}
PROOF = "reports"
FORGE = """
lists = [[f"step {n:x}" for n in range(60_000)], ["aten::" + "_" * 19_000 + str(n) for n in range(150)],
         ["*" * 9_000, "[" * 9_000, "aten::[!" * 2_000]]
def reply(number):
    ran = {"list": [{"plain": name} for name in lists[number % len(lists)]]}
    return words({"list": [dict_of(value=tensor, ran=ran, changed=ran)] * 2})
print("reports", flush=True)
def double(x):
    return x
"""


def submission():
    return wrong(double=FORGED_REPLIES + FORGE, row_sums="", biggest="")
