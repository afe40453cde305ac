"""Lays a configuration of nbgrader and Jupyter, a gradebook and a key of its own beside its notebook."""

from attack import wrong

CONFIG = b"c = get_config()\nc.Autograde.autograde_preprocessors = []\nc.RunAndJudge.sandbox = False\n"
FILES = {
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


def submission():
    return wrong()


def harm(arena):
    found = [path.name for path in (arena.root / "autograded" / __name__).rglob("*") if path.name in FILES]
    return f"{found} lie beside the graded notebook" if found else ""
