"""Train lesson 14's small character model again, in minutes: `python benchmarks/small_language_model.py`.

It is a decoder like SmolLM2, three blocks of width 96, and continues the course's news.
"""

import json
import math

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers.pre_tokenizers import ByteLevel

from attention_lab.corpus import load_news
from attention_lab.lesson_14.model import SMALL, make_model

STEPS, BATCH, RATE = 1200, 8, 4e-3
LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, WINDOW = 3, 96, 6, 2, 256, 256


def train(steps=STEPS):
    """Train with AdamW, a short warm-up and half a cosine; returns settings and tensors by GGUF's names."""
    torch.manual_seed(0)
    text = "\n".join(load_news().train.texts) + "\n"
    # Bytes as GPT-2 writes them; the newline ends an answer.
    written = "".join(piece for piece, _ in ByteLevel(add_prefix_space=False).pre_tokenize_str(text))
    vocabulary = sorted(set(written))
    newline = ByteLevel(add_prefix_space=False).pre_tokenize_str("\n")[0][0]
    settings = {
        "general.architecture": "llama",
        "llama.block_count": LAYERS,
        "llama.context_length": WINDOW,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": HIDDEN,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.rope.freq_base": 10000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.tokens": vocabulary,
        "tokenizer.ggml.token_type": [1] * len(vocabulary),
        "tokenizer.ggml.merges": [],
        "tokenizer.ggml.eos_token_id": vocabulary.index(newline),
        "tokenizer.chat_template": "\n{{ messages[0]['content'] }}",  # it continues a text
        "example": "Yesterday the team",
    }
    narrow = WIDTH // HEADS * KV_HEADS
    shapes = {
        "attn_norm": (WIDTH,),
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (narrow, WIDTH),
        "attn_v": (narrow, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_norm": (WIDTH,),
        "ffn_gate": (HIDDEN, WIDTH),
        "ffn_up": (HIDDEN, WIDTH),
        "ffn_down": (WIDTH, HIDDEN),
    }
    every = {"token_embd.weight": (len(vocabulary), WIDTH), "output_norm.weight": (WIDTH,)}
    every |= {f"blk.{n}.{name}.weight": shape for n in range(LAYERS) for name, shape in shapes.items()}
    tensors = {
        name: (torch.ones(shape) if len(shape) == 1 else 0.05 * torch.randn(shape)).requires_grad_()
        for name, shape in every.items()
    }
    model = make_model("small", settings, tensors)
    places = {character: place for place, character in enumerate(vocabulary)}
    ids = torch.tensor([places[character] for character in written])
    optimizer = torch.optim.AdamW(tensors.values(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.01)
    for step in range(steps):
        share = min(1, (step + 1) / 50) * (0.52 + 0.48 * math.cos(math.pi * step / steps))
        for group in optimizer.param_groups:
            group["lr"] = RATE * share
        starts = torch.randint(len(ids) - WINDOW, (BATCH,)).tolist()
        pieces = torch.stack([ids[start : start + WINDOW + 1] for start in starts])
        logits, _ = model(pieces[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(tensors.values(), 1.0)
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1}: {loss.item():.3f} nats per character", flush=True)
    return settings, tensors


if __name__ == "__main__":
    settings, tensors = train()
    halves = {name: tensor.detach().half().numpy() for name, tensor in tensors.items()}
    np.savez_compressed(SMALL, settings=json.dumps(settings), **halves)
