"""The tutor: the judge beside a learner's kernel, and help in steps.

A process of its own holds references, checks and mistakes. A kernel asks it over HTTP to look at an answer,
is asked questions, and sends back what the answer gave: the questions are those of a grading run
(`nbjudge.kernel.protocol`), and so is the judge. Nothing that runs beside a learner's
code knows what is right.
"""

from nbjudge.skip_slow_import import skip_address_grammar

skip_address_grammar()  # before a module of this package imports nbformat
