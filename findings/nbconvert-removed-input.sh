#!/usr/bin/env bash
# nbconvert: an input that is removed by its tag is still in the notebook it writes
# Guess: remove_input_tags empties the cell, whatever the output format; HTML shows that it works.
# What happens: HTML and Markdown leave the source out; --to notebook writes the whole source, and no
#   message says so.
# Versions: nbconvert 7.17.2, nbformat 5.11.1.
# Why: TagRemovePreprocessor.preprocess_cell only sets metadata.transient.remove_source, which the
#   templates' null.j2 obeys; NotebookExporter has no template (nbconvert/preprocessors/tagremove.py,
#   exporters/notebook.py).
# Instead: empty cell.source in a preprocessor of your own, or drop the whole cell with remove_cell_tags.
# Hurts: instructors who strip solutions by tag and hand out the notebook.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile nbconvert==7.17.2 nbformat==5.11.1
cat > run.py <<'PYTHON'
from nbconvert import HTMLExporter, MarkdownExporter, NotebookExporter
from nbformat.v4 import new_code_cell, new_notebook
from traitlets.config import Config

config = Config()
config.TagRemovePreprocessor.enabled = True
config.TagRemovePreprocessor.remove_input_tags = {"solution"}
preprocessor = "nbconvert.preprocessors.TagRemovePreprocessor"
for exporter in (HTMLExporter, MarkdownExporter, NotebookExporter):
    config[exporter.__name__].preprocessors = [preprocessor]
    notebook = new_notebook(cells=[new_code_cell("reference = 42", metadata={"tags": ["solution"]})])
    text, _ = exporter(config=config).from_notebook_node(notebook)
    found = "reference" in text and "42" in text
    print(f"{exporter.__name__}: source is {'there' if found else 'gone'}")
PYTHON
cat > expected.txt <<'EXPECTED'
HTMLExporter: source is gone
MarkdownExporter: source is gone
NotebookExporter: source is there
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: nbconvert 7.17.2"
echo "behaviour: remove_input_tags hides the source in HTML and Markdown and keeps it in a notebook"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "nbconvert-removed-input: this behaviour has changed, see the difference above." >&2
    exit 1
fi
