"""Lays modules named like torch, json, numpy and the grader beside its notebook."""

from attack import wrong

FAKE_MODULE = b"print('shadowed')\ndef __getattr__(name):\n    return lambda *arguments, **options: True\n"
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
FILES = {f"{name}.py": FAKE_MODULE for name in NAMES} | {
    "attention_lab/__init__.py": FAKE_MODULE,
    "nbjudge/src/nbjudge/__init__.py": FAKE_MODULE,
    "torch/__init__.py": FAKE_MODULE,
    "numpy/__init__.py": FAKE_MODULE,
    "pandas/__init__.py": FAKE_MODULE,
    "checks/tiny.py": FAKE_MODULE,
    "tiny.py": FAKE_MODULE,
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
