#!/usr/bin/env bash
# local-attention: a window of 4 shows each position another number of keys, and never 4
# Guess: window_size=4 with causal=True: each position sees itself and the three before it.
# What happens: between 5 and 8 keys, by the position in its block, as soon as there are as many before it; with
#   exact_windowsize=True 5 for all. An edit is therefore seen further by one position than by the next one.
# Versions: local-attention 1.11.2, torch 2.13.0.
# Why: queries and keys are cut into blocks of window_size, and a block sees itself and the block before; the
#   exact form hides keys that are more than window_size away, so it shows window_size + 1
#   (local_attention/local_attention.py, forward).
# Instead: LocalAttention(window_size=w - 1, exact_windowsize=True) for w keys.
# Hurts: students who compare it with their own band mask, or reckon how far a stack of layers sees.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile local-attention==1.11.2 torch==2.13.0
cat > run.py <<'PYTHON'
import torch
from local_attention import LocalAttention

torch.manual_seed(0)
q, k = torch.randn(2, 1, 12, 8)
values = torch.eye(12)[None]  # the result at a position is the weights of all keys
for options in (
    {"window_size": 4},
    {"window_size": 4, "exact_windowsize": True},
    {"window_size": 3, "exact_windowsize": True},
):
    weights = LocalAttention(dim=8, causal=True, **options)(q, k, values)[0]
    print(options, "keys seen:", [row.count_nonzero().item() for row in weights])
PYTHON
cat > expected.txt <<'EXPECTED'
{'window_size': 4} keys seen: [1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8]
{'window_size': 4, 'exact_windowsize': True} keys seen: [1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5]
{'window_size': 3, 'exact_windowsize': True} keys seen: [1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4]
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: local-attention 1.11.2, torch 2.13.0"
echo "behaviour: the number of keys in a window depends on the position, or is one more than asked for"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "local-attention-window: this behaviour has changed, see the difference above." >&2
    exit 1
fi
