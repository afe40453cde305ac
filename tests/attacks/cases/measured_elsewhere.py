"""Has threads that were started earlier do the work of calls whose memory is counted."""

from attack import wrong

PROOF = "the pool is ready"
POOL = """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
pool.submit(int).result()
print("the pool is ready")
def biggest(x):
    return pool.submit(x.max).result()
"""


def submission():
    return wrong(biggest=POOL)


def harm(arena):
    reason = arena.graded.reason(__name__, "biggest")
    return "" if "another thread" in reason else f"the student is told {reason!r}"
