"""Acts when no one looks: in finalizers, weak references and the garbage collector, amid a question."""

from attack import wrong

PROOF = "collected [1-9]"
FINALIZERS = """
import gc, weakref
collected = []
class Last:
    def __del__(self):
        collected.append(1)
        get_ipython().displayhook(2)
def callback(phase, info):
    collected.append(phase)
    if len(collected) > 6:
        return
    for space in [held for held in gc.get_objects() if type(held) is dict and "answer_calls" in held][:3]:
        space["_identical"] = space["_answer"] = lambda *rest: dict(value=2, points=2)
gc.callbacks.append(callback)
def double(x):
    weakref.finalize(Last(), print, "gone")
    gc.collect()
    return x
def row_sums(x):
    print("collected", sum(1 for _ in collected))
    return x.sum()
"""


def submission():
    return wrong(double=FINALIZERS, row_sums="")
