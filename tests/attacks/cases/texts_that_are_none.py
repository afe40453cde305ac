"""Puts lists of tensors in the places of texts in its reply, which take for ever to be printed."""

from attack import IMPATIENT, wrong

LIMITS = IMPATIENT | {"notebook_seconds": 40}
PROOF = "packs"
FORGE = """
import base64, builtins, json
from safetensors.torch import save
wide = {"list": [{"tensor": "0"}] * 9_000}
def dict_of(**entries):
    return {"dict": [[name, value] for name, value in entries.items()]}
answers = [
    dict_of(raised=dict_of(type=wide, message={"plain": "x"}, line={"plain": "x"})),
    dict_of(raised=dict_of(type={"plain": "ValueError"}, message=wide, line=wide)),
    dict_of(value={"tensor": "0"}, changed={"list": [wide] * 2}), dict_of(missing=wide, raised=wide),
    dict_of(value={"tensor": "0"}, gradients=wide, ran={"list": [wide]}),
]
turn, real = [0], builtins.exec
packed = base64.b64encode(save({"0": torch.ones(1000, dtype=torch.float64)})).decode()
def forged_exec(compiled, space=None, *more):
    real(compiled, space, *more)
    if isinstance(space, dict) and "respond" in space:
        turn[0] += 1
        tree = json.dumps({"list": [answers[turn[0] % len(answers)]] * 3}).encode()
        space["respond"] = lambda *_: base64.b64encode(tree).decode() + " " + packed
builtins.exec = forged_exec
print("packs", flush=True)
def double(x):
    return x
"""


def submission():
    return wrong(double=FORGE, row_sums="", biggest="")


def harm(arena):
    reasons = [arena.graded.reason(__name__, name) for name in ("double", "row_sums", "biggest")]
    return "" if all(0 < len(reason) < 10_000 for reason in reasons) else "a reason is missing or endless"
