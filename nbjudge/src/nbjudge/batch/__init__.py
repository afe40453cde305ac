"""A whole class at once: the same grades as one by one, on all cores or on a cluster.

nbgrader's own `Autograde` runs once for each submission, in a thread of the coordinator's, and
waits where a notebook is out at work. One thread at a time is not waiting, so the gradebook and
the folders are written by one hand.
"""

from nbjudge.fast_start import skip_address_grammar

skip_address_grammar()  # before a module of this package imports nbformat


class GradingFailedError(Exception):
    """The process that graded this notebook says how that failed; its log has the details."""
