"""TorchCode's own reference solutions, read from a clone and translated to our signatures.

None of its code is in this repository: clone https://github.com/duoan/TorchCode and name the folder.
A translation only renames, and supplies what our exercise asks for and theirs does not (weights, leading
dimensions, errors).
"""

from __future__ import annotations

import json
from pathlib import Path

LICENCE = "MIT"
SOLUTION = "# ✅ SOLUTION"
# Their functions return no weights: with the identity as values the output is the weights.
ATTENTION = """
theirs = scaled_dot_product_attention


def scaled_dot_product_attention(query, key=None, value=None):
    key = query if key is None else key
    value = key if value is None else value
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"The query is {query.shape[-1]} wide and the key {key.shape[-1]}.")
    leading = query.shape[:-2]
    query, key, value = (each.reshape(-1, *each.shape[-2:]) for each in (query, key, value))
    identity = torch.eye(key.shape[-2], dtype=key.dtype).expand(len(key), -1, -1)
    results = theirs(query, key, value), theirs(query, key, identity)
    return tuple(each.reshape(*leading, *each.shape[-2:]) for each in results)
"""
CAUSAL = """
class CausalSelfAttention(nn.Module):
    def __init__(self, embed_dim, block_size):
        super().__init__()
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.register_buffer("mask", torch.ones(block_size, block_size, dtype=torch.bool).tril())

    def forward(self, x):
        if x.shape[1] > len(self.mask):
            raise ValueError(f"{x.shape[1]} tokens are more than {len(self.mask)}.")
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        identity = torch.eye(x.shape[1], dtype=x.dtype).expand(len(x), -1, -1)
        return causal_attention(query, key, value), causal_attention(query, key, identity)
"""
CACHED = """
LAYERS = {"W_q": "query", "W_k": "key", "W_v": "value", "W_o": "output"}


class CachedAttention(KVCacheAttention):
    def __init__(self, d_model, num_heads, bias=False):
        if d_model % num_heads:
            raise ValueError(f"{d_model} is not divisible by {num_heads}.")
        super().__init__(d_model, num_heads)
        for theirs, ours in LAYERS.items():
            del self._modules[theirs]
            setattr(self, ours, nn.Linear(d_model, d_model, bias=bias))

    def __getattr__(self, name):
        return super().__getattr__(LAYERS.get(name, name))
"""
# By our exercise: their notebook, and what is appended to its solution.
TRANSLATIONS = {
    "softmax": ("02_softmax", "def softmax(scores):\n    return my_softmax(scores, dim=-1)\n"),
    "scaled_dot_product_attention": ("05_attention", ATTENTION),
    "CausalSelfAttention": ("09_causal_attention", CAUSAL),
    "CachedAttention": ("14_kv_cache", CACHED),
}


def torchcode_reference(folder: Path, exercise: str) -> str | None:
    """Return TorchCode's solution of an exercise as code that defines it; None if there is no translation.

    Raises ValueError if the clone of TorchCode in `folder` has no such notebook, or it has no solution.
    """
    if exercise not in TRANSLATIONS:
        return None
    name, translation = TRANSLATIONS[exercise]
    path = folder / "solutions" / f"{name}_solution.ipynb"
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(f"{path} cannot be read ({error}): is {folder} a clone of TorchCode?") from error
    texts = ["".join(cell["source"]) for cell in cells]
    solutions = [text for text in texts if text.startswith(SOLUTION)]
    if not solutions:
        raise ValueError(f"{path} has no cell that begins with {SOLUTION!r}.")
    return f"import math\n\nimport torch\nimport torch.nn as nn\n\n{solutions[0]}\n\n{translation}"
