"""Numbers that lessons state and do not print, each beside the cell that states it.

    .venv/bin/python benchmarks/lesson_numbers.py [--lesson 1 2 5 6 8 9 10 11 12]

About ten minutes of one processor. Only lesson 6 measures time. `benchmarks/real_model.py` is for lesson 13.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nbformat
import torch

from attention_lab.corpus import CLASS_NAMES, load_news, train_tokenizer

SOLUTIONS = Path(__file__).parents[1] / "solutions"


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
    """Lesson 2, cells training_read (what is lost) and three_tokens_read (Adam, a start of variance 1/3)."""
    lesson = import_module("attention_lab.lesson_02.given")
    attention = {name: lesson.attention_with(divisor) for name, divisor in lesson.DIVISORS.items()}
    last: list[torch.Tensor] = []

    def remembering(query: Any, key: Any, value: Any) -> Any:
        output, weights = attention[name](query, key, value)
        last[:] = [weights.detach()[:, 0]]
        return output, weights

    for name, rates in (("raw", (0.01, 0.1, 1, 3, 30, 100, 768)), ("1/sqrt(d_k)", (3, 30, 100, 768))):
        for rate in rates:
            lesson.share_found(remembering, rate)
            lost = last[0][last[0][:, 0] <= 0.5, 1:].amax(dim=-1)
            share = (lost > 0.9).double().mean()
            print(f"training_read: {name}, rate {rate}: {share:.0%} of the others end on another key")
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
    lesson = import_module("attention_lab.lesson_05.given")
    for seed in range(1, 5):
        torch.manual_seed(seed)
        layer = lesson.Heads(8, lesson.AttentionHead(8, 4), lesson.AttentionHead(8, 4))
        lesson.train(layer)
        with torch.no_grad():
            _, weights = layer(*lesson.sentences(1)[:3])  # a (1, 1, 5) of each head
        largest = ", ".join(f"{head.max():.2f}" for head in weights)
        print(f"race-heads-read: seed {seed}, the larger weight of each head: {largest}")


def compare_projections_and_scores() -> None:
    """Lesson 6, cell map-read: the time of the four projections at 256 tokens, and of everything else."""
    names: dict[str, Any] = {"torch": torch, "nn": torch.nn, "math": math}
    run_cells("06_efficient_reshape", names, "split_heads", "merge_heads", "EfficientMultiHeadAttention")
    layer = names["EfficientMultiHeadAttention"](64, 8, bias=True)
    projections = (layer.query, layer.key, layer.value, layer.output)

    def milliseconds(function: Callable[[], object]) -> float:
        times = []
        for _ in range(12):
            start = time.process_time()
            function()
            times.append(1000 * (time.process_time() - start))
        return sorted(times)[len(times) // 2]

    for batch in (1, 4, 12):
        x = torch.rand(batch, 256, 64)
        with torch.no_grad():
            projected = milliseconds(lambda x=x: [each(x) for each in projections])
            whole = milliseconds(lambda x=x: layer(x))
        ratio = (whole - projected) / projected
        print(f"map-read: B = {batch}: all but the projections takes {ratio:.0f} times as long")


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
    lesson = import_module("attention_lab.lesson_09.given")
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
    lesson = import_module("attention_lab.lesson_10.given")
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
        reader = lesson.train_reader(lambda *sizes: names["RotaryAttention"](*sizes, base=3.0), seed=seed)
        share = lesson.share_right(reader, 256)
        print(f"slowed-dials-read: seed {seed}, a base of 3: {share:.0%}")
        train_random_rows(lesson, seed)


def train_random_rows(lesson: ModuleType, seed: int) -> None:
    """Lesson 10, cell renumbered-read: the table, trained with 32 rows that begin at a random one."""

    class RandomRows(lesson.TableAttention):  # type: ignore[name-defined, misc]
        def with_positions(self, x: torch.Tensor, query_key_value: Callable[..., Any]) -> Any:
            first = int(torch.randint(225, ())) if torch.is_grad_enabled() else 0
            angles = lesson.clock_angles(first + x.shape[1], x.shape[2])[first:]
            return query_key_value(x + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2))

    reader = lesson.train_reader(RandomRows, seed=seed)
    shares = [lesson.share_right(reader, length, lesson.TRAINED) for length in (48, 64, 128, 256)]
    print(
        f"renumbered-read: seed {seed}, random rows, window of 32, lengths 48 to 256:",
        *(f"{share:.0%}" for share in shares),
    )


def round_in_blocks() -> None:
    """Lesson 11, cell rounding-read: bfloat16 in blocks of 64 keys, and in one block of all 1024."""
    names: dict[str, Any] = {"torch": torch, "math": math}
    run_cells("11_flash", names, "part", "merge", "flash_attention")
    torch.manual_seed(42)
    inputs = torch.randn(3, 1024, 64, dtype=torch.float64)
    truth = names["flash_attention"](*inputs, 1024)[0]
    for size in (64, 128, 1024):
        output = names["flash_attention"](*inputs.bfloat16(), size)[0]
        print(f"rounding-read: blocks of {size}: {(output.double() - truth).abs().mean():.1e} from the truth")


def train_broken_attention() -> None:
    """Lesson 12, cells scale-read (C over nine seeds) and padding-read (A beside longer texts)."""
    plumbing = import_module("attention_lab.lesson_08.plumbing")
    letters = import_module("attention_lab.lesson_12.eleven")
    news = load_news()
    tokenizer = train_tokenizer(news.train.texts, vocab_size=1000)
    train_data, test_data = (plumbing.encoded(split, tokenizer) for split in (news.train, news.test))
    size, test_batches = (1000, 64, len(CLASS_NAMES)), plumbing.in_batches(test_data)
    no_bar = SimpleNamespace(update=lambda: None)

    def dividing(divisor: Callable[[torch.Tensor], Any]) -> Callable[..., Any]:
        def attention(query: Any, key: Any, value: Any, mask: Any) -> Any:
            weights = letters.masked_softmax(query @ key.mT / divisor(mask), mask)
            return weights @ value, weights

        return attention

    root = torch.tensor([len(ids) for ids, _ in train_data]).sqrt().mean().item()
    layers = {
        "H": letters.H,
        "C": letters.C,
        "C, visible keys": dividing(lambda mask: mask.sum(dim=-1, keepdim=True).sqrt()),
        f"a constant {root:.1f}": dividing(lambda _: root),
        "a constant 4": dividing(lambda _: 4.0),
    }
    of_h: list[float] = []
    for name, layer in layers.items():
        found = [
            letters.accuracy_after_training(layer, size, train_data, test_batches, seed, 3, no_bar)
            for seed in range(9)
        ]
        of_h = of_h or found
        gaps = [h - each for h, each in zip(of_h, found, strict=True)]
        print(f"scale-read: {name}: below H in {sum(gap > 0 for gap in gaps)} of 9, by {sum(gaps) / 9:.3f}")

    model = letters.classifier(letters.A, size, seed=0)
    plumbing.train(model, letters.one_epoch, train_data, 0, 3, no_bar)
    labels = torch.tensor([label for _, label in test_data])
    classes = []
    for longer in (0, 70):  # how many tokens longer the other text is
        batches = [plumbing.collate([(ids, label), (ids + [2] * longer, 0)]) for ids, label in test_data]
        logits, _ = plumbing.logits_of(model, batches)
        classes.append(logits[::2].argmax(dim=-1))
    shares = ", ".join(f"{(each == labels).double().mean():.3f}" for each in classes)
    same = int((classes[0] == classes[1]).sum())
    print(f"padding-read: {same} of 260 texts keep their class, accuracy without and with padding: {shares}")


LESSONS = {
    1: learn_to_look_back,
    2: find_key_zero,
    5: look_at_payer_and_payee,
    6: compare_projections_and_scores,
    8: count_two_verbs,
    9: compare_heads_of_a_group,
    10: read_beyond_the_trained_length,
    11: round_in_blocks,
    12: train_broken_attention,
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
