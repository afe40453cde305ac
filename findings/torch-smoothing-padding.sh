#!/usr/bin/env bash
# PyTorch: label smoothing wants the padding token although ignore_index excludes it
# Guess: a class that ignore_index names takes no part, neither as a target nor in the smoothing.
# What happens: ignore_index drops positions only: each kept position asks for eps / V of probability on the
#   ignored class, and a model that never predicts padding pays for it.
# Versions: torch 2.13.0.
# Why: the smoothed target is uniform over all classes; ignore_index only masks targets
#   (torch/nn/modules/loss.py, docs of CrossEntropyLoss; Vaswani et al. use eps 0.1).
# Instead: leave padding's column out: logits[:, 1:] and target - 1, with ignore_index=-1.
# Hurts: students who rebuild the Transformer's training: the loss has another floor and padding gets
#   logits.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile torch==2.13.0
cat > run.py <<'PYTHON'
import torch
from torch import nn

logits = torch.tensor([[-10.0, 0.0, 0.0, 0.0]], requires_grad=True)
target = torch.tensor([2])
for smoothing in (0.0, 0.1):
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=smoothing)(logits, target)
    (gradient,) = torch.autograd.grad(loss, logits)
    print(f"label_smoothing={smoothing}: loss {loss.item():.3f}, padding's gradient {gradient[0, 0]:.3f}")
loss = nn.CrossEntropyLoss(ignore_index=-1, label_smoothing=0.1)(logits[:, 1:], target - 1)
print(f"label_smoothing=0.1 without padding's column: loss {loss.item():.3f}")
PYTHON
cat > expected.txt <<'EXPECTED'
label_smoothing=0.0: loss 1.099, padding's gradient 0.000
label_smoothing=0.1: loss 1.349, padding's gradient -0.025
label_smoothing=0.1 without padding's column: loss 1.099
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: torch 2.13.0"
echo "behaviour: the gradient pulls the ignored class up where its probability is below eps / V"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "torch-smoothing-padding: this behaviour has changed, see the difference above." >&2
    exit 1
fi
