"""torch-judge (TorchCode, MIT) as a judge, on the exercises that both have.

A translation defines the function or class that a task of torch-judge expects, in terms of our answer, which
it finds under the name `answer`. It only renames, leaves out what the task does not ask for (weights, masks,
biases) and supplies what the task computes inside (angles). It corrects nothing.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from typing import Any

from judging import JudgeError, Opinion
from workers import WorkerError, run_in_child

# By our exercise: the tasks of torch-judge that test it, and the code that translates the answer.
TRANSLATIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "softmax": (
        ("softmax",),
        "def my_softmax(x, dim=-1):\n    return answer(x.movedim(dim, -1)).movedim(-1, dim)\n",
    ),
    "scaled_dot_product_attention": (
        ("attention",),
        "def scaled_dot_product_attention(Q, K, V):\n    return answer(Q, K, V)[0]\n",
    ),
    "masked_attention": (
        ("causal_attention",),
        "def causal_attention(Q, K, V):\n"
        "    mask = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool).tril()\n"
        "    return answer(Q, K, V, mask)[0]\n",
    ),
    "MultiHeadAttention": (
        ("cross_attention",),
        "class MultiHeadCrossAttention(nn.Module):\n"
        "    def __init__(self, d_model, num_heads):\n"
        "        super().__init__()\n"
        "        self.inner = answer(d_model, num_heads)\n"
        "    def forward(self, x_q, x_kv):\n"
        "        return self.inner(x_q, x_kv)[0]\n",
    ),
    "EfficientMultiHeadAttention": (
        ("mha", "cross_attention"),
        "class MultiHeadAttention(nn.Module):\n"
        "    def __init__(self, d_model, num_heads):\n"
        "        super().__init__()\n"
        "        self.inner = answer(d_model, num_heads, bias=True)\n"
        "        self.W_q, self.W_k = self.inner.query, self.inner.key\n"
        "        self.W_v, self.W_o = self.inner.value, self.inner.output\n"
        "    def forward(self, Q, K, V):\n"
        "        return self.inner(Q, K, V)[0]\n"
        "class MultiHeadCrossAttention(MultiHeadAttention):\n"
        "    def forward(self, x_q, x_kv):\n"
        "        return self.inner(x_q, x_kv)[0]\n",
    ),
    "GroupedQueryAttention": (
        ("gqa",),
        "class GroupQueryAttention(nn.Module):\n"
        "    def __init__(self, d_model, num_heads, num_kv_heads):\n"
        "        super().__init__()\n"
        "        self.inner = answer(d_model, num_heads, num_kv_heads, bias=True)\n"
        "        self.W_q, self.W_k = self.inner.query, self.inner.key\n"
        "        self.W_v, self.W_o = self.inner.value, self.inner.output\n"
        "    def forward(self, x):\n"
        "        return self.inner(x)[0]\n",
    ),
    "CachedAttention": (
        ("kv_cache",),
        "class KVCacheAttention(nn.Module):\n"
        "    def __init__(self, d_model, num_heads):\n"
        "        super().__init__()\n"
        "        self.inner = answer(d_model, num_heads, bias=True)\n"
        "    def forward(self, x, cache=None):\n"
        "        output, cache = self.inner(x, cache)\n"
        "        return output, tuple(cache)\n",
    ),
    "rotary_angles": (
        ("rope",),
        "def _rotate(x, angles):\n"
        "    a, b, cos, sin = x[..., 0::2], x[..., 1::2], angles.cos(), angles.sin()\n"
        "    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)\n"
        "def apply_rope(q, k):\n"
        "    angles = answer(q.shape[-2], q.shape[-1])\n"
        "    return _rotate(q, angles), _rotate(k, angles)\n",
    ),
    "rotate": (
        ("rope",),
        "def apply_rope(q, k):\n"
        "    width = q.shape[-1]\n"
        "    rates = 10000.0 ** (-torch.arange(0, width, 2) / width)\n"
        "    angles = torch.outer(torch.arange(q.shape[-2]).float(), rates)\n"
        "    return answer(q, angles), answer(k, angles)\n",
    ),
    "flash_attention": (
        ("flash_attention",),
        "def flash_attention(Q, K, V, block_size=32):\n    return answer(Q, K, V, block_size)[0]\n",
    ),
}
TRANSLATIONS["rotate_halves"] = TRANSLATIONS["rotate"]
PASSED = re.compile(r"All \d+ tests passed")
COLOURS = re.compile(r"\x1b\[\d+m")


class TorchJudge:
    """`torch_judge.check` in a child process, with its progress file in a folder that is removed."""

    name = "torch-judge"
    exercises = frozenset(TRANSLATIONS)

    def __init__(self) -> None:
        try:
            import torch_judge  # noqa: F401 - once, before the forks
        except ModuleNotFoundError as error:
            raise JudgeError(
                f'The package {error.name} is missing: install it with pip install -e ".[benchmark]".'
            ) from error

    def judge(self, exercise: str, code: str) -> Opinion:
        """Run the answer, its translation and the tasks' tests; all tasks must pass."""
        try:
            accepted, message = run_in_child(_check, exercise, code)
        except WorkerError as error:
            accepted, message = False, str(error)
        return Opinion(accepted, message)


def _check(exercise: str, code: str) -> tuple[bool, str]:
    """In the child: whether every task says that all tests passed, and the lines of those that failed."""
    tasks, translation = TRANSLATIONS[exercise]
    output = io.StringIO()
    passed = True
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(output):
        os.chdir(folder)
        try:
            # In spaces of their own: an answer may call itself by a name that the translation also defines.
            answered: dict[str, Any] = {"__name__": "__main__"}
            exec(compile(code, "<answer>", "exec", dont_inherit=True), answered)
            space: dict[str, Any] = {"__name__": "__main__", "answer": answered[exercise]}
            exec(f"import torch\nimport torch.nn as nn\n{translation}", space)
        except Exception as error:
            return False, f"{type(error).__name__}: {error}"
        for task in tasks:
            before = output.tell()
            # `check` reads the names of the code that calls it.
            exec(f"from torch_judge import check as _check\n_check({task!r})", space)
            text = output.getvalue()[before:]
            passed = passed and PASSED.search(text) is not None
        os.chdir("/")
    lines = COLOURS.sub("", output.getvalue()).splitlines()
    failed = [line.strip() for line in lines if line.strip() and "✅" not in line and "─" not in line]
    messages = [line for line in failed if not line.startswith(("🧪", "🎉", "📊", "Keep going", "Progress"))]
    return passed, "" if passed else "\n".join(messages)
