"""Has IPython call it before and after every cell and every question, and sends points each time."""

from attack import wrong

PROOF = "before a cell"
HOOKS = """
def send(*arguments):
    print("before a cell")
    get_ipython().displayhook(2)
for event in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
    get_ipython().events.register(event, send)
get_ipython().set_custom_exc((BaseException,), lambda *arguments, **options: send())
get_ipython().showtraceback = send
def double(x):
    raise AssertionError("never shown")
"""


def submission():
    return wrong(double=HOOKS)
