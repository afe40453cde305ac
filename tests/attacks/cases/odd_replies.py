"""Replies to cells and questions with contents of every wrong shape, so that its grader stumbles."""

from attack import IMPATIENT, wrong

LIMITS = IMPATIENT | {"notebook_seconds": 40}
PROOF = "replies"
ODD = """
kernel = get_ipython().kernel
contents = [
    {}, [], None, 2, "x", {"status": 2}, {"status": "ok", "payload": 7},
    {"status": "ok", "payload": [7, None, {}]},
    {"status": "ok", "execution_count": "many"}, {"status": "ok", "execution_count": -1}, {"status": []},
    {"status": "ok", "execution_count": 10**300}, {"status": "error"},
    {"status": "error", "ename": 7, "evalue": []},
    {"status": "error", "ename": {}, "evalue": None, "traceback": 7}, {"status": "ok", "user_expressions": 7},
    {"status": "ok", "user_expressions": {"answer": 7}}, {"status": "ok", "user_expressions": {"answer": {}}},
    {"status": "ok", "user_expressions": {"answer": {"status": "ok", "data": 7}}},
    {"status": "ok", "user_expressions": {"answer": {"status": "ok", "data": {"text/plain": 7}}}},
    {"status": "ok", "user_expressions": {"answer": {"status": "ok", "data": {"text/plain": "'\\ud800'"}}}},
    {"status": "ok", "user_expressions": {"answer": {"status": "error", "ename": 7, "evalue": {}}}},
]
kinds, turn, real = ("execute_reply", "status", "execute_input", "stream", "error"), [0], kernel.session.send
def send(stream, kind, content=None, *arguments, **options):
    known = kind if isinstance(kind, str) else kind.get("msg_type", "")
    if known == "execute_reply":
        turn[0] += 1
        content = contents[turn[0] % len(contents)]
    elif known in kinds[1:] and turn[0] % 3 == 2:
        real(stream, kind, contents[turn[0] % len(contents)], *arguments, **options)
    return real(stream, kind, content, *arguments, **options)
print("replies", flush=True)
kernel.session.send = send
"""


def submission():
    return wrong(double=ODD + "def double(x):\n    return x")


def harm(arena):
    reasons = [arena.graded.reason(__name__, name) for name in ("double", "row_sums", "biggest")]
    return "" if all(reasons) else "an exercise is 0 without a reason"
