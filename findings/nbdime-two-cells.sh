#!/usr/bin/env bash
# nbdime: two authors who each add a cell get one cell, whose id is no id
# Guess: both new cells are kept, one after the other, or each is marked; the notebook stays valid.
# What happens: one cell holds both sources between conflict markers; its id is an object, which the format
#   does not allow, and the nbgrader metadata is one level too deep for nbgrader to see.
# Versions: nbdime 4.0.4, nbformat 5.11.1.
# Why: cells inserted at one place are joined by the inline strategy, which builds local_id and remote_id,
#   local_metadata and remote_metadata (nbdime/merging/strategies.py).
# Instead: add cells at different places, or merge with use-local or use-remote and add the other cell by
#   hand.
# Hurts: instructors who write one notebook together: two graded cells are gone until a person takes them
#   apart.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile nbdime==4.0.4 nbformat==5.11.1
cat > run.py <<'PYTHON'
from nbdime import merge_notebooks
from nbformat.v4 import new_code_cell, new_notebook


def notebook(*tasks):
    cells = [new_code_cell("import numpy", id="setup")]
    for name in tasks:
        metadata = {"nbgrader": {"grade": True, "grade_id": name, "points": 1, "schema_version": 3}}
        cells.append(new_code_cell(f"assert {name}(3) == 1", id=name, metadata=metadata))
    return new_notebook(cells=cells)


merged, decisions = merge_notebooks(notebook(), notebook("softmax"), notebook("mask"))
cell = merged.cells[-1]
print("cells:", len(merged.cells))
print("conflict:", any(decision.conflict for decision in decisions))
print("id:", dict(cell.id))
print("nbgrader metadata found:", "nbgrader" in cell.metadata)
print("keys of the metadata:", sorted(cell.metadata))
PYTHON
cat > expected.txt <<'EXPECTED'
cells: 2
conflict: True
id: {'local_id': 'softmax', 'remote_id': 'mask'}
nbgrader metadata found: False
keys of the metadata: ['local_metadata', 'remote_metadata']
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: nbdime 4.0.4, nbformat 5.11.1"
echo "behaviour: cells added at one place are melted into one whose id is not a string"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "nbdime-two-cells: this behaviour has changed, see the difference above." >&2
    exit 1
fi
