#!/usr/bin/env bash
# NumPy masked arrays: neither the softmax nor the product with the values honours the mask
# Guess: a masked score gets weight 0 or stays masked, and a masked weight adds nothing, as in np.ma.dot.
# What happens: scipy.special.softmax gives hidden scores weight; @ adds the hidden weights in and copies
#   the left operand's mask to the result, where it means nothing.
# Versions: numpy 2.4.6, scipy 1.17.1.
# Why: softmax converts by array_namespace and asarray (scipy/special/_logsumexp.py);
#   MaskedArray.__array_wrap__ joins the operands' masks element by element, for matmul too
#   (numpy/ma/core.py; numpy/numpy#14992).
# Instead: fill first: softmax(scores.filled(-np.inf)), weights.filled(0) @ values.
# Hurts: students who take numpy.ma for the causal mask: the picture shows blanks, the numbers see the
#   future.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile numpy==2.4.6 scipy==1.17.1
cat > run.py <<'PYTHON'
import numpy as np
from scipy.special import softmax

causal = [[False, True], [False, False]]
scores = np.ma.array([[0.0, 0.0], [0.0, 0.0]], mask=causal)
print("softmax:", softmax(scores, axis=-1).tolist())
weights = np.ma.array([[0.5, 0.5], [0.5, 0.5]], mask=causal)
values = np.array([[1.0, 2.0], [10.0, 20.0]])
product = weights @ values
print("product's data:", product.data.tolist())
print("product's mask:", product.mask.tolist())
print("np.ma.dot:", np.ma.dot(weights, values).tolist())
PYTHON
cat > expected.txt <<'EXPECTED'
softmax: [[0.5, 0.5], [0.5, 0.5]]
product's data: [[5.5, 11.0], [5.5, 11.0]]
product's mask: [[False, True], [False, False]]
np.ma.dot: [[0.5, 1.0], [5.5, 11.0]]
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: numpy 2.4.6, scipy 1.17.1"
echo "behaviour: the mask is ignored in the softmax, ignored and misplaced in the product"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "masked-array-attention: this behaviour has changed, see the difference above." >&2
    exit 1
fi
