"""Has every reply of the kernel announce its end, open pagers and set the next cell's text."""

from attack import wrong

PAYLOADS = """
def write(*arguments):
    manager = get_ipython().payload_manager
    manager.write_payload({"source": "ask_exit", "keepkernel": False}, single=False)
    manager.write_payload({"source": "set_next_input", "text": "2", "replace": True}, single=False)
    manager.write_payload({"source": "page", "data": {"text/html": "<script>2</script>"}}, single=False)
    manager.write_payload({"source": 2}, single=False)
get_ipython().events.register("post_execute", write)
def double(x):
    write()
    return x
"""


def submission():
    return wrong(double=PAYLOADS)
