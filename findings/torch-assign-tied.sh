#!/usr/bin/env bash
# PyTorch: load_state_dict(assign=True) makes the optimiser train a tied weight twice
# Guess: tied weights stay tied, or they come apart into two copies.
# What happens: neither: there are two Parameters on the same memory; each gets a part of the gradient and
#   its own step.
# Versions: torch 2.13.0.
# Why: _load_from_state_dict wraps each entry in a new Parameter in assign mode, and both entries of a
#   state_dict share storage (torch/nn/modules/module.py; issue pytorch/pytorch#188346).
# Instead: tie again after loading (output.weight = embedding.weight), then create the optimiser.
# Hurts: students who load a language model lazily on the meta device: with a learning rate of 0.1, Adam
#   moves by 0.2.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile torch==2.13.0
cat > run.py <<'PYTHON'
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(3, 2)
        self.output = nn.Linear(2, 3, bias=False)
        self.output.weight = self.embedding.weight


for assign in (False, True):
    torch.manual_seed(0)
    model = Model()
    model.load_state_dict(Model().state_dict(), assign=assign)
    embedding, output = model.embedding.weight, model.output.weight
    before = embedding.detach().clone()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    (embedding.sum() + output.sum()).backward()
    optimiser.step()
    moved = (before - embedding.detach()).mean().item()
    shared = embedding.data_ptr() == output.data_ptr()
    print(f"assign={assign}: one Parameter {embedding is output}, one storage {shared}, moved by {moved:.1f}")
PYTHON
cat > expected.txt <<'EXPECTED'
assign=False: one Parameter True, one storage True, moved by 0.1
assign=True: one Parameter False, one storage True, moved by 0.2
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: torch 2.13.0"
echo "behaviour: after assign=True a tied weight has two Parameters on one storage and is stepped twice"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "torch-assign-tied: this behaviour has changed, see the difference above." >&2
    exit 1
fi
