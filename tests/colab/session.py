"""A session as in Colab: run the set-up cells of lessons, and in some a wrong and a right answer.

Colab's kernel has a shell class of its own, derived from Jupyter's, and starts in an empty folder. `pip` is
not called where the course is installed already; then the set-up cell is told that it is missing.

Run by `test_other_hosts.py`, and by hand with other versions of packages: see docs/versions.md.
"""

import importlib.util
import json
import os
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from unittest import mock

from ipykernel.inprocess.manager import InProcessKernelManager

# Exercise, wrong answer, and a piece of the sentence that names its mistake.
ANSWERS = {
    "01_dot_product": (
        "softmax",
        "def softmax(scores):\n    e = torch.exp(scores)\n    return e / e.sum(dim=-1, keepdim=True)",
        "exp overflows to inf",
    ),
    "06_efficient_reshape": (
        "merge_heads",
        "def merge_heads(x):\n    return x.reshape(x.shape[0], x.shape[2], -1)",
        "transpose",
    ),
    "13_real_model": (
        "mean_pool",
        "def mean_pool(x, mask):\n    return x.mean(dim=1)",
        "Padding is in the mean",
    ),
}
PACKAGES = ("torch", "numpy", "pandas", "ipython", "ipykernel", "ipywidgets")
IS_INSTALLED = importlib.util.find_spec("attention_lab") is not None


class Session:
    """A kernel in a folder that holds a released notebook, and what runs in it."""

    def __init__(self, shell, notebook):
        self.shell = shell
        cells = json.loads(notebook.read_text())["cells"]
        self.cells = {cell["id"]: "".join(cell["source"]) for cell in cells}

    def run(self, code):
        result = self.shell.run_cell(code)
        result.raise_error()
        return result.result

    def set_up(self):
        """Run the set-up cell of a notebook that was opened in a service without the course."""
        find = importlib.util.find_spec
        if not IS_INSTALLED:
            self.run(self.cells["setup"])
            return

        def find_spec(name, *more):
            return None if name == "attention_lab" else find(name, *more)

        def run_nothing(command):
            assert command.startswith("pip install -q "), command

        with (
            mock.patch("importlib.util.find_spec", find_spec),
            mock.patch.object(type(self.shell), "system", staticmethod(run_nothing)),
        ):
            self.run(self.cells["setup"])


def main(release, folders):
    manager = InProcessKernelManager()
    manager.start_kernel()
    shell = manager.kernel.shell
    print(*(f"{name} {metadata.version(name)}" for name in PACKAGES))
    for folder in folders:
        (notebook,) = (release / folder).glob("*.ipynb")
        work = Path(tempfile.mkdtemp()).resolve()
        os.chdir(work)
        session = Session(shell, notebook)
        session.set_up()
        print(folder, "set-up cell runs")
        if folder in ANSWERS:
            name, wrong, mistake = ANSWERS[folder]
            session.run(wrong)
            assert mistake in repr(session.run(f"check({name!r}).mistake()")), name
            solved = json.loads((release.parent / "solutions" / folder / notebook.name).read_text())["cells"]
            session.run(next("".join(cell["source"]) for cell in solved if cell["id"] == name))
            assert "right in all" in repr(session.run(f"check({name!r})")), name
            print(folder, "check names the mistake and accepts the right answer")
        question = next((name for name in session.cells if name.startswith("predict-")), "")
        if question:
            session.run(session.cells[question])
            replied = repr(session.run(f"ask({question!r}, answer='b')"))
            assert "✓" in replied or "✗" in replied, question
            print(folder, "a prediction has its reply")


if __name__ == "__main__":
    sys.path.insert(0, "")  # as a kernel has it
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
