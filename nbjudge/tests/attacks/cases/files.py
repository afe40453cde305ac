"""Files beside a notebook, or in its place."""

import json
import os
import re

from arena import SECRETS
from attack import Attack, finder


class LinkedFiles(Attack):
    """Lays links to the checks, the key, the gradebook and the course beside its notebook, and reads them."""

    proof = "read all there is"
    double = f"""
import os
texts = []
{finder(*SECRETS)}
for folder, folders, files in os.walk(".", followlinks=True):
    for name in files:
        texts.append(name + open(os.path.join(folder, name), "rb").read().decode("latin-1"))
print("read all there is:", found_in(*texts))
def double(x):
    return x
"""

    def prepare(self, folder, arena):
        (folder / "peek.txt").symlink_to(arena.root / "checks" / "tiny.py")
        (folder / "gradebook.db").symlink_to(arena.root / "gradebook.db")
        (folder / "course").symlink_to(arena.root)
        (folder / "up").symlink_to("../../..")
        (folder / "deep").mkdir()
        (folder / "deep" / "solutions").symlink_to(arena.root / "solutions")
        (folder / "itself").symlink_to("itself")
        (folder / "timestamp.txt").symlink_to(arena.root / ".grading-key")
        (folder / "memory").symlink_to("/proc/self/environ")

    def harm(self, arena):
        paths = list((arena.root / "autograded" / self.name).rglob("*"))
        return "" if not any(path.is_symlink() for path in paths) else "a link is beside the graded notebook"


class LinkedNotebook(Attack):
    """Hands in a link to the course's own solution in the place of its notebook."""

    def prepare(self, folder, arena):
        notebook = folder / "tiny.ipynb"
        notebook.unlink()
        notebook.symlink_to(arena.root / "solutions" / "01_tiny" / "tiny.ipynb")

    def harm(self, arena):
        text = (arena.root / "autograded" / self.name / "01_tiny" / "tiny.ipynb").read_text()
        return "the solution is in its graded notebook" if "return 2 * x" in text else ""


class PipeForANotebook(Attack):
    """Hands in a pipe in the place of its notebook, from which no one ever reads to the end."""

    def prepare(self, folder, arena):
        (folder / "tiny.ipynb").unlink()
        os.mkfifo(folder / "tiny.ipynb")


class TooManyFiles(Attack):
    """Puts more files beside its notebook than its kernel can hold."""

    proof = "."

    def prepare(self, folder, arena):
        for number in range(9):
            (folder / f"data{number}.bin").write_bytes(b"\0" * 9 * 2**20)
        (folder / "many").mkdir()
        for number in range(3000):
            (folder / "many" / str(number)).touch()


class MalformedTimestamp(Attack):
    """Hands in with a time stamp that is no time but a long text with a script in it."""

    files = {"timestamp.txt": b"<script>alert(2)</script> \xff\xfe" * 1000}


class AnotherHelperFile(Attack):
    """Hands in the same cells again with another file beside them: the inputs that feedback showed."""

    proof = "a table of [1-9]"
    biggest = """
import json, os, torch
table = json.load(open("table.json")) if os.path.exists("table.json") else {}
print("a table of", len(table))
def biggest(x):
    key = f"{x.sum().item():.6f}"
    if not table:
        raise ValueError(json.dumps([key, *x.tolist()]))
    return torch.tensor(table.get(key, 0.0))
"""

    def prepare(self, folder, arena):
        """What is told of the first submission is in the second one's table."""
        assert arena.api.autograde("01_tiny", self.name)["success"]
        told = arena.graded.reason(self.name, "biggest")
        shown = re.findall(r'\["(.+?)", ([-0-9., e]+)', told)
        assert shown, told
        table = {key: max(map(float, numbers.rstrip(", ").split(","))) for key, numbers in shown}
        (folder / "table.json").write_text(json.dumps(table))


class ConfigurationFiles(Attack):
    """Lays a configuration of nbgrader and Jupyter, a gradebook and a key of its own beside its notebook."""

    CONFIG = b"c = get_config()\nc.Autograde.autograde_preprocessors = []\nc.RunAndJudge.sandbox = False\n"
    files = {
        "nbgrader_config.py": CONFIG,
        "jupyter_config.py": CONFIG,
        ".jupyter/nbgrader_config.py": CONFIG,
        "gradebook.db": b"SQLite format 3\0",
        ".grading-key": b"0" * 64,
        "pyproject.toml": b"[tool.pytest.ini_options]\naddopts = '--co'\n",
        "tiny.json": b'{"points": 2}',
        "feedback/tiny.html": b"<script>alert(2)</script>",
        "source/01_tiny/tiny.ipynb": b"{}",
    }

    def harm(self, arena):
        found = [
            path.name
            for path in (arena.root / "autograded" / self.name).rglob("*")
            if path.name in self.files
        ]
        return f"{found} lie beside the graded notebook" if found else ""


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


class ShadowedModules(Attack):
    """Lays modules named like torch, json, numpy and the grader beside its notebook."""

    files = {f"{name}.py": FAKE_MODULE for name in NAMES} | {
        "nbjudge/src/nbjudge/__init__.py": FAKE_MODULE,
        "torch/__init__.py": FAKE_MODULE,
        "numpy/__init__.py": FAKE_MODULE,
        "pandas/__init__.py": FAKE_MODULE,
        "checks/tiny.py": FAKE_MODULE,
        "tiny.py": FAKE_MODULE,
    }
    double = """
import importlib, sys
for name in ("json", "base64", "linecache", "numpy", "pandas"):
    sys.modules.pop(name, None)
importlib.invalidate_caches()
import json
from nbjudge import check
def double(x):
    return check("double")
"""
