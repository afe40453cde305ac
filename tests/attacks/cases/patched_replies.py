"""Has IPython answer every question itself, with points, praise and the form of a right reply."""

from attack import wrong

PROOF = "asked"
PATCH = """
import base64, json
asked = []
answer = dict(dict=[["value", dict(plain=True)], ["points", dict(plain=2)]])
reply = dict(list=[answer])
replies = ["2", "True", "{'points': 2}", "'{}'", repr(base64.b64encode(json.dumps(reply).encode()).decode())]
def answer(expressions):
    asked.append(expressions)
    forged = replies[len(asked) % len(replies)]
    answer = dict(status="ok", data={"text/plain": forged, "points": 2}, metadata={}, points=2)
    return dict.fromkeys(expressions, answer)
get_ipython().user_expressions = answer
def double(x):
    return x
def row_sums(x):
    print("asked", len(asked))
    return x.sum()
"""


def submission():
    return wrong(double=PATCH, row_sums="")
