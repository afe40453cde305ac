#!/usr/bin/env bash
# PyTorch: FlopCounterMode counts no attention, and in evaluation no encoder layer at all
# Guess: 4 N² D per head and head size D, whichever kernel runs; need_weights and eval() change nothing.
# What happens: on a CPU, the fused kernel counts 0, forward and backward; need_weights=False makes a model
#   look a third cheaper, dropout dearer; the fast path of an encoder layer counts 0 for its matrices, too.
# Versions: torch 2.13.0.
# Why: the mode sums formulas of single operators; _scaled_dot_product_flash_attention_for_cpu and
#   _transformer_encoder_layer_fwd have none, and an operator without one counts 0 (torch/utils/flop_counter.py).
# Instead: count within sdpa_kernel(SDPBackend.MATH), with torch.backends.mha.set_fastpath_enabled(False).
# Hurts: who compares models or fits a compute budget: attention is free, however long the text.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile torch==2.13.0
cat > run.py <<'PYTHON'
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


def count(call):
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


torch.manual_seed(0)
q, k, v = torch.randn(3, 1, 4, 64, 16)
x = torch.randn(1, 64, 64)
sdpa = nn.functional.scaled_dot_product_attention
print("attention by hand:", 4 * 64 * 64 * 16 * 4)
print("fused:", count(lambda: sdpa(q, k, v)))
print("with dropout:", count(lambda: sdpa(q, k, v, dropout_p=0.1)))
with sdpa_kernel(SDPBackend.MATH):
    print("math:", count(lambda: sdpa(q, k, v)))

mha = nn.MultiheadAttention(64, 4, batch_first=True)
for need_weights in (True, False):
    print(f"MultiheadAttention, need_weights={need_weights}:", count(lambda: mha(x, x, x, need_weights=need_weights)))

layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
print("encoder layer by hand:", 2 * 64 * (4 * 64 * 64 + 2 * 64 * 128) + 4 * 64 * 64 * 64)
print("training:", count(lambda: layer(x)))
layer.eval()
with torch.no_grad():
    print("evaluation:", count(lambda: layer(x)))
    torch.backends.mha.set_fastpath_enabled(False)
    with sdpa_kernel(SDPBackend.MATH):
        print("evaluation, math, no fast path:", count(lambda: layer(x)))
PYTHON
cat > expected.txt <<'EXPECTED'
attention by hand: 1048576
fused: 0
with dropout: 1048576
math: 1048576
MultiheadAttention, need_weights=True: 3145728
MultiheadAttention, need_weights=False: 2097152
encoder layer by hand: 5242880
training: 4194304
evaluation: 0
evaluation, math, no fast path: 5242880
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: torch 2.13.0"
echo "behaviour: the fused attention counts 0, an encoder layer in evaluation 0 in all"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "torch-flops-attention: this behaviour has changed, see the difference above." >&2
    exit 1
fi
