"""The learner's side of the tutor: `check`, its panel, and what is remembered of it.

What is right is known to a process of its own (`nbjudge.tutor`), which this starts, or finds at an address.
Here, in the kernel, its questions are answered and what it says is shown.
"""
