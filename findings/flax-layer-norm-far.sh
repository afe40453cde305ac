#!/usr/bin/env bash
# Flax: LayerNorm returns numbers in the hundreds when all inputs lie far from zero
# Guess: as in NumPy, up to rounding: adding a constant to all numbers of a row does not change the result.
# What happens: at 4096 the result is a fifth too small, from 10000 on the variance is 0 and ±1.3 becomes ±474
#   (±1500 in nnx, whose epsilon is smaller). All in float32, without a warning.
# Versions: flax 0.12.8, jax 0.10.2, numpy 2.4.6.
# Why: use_fast_variance=True is the default: mean(x²) - mean(x)², negative values set to 0
#   (flax/linen/normalization.py, _compute_stats). The docstring says "less numerically stable".
# Instead: LayerNorm(use_fast_variance=False), in linen and in nnx.
# Hurts: students who move weights or features from torch, or norm features that are not centred (years, prices).
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile flax==0.12.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > run.py <<'PYTHON'
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx

row = np.array([[0.0, 1.0, 2.0, 3.0]], dtype=np.float32)
for shift in (0, 1000, 4096, 10000):
    x = jnp.array(row + shift)
    fast = linen.LayerNorm(epsilon=1e-5).init_with_output(jax.random.key(0), x)[0]
    slow = linen.LayerNorm(epsilon=1e-5, use_fast_variance=False).init_with_output(jax.random.key(0), x)[0]
    new = nnx.LayerNorm(4, rngs=nnx.Rngs(0))(x)
    expected = (row + shift - np.mean(row + shift)) / np.std(row + shift)
    last = [f"{float(result[0, 3]):.1f}" for result in (expected, slow, fast, new)]
    print("3 + %d: NumPy %s, linen without fast variance %s, linen %s, nnx %s" % (shift, *last))
PYTHON
cat > expected.txt <<'EXPECTED'
3 + 0: NumPy 1.3, linen without fast variance 1.3, linen 1.3, nnx 1.3
3 + 1000: NumPy 1.3, linen without fast variance 1.3, linen 1.3, nnx 1.3
3 + 4096: NumPy 1.3, linen without fast variance 1.3, linen 1.1, nnx 1.1
3 + 10000: NumPy 1.3, linen without fast variance 1.3, linen 474.3, nnx 1500.0
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: flax 0.12.8, jax 0.10.2"
echo "behaviour: far from zero the fast variance is 0 and the normed numbers are in the hundreds"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "flax-layer-norm-far: this behaviour has changed, see the difference above." >&2
    exit 1
fi
