"""What a new exercise of a course is written with: as its other checks are, or else with NumPy."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

OWN_MODULE = "nbjudge.authoring"
IMPORTED_FROM = re.compile(r"^from (\S+) import .*\bExercise\b", re.MULTILINE)
TORCH = re.compile(r"^import torch\b", re.MULTILINE)


@dataclass(frozen=True)
class Vocabulary:
    """The module that checks import `Exercise` and `ask` from, and the library whose values they ask with."""

    module: str = OWN_MODULE
    torch: bool = False

    @property
    def setup(self) -> str:
        """The set-up cell of a lesson."""
        libraries = (
            ("torch", "torch.nn as nn", "torch.nn.functional as F") if self.torch else ("numpy as np",)
        )
        return "\n".join(["import math", "", *(f"import {library}" for library in libraries)])

    @property
    def imports(self) -> str:
        """The first lines of a file of checks."""
        lines = [f"from {self.module} import Exercise, ask"]
        if self.torch and self.module == OWN_MODULE:
            lines.append("from nbjudge.torch import Draw")
        return "\n".join(lines)

    @property
    def draw(self) -> str:
        """What an exercise is told to draw with, where that is not understood."""
        return ", draw=Draw" if self.torch and self.module == OWN_MODULE else ""

    def array(self, numbers: str) -> str:
        """The code of an array of these numbers."""
        return f"torch.tensor({numbers})" if self.torch else f"np.array({numbers})"

    @property
    def array_type(self) -> str:
        return "torch.Tensor" if self.torch else "np.ndarray"

    @property
    def noun(self) -> str:
        return "a tensor" if self.torch else "an array"


def vocabulary_of(checks: Path) -> Vocabulary:
    """That of the checks in a folder."""
    texts = [file.read_text() for file in sorted(checks.rglob("*.py"))] if checks.is_dir() else []
    modules = Counter(module for text in texts for module in IMPORTED_FROM.findall(text))
    (module, _), *_ = modules.most_common(1) or [(OWN_MODULE, 0)]
    return Vocabulary(module, any(TORCH.search(text) for text in texts))
