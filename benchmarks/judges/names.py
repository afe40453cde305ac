"""Do judges name the mistake? Write the sheet that two raters fill in, and count what they wrote.

See README.md for the protocol. Raters get the sheet and not the key, so they do not see which judge spoke.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import answers

FOLDER = Path(__file__).parent
SHEET, KEY = "names_sheet.csv", "names_key.json"
OPINIONS = FOLDER.parent / "results" / "judges.jsonl"
SAMPLES = 60
RATINGS = ("right", "wrong", "none")  # names the right mistake, names another one, names none
Entry = dict[str, Any]  # one line of the opinions that run.py writes
FIELDS = ("sample", "exercise", "statement", "code", "change", "message", "rating")


def choose(opinions: list[Entry], by_id: dict[str, answers.Answer], seed: int) -> list[Entry]:
    """Choose samples among the refused wrong answers, from each judge and kind in turn."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for each in opinions:
        answer = by_id[each["answer"]]
        if not answer.is_right and not each["accepted"]:
            groups[each["judge"], answer.kind].append(each)
    chance = random.Random(seed)
    for group in groups.values():
        chance.shuffle(group)
    chosen: list[Entry] = []
    while any(groups.values()) and len(chosen) < SAMPLES:
        for group in groups.values():
            if group and len(chosen) < SAMPLES:
                chosen.append(group.pop())
    chance.shuffle(chosen)
    return chosen


def write_sheet(opinions_file: Path, folder: Path, seed: int) -> None:
    """Write the sheet without the judges' names, and the key with them; raise ValueError without samples."""
    lines = opinions_file.read_text(encoding="utf-8").splitlines()
    by_id = {each.id: each for each in answers.read_answers()}
    chosen = choose([each for each in map(json.loads, lines) if each["answer"] in by_id], by_id, seed)
    if not chosen:
        raise ValueError(f"{opinions_file} has no refused wrong answer of {answers.FILE.name}: run run.py.")
    with (folder / SHEET).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for number, each in enumerate(chosen, 1):
            answer = by_id[each["answer"]]
            writer.writerow(
                {
                    "sample": number,
                    "exercise": answer.signature,
                    "statement": answer.statement,
                    "code": answer.code,
                    "change": answer.sentence,
                    "message": each["message"],
                    "rating": "",
                }
            )
    key = json.dumps([[each["judge"], each["answer"]] for each in chosen], indent=1)
    (folder / KEY).write_text(f"{key}\n", encoding="utf-8")
    print(f"{folder / SHEET} holds {len(chosen)} samples, and {folder / KEY} their judges.")


def rated(files: list[Path], folder: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Count the ratings of filled sheets.

    Parameters
    ----------
    files
        One filled sheet per rater.
    folder
        The folder of the key.

    Returns
    -------
    dict
        Per judge and kind of answer: how many `ratings`, how many name a mistake (`named`), and how many the
        right one (`right`).

    Raises
    ------
    ValueError
        For a sheet that is not filled or belongs to another key.
    """
    key = json.loads((folder / KEY).read_text(encoding="utf-8"))
    ratings = [_ratings(file, len(key)) for file in files]
    kinds = {each.id: each.kind for each in answers.read_answers()}
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for number, (judge, answer) in enumerate(key):
        groups[judge][kinds[answer]] += [each[number] for each in ratings]
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
    """Print coverage and precision per judge and kind, and how often the raters agree; see `rated`."""
    for judge, by_kind in sorted(rated(files, folder).items()):
        for kind, counts in sorted(by_kind.items()):
            shares = f"coverage {coverage(counts)}, precision {precision(counts)}"
            print(f"{judge}, {kind}: {shares}, {counts['ratings']} ratings")
    if len(files) == 2:
        one, other = (_ratings(file) for file in files)
        agreed = sum(first == second for first, second in zip(one, other, strict=True))
        print(f"The raters agree on {agreed} of {len(one)}.")


def _ratings(file: Path, samples: int | None = None) -> list[str]:
    """The ratings of one sheet, in its order."""
    with file.open(newline="", encoding="utf-8") as lines:
        ratings = [(row.get("rating") or "").strip() for row in csv.DictReader(lines)]
    if samples is not None and len(ratings) != samples:
        raise ValueError(f"{file} has {len(ratings)} ratings and {KEY} {samples} samples: name its --folder.")
    unknown = sorted(set(ratings) - set(RATINGS))
    if unknown:
        raise ValueError(f"{file} has the rating {unknown[0]!r}: write one of {', '.join(RATINGS)}.")
    return ratings


def main() -> None:
    """Write the sheet, or count filled sheets; exit with status 1 if a file is missing or wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (default: 0)")
    parser.add_argument("--count", nargs="+", type=Path, metavar="SHEET", help="filled sheets, one per rater")
    parser.add_argument(
        "--opinions", type=Path, default=OPINIONS, help="what run.py wrote (default: beside its results)"
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help=f"of {SHEET} and {KEY} (default: that of names.py)"
    )
    options = parser.parse_args()
    try:
        if options.count:
            count(options.count, options.folder)
        else:
            write_sheet(options.opinions, options.folder, options.seed)
    except FileNotFoundError as error:
        sys.exit(f"There is no {error.filename}: see README.md for the steps before this one.")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
