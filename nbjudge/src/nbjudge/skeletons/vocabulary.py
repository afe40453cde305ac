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
    """The module that checks import `Exercise` and `case` from, and the library of their values."""

    module: str = OWN_MODULE
    torch: bool = False

    @property
    def setup(self) -> str:
        """The set-up cell of an assignment."""
        libraries = (
            ("torch", "torch.nn as nn", "torch.nn.functional as F") if self.torch else ("numpy as np",)
        )
        return "\n".join(["import math", "", *(f"import {library}" for library in libraries)])

    @property
    def draws(self) -> bool:
        """Whether exercises have to be told to draw tensors, as the course has no `Exercise` of its own."""
        return self.torch and self.module == OWN_MODULE

    def values(self, layer: bool = False) -> dict[str, str]:
        """What templates say in this course's words; a layer is built besides."""
        lines = [f"from {self.module} import Exercise, case"]
        of_torch = [name for name, used in (("Draw", self.draws), ("build", layer)) if used]
        if of_torch:
            lines.append(f"from nbjudge.torch import {', '.join(of_torch)}")
        return {
            "imports": "\n".join(lines),
            "draw": "\n    draw=Draw," if self.draws else "",
            "array": "torch.tensor([1.0, 3.0])" if self.torch else "np.array([1.0, 3.0])",
            "array_type": "torch.Tensor" if self.torch else "np.ndarray",
            "whole_numbers": "torch.tensor([1, 3])" if self.torch else "np.array([1, 3])",
            "library": "import torch" if self.torch else "import numpy as np",
            "noun": "a tensor" if self.torch else "an array",
        }


def vocabulary_of(checks: Path) -> Vocabulary:
    """That of the checks in a folder."""
    texts = [file.read_text() for file in sorted(checks.rglob("*.py"))] if checks.is_dir() else []
    modules = Counter(module for text in texts for module in IMPORTED_FROM.findall(text))
    (module, _), *_ = modules.most_common(1) or [(OWN_MODULE, 0)]
    return Vocabulary(module, any(TORCH.search(text) for text in texts))
