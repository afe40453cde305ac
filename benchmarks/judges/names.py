"""Do judges name the mistake? Write the sheet that two raters fill in, and count what they wrote.

See README.md for the protocol. Raters get the sheet and not the key, so they do not see which judge spoke.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

import answers

FOLDER = Path(__file__).parent
OPINIONS = FOLDER.parent / "results" / "judges.jsonl"
SHEET, KEY = "names_sheet.csv", "names_key.json"
SAMPLES = 60
RATINGS = ("right", "wrong", "none")  # names the right mistake, names another one, names none
Entry = dict[str, Any]  # one line of the opinions that run.py writes


def choose(opinions: Iterable[Entry], by_id: dict[str, answers.Answer], seed: int) -> list[Entry]:
    """Choose samples among the refused wrong answers, from each judge and kind in turn."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for opinion in opinions:
        answer = by_id[opinion["answer"]]
        if not answer.is_right and not opinion["accepted"]:
            groups[opinion["judge"], answer.kind].append(opinion)
    chance = random.Random(seed)
    for group in groups.values():
        chance.shuffle(group)
    turns = sorted((place, name) for name, group in groups.items() for place in range(len(group)))
    chosen = [groups[name][place] for place, name in turns[:SAMPLES]]
    chance.shuffle(chosen)
    return chosen


def write_sheet(opinions_file: Path, folder: Path, seed: int) -> None:
    """Write the sheet without the judges' names, and the key with them; raise ValueError without samples."""
    opinions = map(json.loads, opinions_file.read_text(encoding="utf-8").splitlines())
    by_id = {answer.id: answer for answer in answers.read_answers()}
    chosen = choose((opinion for opinion in opinions if opinion["answer"] in by_id), by_id, seed)
    if not chosen:
        raise ValueError(f"{opinions_file} has no refused wrong answer of {answers.FILE.name}: run run.py.")
    with (folder / SHEET).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("sample", "exercise", "statement", "code", "change", "message", "rating"))
        for number, opinion in enumerate(chosen, 1):
            answer = by_id[opinion["answer"]]
            about = (answer.signature, answer.statement, answer.code, answer.sentence)
            writer.writerow((number, *about, opinion["message"], ""))
    key = json.dumps([[opinion["judge"], opinion["answer"]] for opinion in chosen], indent=1)
    (folder / KEY).write_text(f"{key}\n", encoding="utf-8")
    print(f"{folder / SHEET} holds {len(chosen)} samples, and {folder / KEY} their judges.")


def rated(files: list[Path], folder: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Count the ratings of filled sheets, one per rater, with the key in a folder.

    By judge and kind of answer: how many `ratings`, how many name a mistake (`named`), and how many the right
    one (`right`). Raises ValueError for a sheet that is not filled or belongs to another key.
    """
    key = json.loads((folder / KEY).read_text(encoding="utf-8"))
    ratings = [_ratings(file, len(key)) for file in files]
    kinds = {answer.id: answer.kind for answer in answers.read_answers()}
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for number, (judge, answer) in enumerate(key):
        groups[judge][kinds[answer]] += [given[number] for given in ratings]
    return {
        judge: {
            kind: {
                "ratings": len(given),
                "named": len(given) - given.count("none"),
                "right": given.count("right"),
            }
            for kind, given in by_kind.items()
        }
        for judge, by_kind in groups.items()
    }


def coverage(counts: dict[str, int]) -> str:
    """The share of refused wrong answers whose message names a mistake."""
    return f"{counts['named'] / counts['ratings']:.0%}"


def precision(counts: dict[str, int]) -> str:
    """The share of named mistakes that are the right one."""
    return f"{counts['right'] / counts['named']:.0%}" if counts["named"] else "no name"


def count(files: list[Path], folder: Path) -> None:
    """Print coverage and precision per judge and kind, and how often two raters agree; see `rated`."""
    for judge, by_kind in sorted(rated(files, folder).items()):
        for kind, counts in sorted(by_kind.items()):
            shares = f"coverage {coverage(counts)}, precision {precision(counts)}"
            print(f"{judge}, {kind}: {shares}, {counts['ratings']} ratings")
    if len(files) == 2:
        pairs = list(zip(*map(_ratings, files), strict=True))
        print(f"The raters agree on {sum(one == other for one, other in pairs)} of {len(pairs)}.")


def _ratings(file: Path, samples: int | None = None) -> list[str]:
    with file.open(newline="", encoding="utf-8") as lines:
        ratings = [(row.get("rating") or "").strip() for row in csv.DictReader(lines)]
    if samples is not None and len(ratings) != samples:
        raise ValueError(f"{file} has {len(ratings)} ratings and {KEY} {samples} samples: name its --folder.")
    unknown = sorted(set(ratings) - set(RATINGS))
    if unknown:
        raise ValueError(f"{file} has the rating {unknown[0]!r}: write one of {', '.join(RATINGS)}.")
    return ratings


def main(
    filled: Annotated[list[Path] | None, typer.Argument(help="Filled sheets, one per rater.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    opinions: Annotated[Path, typer.Option(help="What run.py wrote.")] = OPINIONS,
    folder: Annotated[Path, typer.Option(help=f"The folder of {SHEET} and {KEY}.")] = FOLDER,
) -> None:
    """Write the sheet, or count filled sheets; exit with status 1 if a file is missing or wrong."""
    try:
        if filled:
            count(filled, folder)
        else:
            write_sheet(opinions, folder, seed)
    except FileNotFoundError as error:
        sys.exit(f"There is no {error.filename}: see README.md for the steps before this one.")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    typer.run(main)
