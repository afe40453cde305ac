"""Numbers that lessons state and do not print, each beside the cell that states it.

    .venv/bin/python benchmarks/lesson_numbers.py [--lesson 1 2 5 8 9 10]

About four minutes of one processor. Nothing here is a measurement of time.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import torch

from attention_lab.corpus import CLASS_NAMES, load_news

SOLUTIONS = Path(__file__).parents[1] / "solutions"


def ready_made(lesson: str) -> ModuleType:
    """Import the module of given code beside a lesson's notebook."""
    spec = spec_from_file_location(f"ready_made_{lesson}", SOLUTIONS / lesson / "ready_made.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run_cells(lesson: str, names: dict[str, Any], *cell_ids: str) -> dict[str, Any]:
    """Run these cells of a lesson's solution notebook with `names`, and return all names."""
    notebook = nbformat.read(next((SOLUTIONS / lesson).glob("*.ipynb")), as_version=4)
    for cell_id in cell_ids:
        exec(next(cell.source for cell in notebook.cells if cell.id == cell_id), names)
    return names


def learn_to_look_back() -> None:
    """Lesson 1, cell learning-answer: other tokens and starts than the notebook's."""
    word_before, rows, found = torch.tensor([0, 0, 1, 2]), torch.arange(4), {200: 0, 1000: 0}
    for seed in range(40):
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.rand(4, 3, generator=generator)
        query, key = (torch.rand(3, 2, generator=generator).requires_grad_() for _ in range(2))
        optimizer = torch.optim.Adam([query, key], lr=0.05)
        for step in range(1001):
            weights = ((tokens @ query) @ (tokens @ key).T).softmax(dim=-1)[rows, word_before]
            if step in found:
                found[step] += int(weights.min() > 0.9)
            optimizer.zero_grad()
            (-weights.log().mean()).backward()
            optimizer.step()
    print("learning-answer: runs of 40 with all four weights above 0.9 after so many steps:", found)


def find_key_zero() -> None:
    """Lesson 2, cell three_tokens_read: Adam, and a small start (queries and keys of variance 1/3)."""
    lesson = ready_made("02_scaling")
    attention = {name: lesson.attention_with(divisor) for name, divisor in lesson.DIVISORS.items()}
    shares = {}
    for rate in (0.001, 0.01, 0.1, 1):
        plain, torch.optim.SGD = torch.optim.SGD, torch.optim.Adam  # type: ignore[misc]
        try:
            shares[rate] = lesson.share_found(attention["raw"], rate)
        finally:
            torch.optim.SGD = plain  # type: ignore[misc]
    print(f"three_tokens_read: Adam, raw, at most {max(shares.values()):.0%}")
    for width in (64, 256, 1024):
        for name in ("raw", "1/sqrt(d_k)"):
            rates = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
            best = max(lesson.share_found(attention[name], rate, d_k=width, variance=1 / 3) for rate in rates)
            print(f"three_tokens_read: variance 1/3, width {width}, {name}: at best {best:.0%}")


def look_at_payer_and_payee() -> None:
    """Lesson 5, cell race-heads-read: what the two heads look at, trained from other seeds."""
    sys.path.insert(0, str(SOLUTIONS / "05_multi_head"))  # for the head that the given code imports
    lesson = ready_made("05_multi_head")
    for seed in range(1, 5):
        torch.manual_seed(seed)
        layer = lesson.Heads(8, lesson.AttentionHead(8, 4), lesson.AttentionHead(8, 4))
        lesson.train(layer)
        with torch.no_grad():
            _, weights = layer(*lesson.sentences(1)[:3])  # a (1, 1, 5) of each head
        largest = ", ".join(f"{head.max():.2f}" for head in weights)
        print(f"race-heads-read: seed {seed}, the larger weight of each head: {largest}")


def count_two_verbs() -> None:
    """Lesson 8, the excursion on one hard sentence: texts with *won* and with *sang*, by class."""
    news = load_news().train
    for verb in ("won", "sang"):
        labels = [
            label for text, label in zip(news.texts, news.labels, strict=True) if verb in text.lower().split()
        ]
        sport = sum(CLASS_NAMES[label].lower().startswith("sport") for label in labels)
        print(f"texts with {verb}: {len(labels)}, about sport: {sport}")


def compare_heads_of_a_group() -> None:
    """Lesson 9, cell pooled-read: do key projections of one group agree, and does "only the rest" help?"""
    lesson = ready_made("09_kv_cache")
    sys.path.insert(0, str(SOLUTIONS / "09_kv_cache"))  # for the modules that the set-up cell imports
    names = run_cells("09_kv_cache", {}, "setup", "repeat_heads", "GroupedQueryAttention")
    grouped_attention: Callable[..., torch.nn.Module] = names["GroupedQueryAttention"]
    for seed in range(3):
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed + 1)
        full = lesson.Recall(grouped_attention(64, 8, 8))
        lesson.train_recall(full, 400, generator)
        rest = full.state_dict()
        key = rest.pop("attention.key.weight").view(2, 4, -1)  # (H_kv, heads of a group, D * E)
        rest.pop("attention.value.weight")
        flat = torch.nn.functional.normalize(key, dim=-1)
        cosines = (flat @ flat.mT)[:, *torch.triu_indices(4, 4, offset=1)]
        shares = []
        for state in (rest, {}):
            torch.manual_seed(seed)
            reader = lesson.Recall(grouped_attention(64, 8, 2))
            reader.load_state_dict(state, strict=False)
            lesson.train_recall(reader, 40, generator)
            shares.append(lesson.share_right(reader, generator))
        print(
            f"pooled-read: seed {seed}, mean cosine {cosines.mean():.2f}; after 40 steps from the rest "
            f"{shares[0]:.1%}, from nothing {shares[1]:.1%}"
        )


def read_beyond_the_trained_length() -> None:
    """Lesson 10, cells race-read and slowed-dials-read: the same from two other seeds."""
    lesson = ready_made("10_rotary")
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "math": math}
    run_cells("10_rotary", names, "rotary_angles", "rotate", "RotaryAttention")
    usual = names["rotary_angles"]

    def slower(length: int, *args: Any) -> torch.Tensor:
        angles: torch.Tensor = usual(length, *args)
        angles[:, 2:] /= 8
        return angles

    for seed in range(3):
        for layer in (lesson.TableAttention, lesson.TurnedAttention):
            reader = lesson.train_reader(layer, seed=seed)
            shares = [lesson.share_right(reader, length, lesson.TRAINED) for length in (48, 64, 128, 256)]
            print(
                f"race-read: seed {seed}, {layer.__name__}, window of 32, lengths 48 to 256:",
                *(f"{share:.0%}" for share in shares),
            )
        reader = lesson.train_reader(names["RotaryAttention"], seed=seed)
        names["rotary_angles"] = slower
        share = lesson.share_right(reader, 256)
        names["rotary_angles"] = usual
        print(f"slowed-dials-read: seed {seed}, pairs 2 to 7 slowed: {share:.0%}")


LESSONS = {
    1: learn_to_look_back,
    2: find_key_zero,
    5: look_at_payer_and_payee,
    8: count_two_verbs,
    9: compare_heads_of_a_group,
    10: read_beyond_the_trained_length,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lesson", type=int, nargs="+", choices=LESSONS, default=list(LESSONS))
    torch.set_num_threads(1)
    for lesson in parser.parse_args().lesson:
        print(f"Lesson {lesson}")
        LESSONS[lesson]()


if __name__ == "__main__":
    main()
