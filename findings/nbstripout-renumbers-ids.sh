#!/usr/bin/env bash
# nbstripout: a cell's id means another cell after an insertion
# Guess: stripping outputs leaves cell ids alone: they exist to identify a cell for good.
# What happens: ids become 0, 1, 2 ... by position, so one new cell at the top gives every id to another
#   cell.
# Versions: nbstripout 0.9.1, nbformat 5.11.1.
# Why: strip_output sets cell['id'] = str(i) unless keep_id is true (nbstripout/_utils.py); the README's
#   --keep-id speaks only of ids that change between runs.
# Instead: nbstripout --keep-id, also in the git filter.
# Hurts: engineers whose merge tools, links (#cell-id=...) or graders go by id; in git's filter it happens
#   at each git add.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile nbstripout==0.9.1 nbformat==5.11.1
cat > run.py <<'PYTHON'
import subprocess

import nbformat
from nbformat.v4 import new_code_cell, new_notebook


def ids(sources, *options):
    cells = [new_code_cell(source, id=f"id-of-{source}") for source in sources]
    nbformat.write(new_notebook(cells=cells), "n.ipynb")
    subprocess.run(["env/bin/nbstripout", *options, "n.ipynb"], check=True)
    return {cell.id: cell.source for cell in nbformat.read("n.ipynb", 4).cells}


print("two cells:", ids(["task", "tests"]))
print("one inserted:", ids(["intro", "task", "tests"]))
print("--keep-id:", ids(["task", "tests"], "--keep-id"))
PYTHON
cat > expected.txt <<'EXPECTED'
two cells: {'0': 'task', '1': 'tests'}
one inserted: {'0': 'intro', '1': 'task', '2': 'tests'}
--keep-id: {'id-of-task': 'task', 'id-of-tests': 'tests'}
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: nbstripout 0.9.1"
echo "behaviour: ids are positions after stripping, unless --keep-id is given"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "nbstripout-renumbers-ids: this behaviour has changed, see the difference above." >&2
    exit 1
fi
