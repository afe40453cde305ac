#!/usr/bin/env bash
# nbconvert: two cells' attachments of the same name become one picture
# Guess: an attachment belongs to its cell, so two pictures named image.png become two files.
# What happens: Markdown export writes one file, and both cells show the later picture; a line in the log is
#   all.
# Versions: nbconvert 7.17.2, nbformat 5.11.1.
# Why: ExtractAttachmentsPreprocessor.preprocess_cell stores the bytes under the notebook's folder and the
#   bare file name; the cell is no part of the key (nbconvert/preprocessors/extractattachments.py).
# Instead: name attachments uniquely in the whole notebook before the export, for example by a prefix from
#   the cell id.
# Hurts: authors who paste screenshots (each is image.png in its cell) and publish Markdown; their readers
#   see wrong figures.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile nbconvert==7.17.2 nbformat==5.11.1
cat > run.py <<'PYTHON'
import logging
from base64 import b64encode

from nbconvert import MarkdownExporter
from nbformat.v4 import new_markdown_cell, new_notebook


def picture(content):
    attachments = {"image.png": {"image/png": b64encode(content).decode()}}
    return new_markdown_cell("![](attachment:image.png)", attachments=attachments)


exporter = MarkdownExporter()
exporter.log.setLevel(logging.ERROR)
notebook = new_notebook(cells=[picture(b"queries and keys"), picture(b"values")])
text, resources = exporter.from_notebook_node(notebook)
print("pictures in the text:", [line for line in text.split() if line])
print("files:", resources["outputs"])
PYTHON
cat > expected.txt <<'EXPECTED'
pictures in the text: ['![](image.png)', '![](image.png)']
files: {'image.png': b'values'}
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: nbconvert 7.17.2"
echo "behaviour: the second cell's image.png replaces the first one's"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "nbconvert-same-attachment: this behaviour has changed, see the difference above." >&2
    exit 1
fi
