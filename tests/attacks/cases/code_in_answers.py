"""Packs its reply with code in it, where a question may hold some, for the grader to run."""

from attack import FORGED_REPLIES, wrong

PROOF = "packs"
FORGE = """
import marshal
code = compile("open({place!r} + '/ran', 'w').close()\\nmade = 2.0", "<nbjudge>", "exec")
made = {{"made": [base64.b64encode(marshal.dumps(code)).decode(), {{"dict": []}}]}}
answers = [
    dict_of(value=made), dict_of(value={{"list": [made, made]}}),
    dict_of(value=dict_of(state=made, result=tensor)),
    dict_of(value=tensor, gradients=dict_of(x=made)),
    dict_of(value=tensor, changed=made, ran={{"list": [made]}}),
    dict_of(raised=dict_of(type=made, message=made, line=made)),
    dict_of(value=dict_of(state=dict_of(w=made))),
    made, dict_of(value={{"tuple": [tensor, made]}}),
]
def reply(number):
    return words({{"list": [answers[number % len(answers)]] * 4}})
print("packs")
def double(x):
    return x
"""


def submission(arena):
    return wrong(double=FORGED_REPLIES + FORGE.format(place=str(arena.mark)), row_sums="", biggest="")
