"""Reports hundreds of thousands of steps that ran, with long names, for its judge to look through."""

from attack import IMPATIENT, wrong

LIMITS = IMPATIENT | {"notebook_seconds": 40}
PROOF = "reports"
FORGE = """
import base64, builtins, json
from safetensors.torch import save
turn, real = [0], builtins.exec
lists = [[f"step {n:x}" for n in range(60_000)], ["aten::" + "_" * 19_000 + str(n) for n in range(150)],
         ["*" * 9_000, "[" * 9_000, "aten::[!" * 2_000]]
packed = base64.b64encode(save({"0": torch.ones(3)})).decode()
def forged_exec(compiled, space=None, *more):
    real(compiled, space, *more)
    if isinstance(space, dict) and "respond" in space:
        turn[0] += 1
        ran = {"list": [{"plain": name} for name in lists[turn[0] % len(lists)]]}
        entry = {"dict": [["value", {"tensor": "0"}], ["ran", ran], ["changed", ran]]}
        tree = json.dumps({"list": [entry] * 2}).encode()
        space["respond"] = lambda *_: base64.b64encode(tree).decode() + " " + packed
builtins.exec = forged_exec
print("reports", flush=True)
def double(x):
    return x
"""


def submission():
    return wrong(double=FORGE, row_sums="", biggest="")
