"""`python -m attention_lab.characters`: train the model of one's own layers, and read what it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attention_lab.characters.own_answers import own_answers
from attention_lab.characters.training import Text, train, write
from attention_lab.errors import CourseError

STARTS = ["The minister ", "The film ", "A new game "]


def main(
    lessons: Annotated[Path, typer.Option(help="The folder of your lessons.")] = Path(),
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="How long to train.")] = 150,
    start: Annotated[
        list[str] | None, typer.Option(help="What a text is to begin with; again for more.")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.01, help="How daring it is; 1 as it learned.")] = 0.7,
) -> None:
    """Train a small character model made of your own RotaryAttention (lesson 10).

    It then writes the news by your own generate (lesson 9).
    """
    try:
        own, text = own_answers(lessons), Text.of_the_news()
        starts = start or STARTS
        for given in starts:
            text.numbers(given)  # what cannot be read is said before the training, not behind it
        model, losses = train(own.RotaryAttention, text, seconds=seconds)
        last = losses[-min(len(losses), 20) :]
        count = sum(parameter.numel() for parameter in model.parameters())
        print(
            f"{count:,} parameters, {len(losses)} steps, loss {losses[0]:.2f} → {sum(last) / len(last):.2f}"
        )
        for number, given in enumerate(starts):
            written = write(model, own.generate, text, given, temperature=temperature, seed=number)
            print(f"\n{written}")
    except (CourseError, ValueError) as error:
        typer.echo(f"attention_lab.characters: {error}", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    typer.run(main)
