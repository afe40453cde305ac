#!/usr/bin/env bash
# GGUF: in a Q4_0 block, +1 comes back exactly and -1 as -0.875
# Guess: the error of a quantised weight depends on its size, so w and -w are off equally.
# What happens: the value with the largest magnitude is exact; its opposite is 12.5 % off, and which of the
#   two it is depends on the order in the block. Q8_0 treats both alike.
# Versions: gguf 0.19.0, numpy 2.4.6.
# Why: Q4_0.quantize_blocks divides by max / -8 with the sign kept, and levels reach from -8 to 7: the other
#   end is clipped (gguf/quants.py).
# Instead: compare models by Q8_0 or F16; expect an error of d, not d / 2, at one end of each Q4_0 block.
# Hurts: students who compare a weight matrix with its negative, engineers who debug a quantised head.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile gguf==0.19.0 numpy==2.4.6
cat > run.py <<'PYTHON'
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize

block = np.tile([1.0, -1.0], 16).astype(np.float32)
for kind in (Type.Q4_0, Type.Q5_0, Type.Q8_0):
    for sign in (1, -1):
        back = dequantize(quantize(sign * block, kind), kind)
        print(kind.name, (sign * block)[:2], "->", np.round(back[:2], 4))
PYTHON
cat > expected.txt <<'EXPECTED'
Q4_0 [ 1. -1.] -> [ 1.    -0.875]
Q4_0 [-1.  1.] -> [-1.     0.875]
Q5_0 [ 1. -1.] -> [ 1.     -0.9375]
Q5_0 [-1.  1.] -> [-1.      0.9375]
Q8_0 [ 1. -1.] -> [ 0.9999 -0.9999]
Q8_0 [-1.  1.] -> [-0.9999  0.9999]
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: gguf 0.19.0"
echo "behaviour: Q4_0 and Q5_0 are not odd functions: the first of two equal magnitudes wins"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "gguf-q4-sign: this behaviour has changed, see the difference above." >&2
    exit 1
fi
