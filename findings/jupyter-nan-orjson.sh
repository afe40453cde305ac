#!/usr/bin/env bash
# Jupyter: a NaN in JSON output is the text "nan" or null, as orjson is there or not
# Guess: what a cell displays does not depend on an optional package; NaN is kept, or it is an error.
# What happens: without orjson, the number arrives as the string "nan" and the cell gets a warning on
#   stderr; with orjson it is null and nothing is said.
# Versions: ipykernel 7.4.0, jupyter_client 8.10.0, orjson 3.13.0, nbclient 0.11.0.
# Why: Session packs by orjson if that can be imported; json_packer forbids NaN and falls back to
#   json_clean, which gives repr(nan) (jupyter_client/session.py and jsonutil.py).
# Instead: replace NaN before display; never rely on its type in saved outputs.
# Hurts: instructors who keep loss curves as JSON outputs and engineers who plot them: the type differs by
#   machine.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile ipykernel==7.4.0 jupyter_client==8.10.0 nbclient==0.11.0 \
    nbformat==5.11.1
cat > run.py <<'PYTHON'
import json
import sys

from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

source = "display({'application/json': {'loss': float('nan')}}, raw=True)"
notebook = new_notebook(cells=[new_code_cell(source)])
NotebookClient(notebook, kernel_name="python3").execute()
outputs = notebook.cells[0].outputs
shown = [json.dumps(output.data["application/json"]) for output in outputs if "data" in output]
warned = any(output.get("name") == "stderr" for output in outputs)
print(f"{sys.argv[1]} orjson: {shown[0]}, warning in the cell: {'yes' if warned else 'no'}")
PYTHON
cat > expected.txt <<'EXPECTED'
without orjson: {"loss": "nan"}, warning in the cell: yes
with orjson: {"loss": null}, warning in the cell: no
EXPECTED

{
    env/bin/python run.py without
    env/bin/pip install -qq --no-compile orjson==3.13.0
    env/bin/python run.py with
} > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: ipykernel 7.4.0, jupyter_client 8.10.0, orjson 3.13.0"
echo "behaviour: installing orjson changes the type of a displayed NaN"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "jupyter-nan-orjson: this behaviour has changed, see the difference above." >&2
    exit 1
fi
