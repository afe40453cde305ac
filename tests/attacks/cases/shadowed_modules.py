"""Lays modules named like torch, json, numpy and the grader beside its notebook."""

from attack import wrong

LIES = b"print('shadowed')\ndef __getattr__(name):\n    return lambda *arguments, **options: True\n"
NAMES = (
    "torch",
    "json",
    "base64",
    "numpy",
    "pandas",
    "linecache",
    "marshal",
    "ipykernel",
    "sitecustomize",
    "conftest",
)
FILES = {f"{name}.py": LIES for name in NAMES} | {
    "attention_lab/__init__.py": LIES,
    "nbjudge/src/nbjudge/__init__.py": LIES,
    "torch/__init__.py": LIES,
    "numpy/__init__.py": LIES,
    "pandas/__init__.py": LIES,
    "checks/tiny.py": LIES,
    "tiny.py": LIES,
}
SHADOW = """
import importlib, sys
for name in ("json", "base64", "linecache", "numpy", "pandas"):
    sys.modules.pop(name, None)
importlib.invalidate_caches()
import json
from nbjudge import check
def double(x):
    return check("double")
"""


def submission():
    return wrong(double=SHADOW)
