"""Makes a Python process, and each that it starts, one without JupyterLab, nbgrader and their packages."""

import importlib.abc
import sys

MISSING = ("jupyterlab", "jupyter_server", "nbgrader", "nbconvert", "notebook", "sqlalchemy")


class Missing(importlib.abc.MetaPathFinder):
    """Finds no module of the packages that Colab does not have. It has psutil: ipykernel 6.17 imports it."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, Missing())
