"""Attacks by the packed text of a reply."""

from attack import FORGED_REPLIES, Attack, wrong


class CodeInAnswers(Attack):
    """Packs its reply with code in it, where a question may hold some, for the grader to run."""

    proof = "packs"
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

    def submission(self, arena):
        return wrong(
            double=FORGED_REPLIES + self.FORGE.format(place=str(arena.mark)), row_sums="", biggest=""
        )


class HostilePacking(Attack):
    """Packs its reply as tens of millions of empty lists, which grow thirtyfold when they are read."""

    most_memory = 400  # MiB
    double = """
import json
forged = ["[" + "[]," * 10**7 + "[]]", "[" + "1e9," * 10**7 + "1]", '{"":0,' * 990]
turn, real = [0], json.dumps
def dumps(tree, **options):
    turn[0] += 1
    return real(tree, **options) if options else forged[turn[0] % 3]
json.dumps = dumps
def double(x):
    return x
"""


class ObjectsThatRunWhenRead(Attack):
    """Returns, and packs in the place of tensors, objects that run code where they are unpickled."""

    BOMB = """
import base64, json, marshal, os, pickle
class Bomb:
    def __reduce__(self):
        return os.system, ("touch {folder}/pickled",)
pickled = pickle.dumps(Bomb())
code = marshal.dumps(compile("open('{folder}/marshalled', 'w')", "x", "exec"))
made = base64.b64encode(code).decode()
def double(x):
    import sys
    space = sys._getframe(1).f_globals
    space["Message"].numbers = property(lambda self: pickled, lambda self, numbers: None)
    return Bomb()
def row_sums(x):
    import sys
    space = sys._getframe(1).f_globals
    space["Message"].tree = lambda message, value, depth: dict(made=[made, dict(dict=[])])
    return x
def biggest(x):
    torch.save(Bomb(), "bomb.pt")
    return pickled.decode("latin-1")
"""

    def submission(self, arena):
        return wrong(double=self.BOMB.replace("{folder}", str(arena.mark)), row_sums="", biggest="")
