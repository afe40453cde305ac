"""Hands in a link to the course's own solution in the place of its notebook."""

from attack import wrong


def prepare(folder, arena):
    notebook = folder / "tiny.ipynb"
    notebook.unlink()
    notebook.symlink_to(arena.root / "solutions" / "01_tiny" / "tiny.ipynb")


def submission():
    return wrong()


def harm(arena):
    text = (arena.root / "autograded" / __name__ / "01_tiny" / "tiny.ipynb").read_text()
    return "the solution is in its graded notebook" if "return 2 * x" in text else ""
