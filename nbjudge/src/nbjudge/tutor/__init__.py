"""The tutor: the judge beside a learner's kernel, and help in steps.

A process of its own holds references, checks and mistakes. A kernel requests a check of an answer, receives
calls, and sends back what the answer gave: the calls are those of a grading run (`nbjudge.kernel.protocol`),
and so is the judge. Nothing that runs beside a learner's code knows what is right.
"""

from nbjudge.fast_start import skip_address_grammar

skip_address_grammar()  # before a module of this package imports nbformat
