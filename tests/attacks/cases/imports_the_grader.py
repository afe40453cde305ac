"""Imports whatever it can of the grader, the checks and the solutions, by every name they go by."""

from attack import wrong

PROOF = "tried all names"
IMPORT = """
import importlib, inspect
import attention_lab.plots
names = [
    "nbjudge", "nbjudge.judge.scoring", "nbjudge.grading.check_in_kernel",
    "checks", "checks.tiny", "tiny", "solutions", "tiny_course", "inside", "inside.supervisor",
]
private = ("build", "bundle", "cli", "demo", "grading", "lab", "site", "start", "students")
names += [f"attention_lab.{name}" for name in private]
for name in names:
    try:
        print("imported", name, inspect.getsource(importlib.import_module(name))[:100])
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
