"""`python -m attention_lab.characters`: train the model of one's own layers, and read what it writes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from attention_lab.characters.own_answers import own_answers
from attention_lab.characters.training import Text, train, write
from attention_lab.errors import CourseError

STARTS = ("The minister ", "The film ", "A new game ")


def main(given: Sequence[str] | None = None) -> int:
    words = argparse.ArgumentParser(
        prog="python -m attention_lab.characters",
        description="Train a small character model made of your own RotaryAttention (lesson 10), and let it "
        "write the news by your own generate (lesson 9).",
    )
    words.add_argument("--lessons", default=".", metavar="FOLDER", help="the folder of your lessons (here)")
    words.add_argument(
        "--seconds", type=_some_seconds, default=150, help="how long to train (150; under 3 minutes in all)"
    )
    words.add_argument(
        "--start", action="append", help="what a text is to begin with; may be given more than once"
    )
    words.add_argument(
        "--temperature", type=_above_zero, default=0.7, help="how daring it is: 0.7; 1 as it learned"
    )
    options = words.parse_args(given)
    try:
        own, text = own_answers(options.lessons), Text.of_the_news()
        starts = options.start or STARTS
        for start in starts:
            text.numbers(start)  # what cannot be read is said before the training, not behind it
        model, losses = train(own.RotaryAttention, text, seconds=options.seconds)
        last = losses[-min(len(losses), 20) :]
        count = sum(parameter.numel() for parameter in model.parameters())
        print(
            f"{count:,} parameters, {len(losses)} steps, loss {losses[0]:.2f} → {sum(last) / len(last):.2f}"
        )
        for number, start in enumerate(starts):
            written = write(model, own.generate, text, start, temperature=options.temperature, seed=number)
            print(f"\n{written}")
    except (CourseError, ValueError) as error:
        print(f"attention_lab.characters: {error}", file=sys.stderr)
        return 1
    return 0


def _some_seconds(given: str) -> float:
    seconds = float(given)
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"train for more than 0 seconds and at most an hour, not {given}")
    return seconds


def _above_zero(given: str) -> float:
    if not float(given) > 0:
        raise argparse.ArgumentTypeError(f"a temperature is above 0, not {given}")
    return float(given)


if __name__ == "__main__":
    sys.exit(main())
