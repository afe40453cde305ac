"""An exercise for tests with tensors: it draws tensors, as a course that teaches torch sets up its own."""

from dataclasses import dataclass

import nbjudge.authoring
from nbjudge.torch import Draw


@dataclass(eq=False)
class Exercise(nbjudge.authoring.Exercise):
    """An exercise whose inputs are tensors."""

    draw: type = Draw
