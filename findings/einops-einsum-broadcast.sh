#!/usr/bin/env bash
# einops: einsum accepts two different lengths of one named axis
# Guess: a name stands for one length, as in rearrange: 3 in one tensor and 1 in the other is an error.
# What happens: an axis of length 1 is stretched, also the one that is summed over: the scores are sums over
#   the query times one number, where the matrix product raises.
# Versions: einops 0.8.2, numpy 2.4.6.
# Why: einops.einsum only rewrites the pattern and calls the backend's einsum, which broadcasts labelled
#   axes of length 1 (einops/einops.py, einsum).
# Instead: check einops.parse_shape of both tensors first.
# Hurts: students who pass v for k or lose an axis to keepdims: attention of the right shape and wrong
#   numbers.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile einops==0.8.2 numpy==2.4.6
cat > run.py <<'PYTHON'
import numpy as np
from einops import einsum, rearrange

query = np.array([[1.0, 2.0, 3.0]])
key = np.array([[10.0], [20.0]])
print("einsum:", einsum(query, key, "q d, k d -> q k"))
for name, call in {
    "matrix product": lambda: query @ key.T,
    "rearrange": lambda: rearrange([query[0], key[0]], "row d -> row d"),
}.items():
    try:
        print(f"{name}:", call())
    except Exception as error:
        print(f"{name}: {type(error).__name__}")
PYTHON
cat > expected.txt <<'EXPECTED'
einsum: [[ 60. 120.]]
matrix product: ValueError
rearrange: ValueError
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: einops 0.8.2, numpy 2.4.6"
echo "behaviour: a named axis of 3 against 1 is stretched silently"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "einops-einsum-broadcast: this behaviour has changed, see the difference above." >&2
    exit 1
fi
