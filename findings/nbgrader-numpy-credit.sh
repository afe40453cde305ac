#!/usr/bin/env bash
# nbgrader with NumPy 2: partial credit that ends in a NumPy number is full credit
# Guess: a test cell that ends in points * correct.mean() gives that number, as a Python float does.
# What happens: half of the answers right: nbgrader gives 2 of 2 points for the NumPy number and 1 of 2 for
#   the float.
# Versions: nbgrader 0.9.6, numpy 2.4.6.
# Why: NumPy 2 displays np.float64(1.0); get_partial_grade reads the displayed text, cannot convert it to
#   float and returns max_points with a line in the log (nbgrader/utils.py, determine_grade and
#   get_partial_grade; NEP 51).
# Instead: end the cell in float(...) or .item().
# Hurts: instructors with tests from before NumPy 2, and every tensor: torch's tensor(1.) is read the same
#   way.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile numpy==2.4.6 ipykernel==7.4.0 nbclient==0.11.0 nbformat==5.11.1 \
    nbconvert==7.17.2 jupyter_server==2.21.1 sqlalchemy==2.1.9 alembic==1.20.1 rapidfuzz==3.14.6 \
    requests==2.34.2 setuptools==80.9.0
# Without JupyterLab and Notebook, which nbgrader requires and grading does not use.
env/bin/pip install -qq --no-compile --no-deps nbgrader==0.9.6
cat > run.py <<'PYTHON'
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.utils import determine_grade

setup = new_code_cell("import numpy as np\ncorrect = np.array([True, False])\npoints = 2")
nbgrader = {"grade": True, "solution": False, "locked": True, "task": False, "schema_version": 3}


def test(source, name):
    cell = new_code_cell(source)
    cell.metadata.nbgrader = {**nbgrader, "points": 2, "grade_id": name}
    return cell


cells = [test("points * correct.mean()", "a"), test("float(points * correct.mean())", "b")]
notebook = new_notebook(cells=[setup, *cells])
NotebookClient(notebook, kernel_name="python3").execute()
for cell in notebook.cells[1:]:
    score, most = determine_grade(cell)
    print(f"{cell.source} displays {cell.outputs[0].data['text/plain']}: {score} of {most} points")
PYTHON
cat > expected.txt <<'EXPECTED'
points * correct.mean() displays np.float64(1.0): 2.0 of 2.0 points
float(points * correct.mean()) displays 1.0: 1.0 of 2.0 points
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: nbgrader 0.9.6, numpy 2.4.6"
echo "behaviour: np.float64 as a cell's last value earns all points"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "nbgrader-numpy-credit: this behaviour has changed, see the difference above." >&2
    exit 1
fi
