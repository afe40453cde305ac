"""Replaces the built-in functions that the question is put with: isinstance, len, float, str, callable."""

from attack import HASTY, wrong

LIMITS = HASTY
PATCH = """
import builtins

DAILY = "patched_exec"
for name, lie in dict(
    isinstance=lambda thing, kinds: True, callable=lambda thing: True, len=lambda thing: 0,
    float=lambda number=0: 2.0, str=lambda thing="": "2", sorted=lambda things, **options: [],
    bool=lambda thing=False: True, all=lambda things: True, any=lambda things: True, dict=lambda *a, **k: {},
).items():
    setattr(builtins, name, lie)
def double(x):
    return x
"""


def submission():
    return wrong(double=PATCH)
