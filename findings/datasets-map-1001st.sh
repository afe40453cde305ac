#!/usr/bin/env bash
# Hugging Face datasets: what map returns is another value from the 1001st example on
# Guess: a value that does not fit the type of the examples before it raises, or all become JSON, wherever it is.
# What happens: within the first 1000 examples a mixed column becomes JSON, which keeps numbers (and reads the
#   text "0" as 0). After them, values are converted silently: 3 to "3", 0.5 to True, "0" to False.
# Versions: datasets 5.2.0, pyarrow 26.0.1.
# Why: the writer takes a column's type from its first 1000 examples (writer_batch_size) and casts each later
#   batch to it (datasets/arrow_writer.py, write_examples_on_file and TypedSequence), as pyarrow's cast does.
# Instead: map(..., features=Features({"x": Value("string")})), and return that type.
# Hurts: students who label examples: a rare case that returns another type changes silently in the full data
#   and not in the sample that they looked at.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile datasets==5.2.0 pyarrow==26.0.1
cat > run.py <<'PYTHON'
import datasets

datasets.disable_progress_bars()


def last(usual, other, before):
    """Map so many examples to the usual value and one more to the other; return what it became."""
    numbers = datasets.Dataset.from_dict({"i": list(range(before + 1))})
    mapped = numbers.map(lambda example: {"x": other if example["i"] == before else usual}, remove_columns="i")
    return mapped[-1]["x"]


for usual, other in (("none", 3), (False, 0.5), (True, "0")):
    print(f"{usual!r}, then {other!r}: as 1000th {last(usual, other, 999)!r}, as 1001st {last(usual, other, 1000)!r}")
PYTHON
cat > expected.txt <<'EXPECTED'
'none', then 3: as 1000th 3, as 1001st '3'
False, then 0.5: as 1000th 0.5, as 1001st True
True, then '0': as 1000th 0, as 1001st False
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: datasets 5.2.0, pyarrow 26.0.1"
echo "behaviour: the type of a mapped column is that of its first 1000 examples; later values are converted"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "datasets-map-1001st: this behaviour has changed, see the difference above." >&2
    exit 1
fi
