"""Stops, swaps or closes the loop in which its kernel takes in messages, and goes on in loops of its own."""

from attack import HASTY, wrong
from nbformat.v4 import new_code_cell
from tiny_course import after

DAILY = "endless_answer"

LIMITS = HASTY | {"notebook_seconds": 20}
CELLS = [
    "import asyncio\nasyncio.get_event_loop().stop()",
    "get_ipython().kernel.io_loop.stop()",
    "import asyncio\nasyncio.set_event_loop(asyncio.new_event_loop())",
    "get_ipython().kernel.msg_queue = None",
    "get_ipython().kernel.shell_stream.close()",
    "get_ipython().kernel.shell_handlers.clear()",
    "get_ipython().kernel.do_execute = None",
    "async def forever():\n    while True:\n        await asyncio.sleep(0)\nimport asyncio\nawait forever()",
    "get_ipython().kernel.session.key = b'other'",
    "get_ipython().kernel.iopub_thread.stop()",
]


def submission():
    work = wrong()
    for cell in CELLS:
        work = after(work, "test_double", new_code_cell(cell))
    return work
