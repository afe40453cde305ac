"""Put the answers of `answers.jsonl.xz` to several judges; print and write one table, and draw it."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from tqdm import tqdm

import answers
import names
from answers import Answer
from judging import Judge, Judged, JudgeError, Opinion, load_judge, put_to

sys.path.append(str(Path(__file__).parents[1]))  # the other benchmarks' module
import results  # noqa: E402

JUDGES = ("nbjudge", "visible-tests", "torch-judge")
OUTPUT = results.FOLDER / "judges.json"
PICTURE = answers.ROOT / "docs" / "images" / "judges.svg"
LONGEST_MESSAGE = 1000  # characters
MOST_LISTED = 5  # wrong verdicts of each judge that are printed
LONGEST_REASON = 150  # characters of what is printed of one
FIRST = 3  # answers of each exercise and kind that are judged before all others
# The columns of the table: its heading, and the kinds of answers that it counts.
COLUMNS = {
    "right accepted": ("reference", "accepted"),
    "torch-judge's references accepted": ("torch-judge reference",),
    "mistakes caught": ("mistake",),
    "mutations caught": ("mutation",),
}
# Columns from the sample that was rated by hand (names.py): first on our mistakes, then on mutations.
NAMES = {"coverage of names": names.coverage, "precision of names": names.precision}
RATINGS = Path(__file__).with_name("ratings")


def make_judge(name: str) -> Judge:
    """Make a built-in judge, or that of ``FILE.py:CLASS``; raise JudgeError if there is none."""
    if name == "nbjudge":
        from judge_nbjudge import NbjudgeJudge

        return NbjudgeJudge()
    if name == "visible-tests":
        from judge_visible_tests import VisibleTestsJudge

        return VisibleTestsJudge()
    if name == "torch-judge":
        from judge_torch_judge import TorchJudge

        return TorchJudge()
    if not name.partition(":")[0].endswith(".py"):
        raise JudgeError(f"There is no judge {name!r}. There are: {', '.join(JUDGES)}, and FILE.py:CLASS.")
    return load_judge(name)


def sample(found: Iterable[Answer], count: int | None) -> list[Answer]:
    """Choose at most `count` answers of each exercise and kind; the same ones every time.

    They are ordered for a run that is stopped: `FIRST` of each exercise and kind come first, then the other
    mutations, which no author of our checks chose, then the other right answers and mistakes. Within these,
    they go from one exercise to the next: nbjudge starts a sandbox whenever the lesson changes.
    """
    groups: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for each in found:
        groups[each.exercise, each.kind].append(each)
    ranked = list[tuple[int, Answer]]()
    for group in groups.values():
        random.Random(group[0].id).shuffle(group)
        ranked += enumerate(group[:count])
    ranked.sort(key=lambda each: (min(each[0], FIRST), each[0] >= FIRST and each[1].kind != "mutation"))
    return [answer for _, answer in ranked]


def share(judged: Sequence[Judged]) -> dict[str, int]:
    """How many answers were judged, how many of them rightly, and how many were left out."""
    counted = [each for each in judged if each.opinion is not None]
    rightly = sum(each.is_right for each in counted)
    return {"judged": len(counted), "rightly": rightly, "left out": len(judged) - len(counted)}


def summary(judged: Sequence[Judged]) -> dict[str, Any]:
    """The figures of one judge, or of one judge on one exercise."""
    figures: dict[str, Any] = {
        heading: share([each for each in judged if each.answer.kind in kinds])
        for heading, kinds in COLUMNS.items()
    }
    seconds = sorted(each.seconds for each in judged if each.opinion is not None)
    figures["seconds"] = round(seconds[len(seconds) // 2], 3) if seconds else None  # the median
    wrong = [each for each in judged if each.opinion is not None and not each.answer.is_right]
    with_message = [each for each in wrong if each.opinion is not None and each.opinion.message]
    figures["wrong answers with a message"] = len(with_message)
    return figures


def line(judged: Judged, opinion: Opinion) -> dict[str, Any]:
    """What a judge thinks of one answer, as a line of the file of opinions."""
    return {
        "judge": judged.judge,
        "answer": judged.answer.id,
        "accepted": opinion.accepted,
        "message": opinion.message[:LONGEST_MESSAGE],
        "seconds": round(judged.seconds, 3),
    }


def earlier(path: Path, found: Iterable[Answer]) -> dict[tuple[str, str], Judged]:
    """Read the opinions that an interrupted run has left, by judge and answer."""
    by_id = {each.id: each for each in found}
    entries = (
        [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )
    return {
        (each["judge"], each["answer"]): Judged(
            by_id[each["answer"]], each["judge"], Opinion(each["accepted"], each["message"]), each["seconds"]
        )
        for each in entries
        if each["answer"] in by_id
    }


def list_wrong_verdicts(judge: str, judged: Iterable[Judged], opinions_file: Path) -> list[str]:
    """The lines that say which verdicts of one judge are wrong.

    Refused right answers come first, references before others, because they show a faulty adapter. Each has
    the beginning of the judge's message. An accepted wrong answer has the sentence on what is wrong with it.
    """
    verdicts = [(each, each.opinion) for each in judged if each.opinion is not None]
    wrong = [(each.answer, opinion) for each, opinion in verdicts if not each.is_right]
    wrong.sort(key=lambda each: (not each[0].is_right, each[0].kind != "reference"))
    lines = [f"{judge}: {len(wrong)} of {len(verdicts)} verdicts are wrong."]
    for answer, opinion in wrong[:MOST_LISTED]:
        verdict = "refused right" if answer.is_right else "accepted wrong"
        reason = opinion.message if answer.is_right else answer.sentence
        lines.append(f"  {verdict} {answer.id}: {' '.join(reason.split())[:LONGEST_REASON]}")
    if len(wrong) > MOST_LISTED:
        lines.append(f"  and {len(wrong) - MOST_LISTED} more: {opinions_file}")
    return lines


def find_unknown_exercise(judges: Iterable[Judge], found: Iterable[Answer]) -> str:
    """The sentence on an exercise that a judge names and no answer has; empty if there is none."""
    exercises = {each.exercise for each in [*found, *answers.read_answers()]}
    for judge in judges:
        unknown = sorted(judge.exercises - exercises)
        if unknown:
            problem = f"The judge {judge.name!r} has the exercise {unknown[0]!r}, which no answer has."
            return f"{problem} There are: {', '.join(sorted(exercises))}."
    return ""


def print_table(console: Any, rows: dict[str, dict[str, Any]], title: str) -> None:
    """Print one row per judge, or per judge and exercise; with the shares of names if there are some."""
    with_names = any("names" in each for each in rows.values())
    table = Table(title=title, title_justify="left")
    for heading in ("", *COLUMNS, "left out", "seconds", *(NAMES if with_names else ())):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, figures in rows.items():
        left_out = sum(figures[heading]["left out"] for heading in COLUMNS)
        cells = [f"{figures[each]['rightly']} of {figures[each]['judged']}" for each in COLUMNS]
        seconds = "" if figures["seconds"] is None else f"{figures['seconds']:.2f}"
        counts = [figures.get("names", {}).get(kind) for kind in ("mistake", "mutation")]
        shares = [
            ", ".join(share(each) if each else "none" for each in counts) if any(counts) else "not rated"
            for share in NAMES.values()
        ]
        table.add_row(name, *cells, str(left_out), seconds, *(shares if with_names else ()))
    console.print(table)


def draw(rows: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw the shares of each judge as bars; the same results make the same file."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "attention-lab", "font.size": 10}
    headings = [each for each in COLUMNS if any(row[each]["judged"] for row in rows.values())]
    figure, panels = plt.subplots(
        1,
        len(headings),
        figsize=(3.1 * len(headings), 0.5 * len(rows) + 1.1),
        sharey=True,
        layout="constrained",
    )
    for axes, heading in zip([panels] if len(headings) == 1 else panels, headings, strict=True):
        for position, row in enumerate(rows.values()):
            counted = row[heading]["judged"]
            percent = 100 * row[heading]["rightly"] / counted if counted else 0
            axes.barh(position, percent, height=0.6, facecolor="#9ecae1", edgecolor="black")
            text = f"{row[heading]['rightly']} of {counted}" if counted else "none"
            axes.text(3, position, text, va="center")
        axes.set_title(heading, loc="left", fontsize=10)
        axes.set_xlim(0, 100)
        axes.set_xlabel("%")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def main() -> None:
    """Run the benchmark; exit with status 2 if an option is wrong, and 1 if a judge fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--judges",
        nargs="*",
        default=list(JUDGES),
        metavar="JUDGE",
        help=f"{', '.join(JUDGES)} (default: all of them), FILE.py:CLASS, or none beside --pytest",
    )
    parser.add_argument(
        "--pytest", nargs=2, metavar=("FOLDER", "TRANSLATION"), help="a pytest suite as a judge"
    )
    parser.add_argument("--exercise", nargs="*", default=[], help="only these exercises (default: all)")
    parser.add_argument(
        "--sample", type=int, help="at most so many answers per exercise and kind (default: all)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=float("inf"),
        help="put no further answer to the judges after so many minutes (default: no limit)",
    )
    parser.add_argument("--resume", action="store_true", help="keep the opinions of an interrupted run")
    parser.add_argument(
        "--answers",
        type=Path,
        nargs="+",
        default=[answers.FILE],
        metavar="FILE",
        help="files of answers (default: answers.jsonl.xz)",
    )
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    options = parser.parse_args()
    try:
        found = [answer for file in options.answers for answer in answers.read_answers(file)]
        judges = [make_judge(name) for name in options.judges]
        if options.pytest:
            from judge_pytest import PytestJudge

            judges.append(PytestJudge(*map(Path, options.pytest)))
    except (JudgeError, ValueError) as error:
        parser.error(str(error))
    if options.sample is not None and options.sample < 1:
        parser.error(f"--sample {options.sample} takes no answer: give 1 or more.")
    if not judges:
        parser.error("There is no judge: name one after --judges, or a suite after --pytest.")
    if len({each.name for each in judges}) < len(judges):
        parser.error("Two judges have the same name: give one of them another `name`.")
    own = [judge for name, judge in zip([*options.judges, ""], judges, strict=False) if name not in JUDGES]
    unknown_exercise = find_unknown_exercise(own, found)
    if unknown_exercise:
        parser.error(unknown_exercise)
    exercises = {each.exercise for each in found}
    unknown = sorted(set(options.exercise) - exercises)
    if unknown:
        parser.error(f"There is no exercise {unknown[0]!r}. There are: {', '.join(sorted(exercises))}.")
    chosen = sample(
        (each for each in found if not options.exercise or each.exercise in options.exercise), options.sample
    )
    if not any(answer.exercise in judge.exercises for judge in judges for answer in chosen):
        parser.error("No judge knows any of the chosen exercises: choose others with --exercise.")
    console = results.console()
    machine = results.surroundings(console)
    judged = list[Judged]()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    opinions_file = options.output.with_suffix(".jsonl")
    end = time.monotonic() + 60 * options.minutes
    known = earlier(opinions_file, found) if options.resume else {}
    with opinions_file.open("a" if options.resume else "w", encoding="utf-8") as opinions:
        for answer in tqdm(chosen, unit="answer", disable=None):
            is_known = any((judge.name, answer.id) in known for judge in judges)
            if time.monotonic() > end and not is_known:
                continue
            for judge in judges:
                each = known.get((judge.name, answer.id))
                if each is None:
                    try:
                        each = put_to(judge, answer)
                    except JudgeError as error:
                        sys.exit(f"{error}\nNo table is written; {opinions_file} holds the opinions so far.")
                    if each.opinion is not None:
                        opinions.write(json.dumps(line(each, each.opinion), ensure_ascii=False) + "\n")
                        opinions.flush()
                judged.append(each)
    if not judged:
        sys.exit(f"--minutes {options.minutes:g} leaves no time for any answer: give more.")
    rows = {judge.name: summary([each for each in judged if each.judge == judge.name]) for judge in judges}
    for name, counts in names.rated(sorted(RATINGS.glob("*.csv")), RATINGS.parent).items():
        if name in rows:
            rows[name]["names"] = counts
    by_exercise = {
        f"{judge.name}, {name}": summary(
            [each for each in judged if each.judge == judge.name and each.answer.exercise == name]
        )
        for name in dict.fromkeys(each.exercise for each in chosen)
        for judge in judges
        if name in judge.exercises
    }
    print_table(console, by_exercise, "Per judge and exercise")
    print_table(console, rows, "Per judge")
    for judge in judges:
        of_judge = [each for each in judged if each.judge == judge.name]
        for text in list_wrong_verdicts(judge.name, of_judge, opinions_file):
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    content = machine | {"version": answers.VERSION, "judges": rows}
    results.write(options.output, content, console)
    draw(rows, options.picture)


if __name__ == "__main__":
    main()
