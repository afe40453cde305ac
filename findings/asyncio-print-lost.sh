#!/usr/bin/env bash
# nbclient with ipykernel 7: what a background task prints later is in no cell
# Guess: late output lands in the cell that runs then, whether a thread or an asyncio task prints it.
# What happens: the thread's lines are in the later cell; the task's lines are in no cell of the saved
#   notebook.
# Versions: ipykernel 7.4.0, nbclient 0.11.0.
# Why: OutStream.parent_header is a context variable: a task keeps its own cell's header, a thread falls
#   back to the current one (ipykernel/iostream.py); NotebookClient drops messages whose parent is not the
#   running cell (_async_poll_output_msg).
# Instead: await the task in the cell that starts it, or collect the lines and print them there.
# Hurts: students and graders: a front end that goes by the header shows the lines, the executed copy has
#   lost them.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile ipykernel==7.4.0 nbclient==0.11.0 nbformat==5.11.1
cat > run.py <<'PYTHON'
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

START = """
import asyncio, threading, time
async def task():
    await asyncio.sleep(1)
    print("from the task")
def thread():
    time.sleep(1)
    print("from the thread")
running = asyncio.create_task(task())
threading.Thread(target=thread).start()
"""
notebook = new_notebook(cells=[new_code_cell(START), new_code_cell("await asyncio.sleep(3)\nrunning.done()")])
NotebookClient(notebook, kernel_name="python3").execute()
for name, cell in zip(("starts both", "runs meanwhile"), notebook.cells):
    printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    print(f"cell that {name}: {printed.split(chr(10))[:-1]}")
print("task done:", notebook.cells[1].outputs[-1].data["text/plain"])
PYTHON
cat > expected.txt <<'EXPECTED'
cell that starts both: []
cell that runs meanwhile: ['from the thread']
task done: True
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: ipykernel 7.4.0, nbclient 0.11.0"
echo "behaviour: a thread's late lines are kept, an asyncio task's are lost"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "asyncio-print-lost: this behaviour has changed, see the difference above." >&2
    exit 1
fi
