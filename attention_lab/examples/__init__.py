"""The examples under each answer: a line per example, and a sentence for one that fails.

`example` makes more of a line than its numbers: the answer is also called in float64, with gradients and
once more, so that what works on one kind of input only is noticed at once. Tracebacks in a notebook
show the line of the example and the learner's own, and none of these files.
"""

from attention_lab.examples.failed import ExampleFailedError
from attention_lab.examples.kinds import at_most, example, refuses, same
from attention_lab.examples.weights import with_weights

__all__ = ["ExampleFailedError", "at_most", "example", "refuses", "same", "with_weights"]
