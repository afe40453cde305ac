"""An exercise for tests with tensors: it draws tensors, as a course that teaches torch sets up its own."""

from functools import partial

import nbjudge.authoring
from nbjudge.torch import Draw

Exercise = partial(nbjudge.authoring.Exercise, draw=Draw)
