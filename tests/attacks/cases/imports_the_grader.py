"""Imports whatever it can of the grader, the checks and the solutions, by every name they go by."""

from attack import wrong

PROOF = "tried all names"
IMPORT = """
import importlib, inspect, pkgutil
import attention_lab
names = [
    "attention_lab.grading", "attention_lab.grading.judge", "attention_lab.grading.in_kernel",
    "checks", "checks.tiny", "tiny", "solutions", "tiny_course", "inside", "inside.keeper",
]
names += [module.name for module in pkgutil.iter_modules(attention_lab.__path__, "attention_lab.")]
for name in names:
    try:
        module = importlib.import_module(name)
        if "grading" in name or not name.startswith("attention_lab"):
            print("imported", name, inspect.getsource(module)[:100])
    except ImportError:
        pass
print("tried all names", len(names))
def double(x):
    return x
"""


def submission():
    return wrong(double=IMPORT)


def harm(arena):
    return "it imported something" if "imported " in arena.shown(__name__) else ""
