"""Answers every import of the grader with a module of its own, whose `check` gives full marks."""

from attack import wrong

PROOF = "imported by my own finder"
FINDER = """
import importlib.abc, importlib.machinery, sys, types
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.startswith(("attention_lab", "nbjudge", "nbgrader", "checks")):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: lambda *arguments, **options: 2
        return module
    def exec_module(self, module):
        print("imported by my own finder:", module.__name__)
sys.meta_path.insert(0, Finder())
for name in [name for name in sys.modules if name.startswith(("attention_lab", "nbjudge", "nbgrader"))]:
    del sys.modules[name]
from nbjudge import check
def double(x):
    return check("double")
"""


def submission():
    return wrong(double=FINDER)
