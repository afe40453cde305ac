#!/usr/bin/env bash
# papermill: -p group 1_2 is the number 12
# Guess: -p leaves everything that is not plainly a number, True, False or None a string.
# What happens: 1_2 becomes the integer 12, 007 becomes 7, and Infinity and nan become floats; true stays a
#   string.
# Versions: papermill 2.7.0.
# Why: _resolve_type tries int(value) and float(value), which accept underscores, leading zeros and names of
#   special values (papermill/cli.py, _is_int and _is_float).
# Instead: -r group 1_2 (--parameters_raw) keeps the string.
# Hurts: instructors who run a notebook once a group, section or student id: two groups, 1_2 and 12, are
#   merged silently.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile papermill==2.7.0 nbformat==5.11.1
cat > run.py <<'PYTHON'
import subprocess

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
cell = new_code_cell("group = None", metadata={"tags": ["parameters"]})
nbformat.write(new_notebook(cells=[cell], metadata={"kernelspec": kernel}), "in.ipynb")
for option in ("-p", "-r"):
    values = [word for value in ("1_2", "007", "Infinity", "true") for word in (option, f"v_{value}", value)]
    command = ["env/bin/papermill", "in.ipynb", "out.ipynb", "--prepare-only", "--no-progress-bar", *values]
    subprocess.run(command, check=True, capture_output=True)
    injected = nbformat.read("out.ipynb", 4).cells[1].source
    print(option, *(line.partition(" = ")[2] for line in injected.splitlines()[1:]), sep="   ")
PYTHON
cat > expected.txt <<'EXPECTED'
-p   12   7   float('inf')   "true"
-r   "1_2"   "007"   "Infinity"   "true"
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: papermill 2.7.0"
echo "behaviour: -p turns an identifier with an underscore into a number"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "papermill-underscore: this behaviour has changed, see the difference above." >&2
    exit 1
fi
