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
from statistics import median_high
from typing import Any

from rich.table import Table
from tqdm import tqdm

import answers
import names
from answers import Answer
from judging import Judge, Judged, JudgeError, Opinion, load_judge, put_to

sys.path.append(str(Path(__file__).parents[1]))  # the other benchmarks' module
import results  # noqa: E402

JUDGES = {
    "nbjudge": "judge_nbjudge.py:NbjudgeJudge",
    "visible-tests": "judge_visible_tests.py:VisibleTestsJudge",
    "torch-judge": "judge_torch_judge.py:TorchJudge",
}
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
    if name in JUDGES:  # its libraries are imported only where it is asked for
        return load_judge(f"{Path(__file__).parent / JUDGES[name]}")
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


def summary(judged: Sequence[Judged]) -> dict[str, Any]:
    """The figures of one judge, or of one judge on one exercise."""
    figures: dict[str, Any] = {}
    for heading, kinds in COLUMNS.items():
        of_kinds = [verdict for verdict in judged if verdict.answer.kind in kinds]
        counted = [verdict for verdict in of_kinds if verdict.opinion is not None]
        rightly = sum(verdict.is_right for verdict in counted)
        left_out = len(of_kinds) - len(counted)
        figures[heading] = {"judged": len(counted), "rightly": rightly, "left out": left_out}
    seconds = [verdict.seconds for verdict in judged if verdict.opinion is not None]
    figures["seconds"] = round(median_high(seconds), 3) if seconds else None
    messages = [
        verdict.opinion.message
        for verdict in judged
        if verdict.opinion is not None and not verdict.answer.is_right
    ]
    figures["wrong answers with a message"] = len(list(filter(None, messages)))
    return figures


def line(judged: Judged, opinion: Opinion) -> dict[str, Any]:
    """Return what a judge thinks of one answer, as a line of the file of opinions."""
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
        (entry["judge"], entry["answer"]): Judged(
            by_id[entry["answer"]],
            entry["judge"],
            Opinion(entry["accepted"], entry["message"]),
            entry["seconds"],
        )
        for entry in entries
        if entry["answer"] in by_id
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


def print_table(console: Any, rows: dict[str, dict[str, Any]], title: str) -> None:
    """Print one row per judge, or per judge and exercise; with the shares of names if there are some."""
    with_names = any("names" in row for row in rows.values())
    table = Table(title=title, title_justify="left")
    for heading in ("", *COLUMNS, "left out", "seconds", *(NAMES if with_names else ())):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, figures in rows.items():
        left_out = sum(figures[heading]["left out"] for heading in COLUMNS)
        cells = [f"{figures[each]['rightly']} of {figures[each]['judged']}" for each in COLUMNS]
        seconds = "" if figures["seconds"] is None else f"{figures['seconds']:.2f}"
        counts = [figures.get("names", {}).get(kind) for kind in ("mistake", "mutation")]
        shares = [
            ", ".join(share(count) if count else "none" for count in counts) if any(counts) else "not rated"
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


def _options() -> argparse.ArgumentParser:
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
    parser.add_argument("--sample", type=int, help="so many answers per exercise and kind (default: all)")
    parser.add_argument(
        "--minutes",
        type=float,
        default=float("inf"),
        help="begin no answer after so many (default: no limit)",
    )
    parser.add_argument("--resume", action="store_true", help="keep the opinions of an interrupted run")
    parser.add_argument(
        "--answers", type=Path, nargs="+", default=[answers.FILE], metavar="FILE", help="files of answers"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    return parser


def chosen_of(options: argparse.Namespace) -> tuple[list[Answer], list[Judge]]:
    """The answers and the judges that were asked for; raises JudgeError or ValueError for a wrong option."""
    found = [answer for file in options.answers for answer in answers.read_answers(file)]
    judges = [make_judge(name) for name in options.judges]
    own = [judge for name, judge in zip(options.judges, judges, strict=True) if name not in JUDGES]
    if options.pytest:
        from judge_pytest import PytestJudge

        judges.append(PytestJudge(*map(Path, options.pytest)))
        own.append(judges[-1])
    if options.sample is not None and options.sample < 1:
        raise ValueError(f"--sample {options.sample} takes no answer: give 1 or more.")
    if not judges:
        raise JudgeError("There is no judge: name one after --judges, or a suite after --pytest.")
    if len({judge.name for judge in judges}) < len(judges):
        raise JudgeError("Two judges have the same name: give one of them another `name`.")
    exercises = {answer.exercise for answer in found}
    known = exercises | {answer.exercise for answer in answers.read_answers()}
    unknown = [("There is no exercise", name) for name in options.exercise if name not in exercises]
    for judge in own:
        place = f"The judge {judge.name!r} has an exercise that no answer has:"
        unknown += [(place, name) for name in sorted(judge.exercises - known)]
    if unknown:
        raise ValueError(f"{unknown[0][0]} {unknown[0][1]!r}. There are: {', '.join(sorted(known))}.")
    wanted = [answer for answer in found if not options.exercise or answer.exercise in options.exercise]
    chosen = sample(wanted, options.sample)
    if not any(answer.exercise in judge.exercises for judge in judges for answer in chosen):
        raise JudgeError("No judge knows any of the chosen exercises: choose others with --exercise.")
    return chosen, judges


def put_all(
    chosen: list[Answer], judges: list[Judge], opinions_file: Path, resume: bool, minutes: float
) -> list[Judged]:
    """Put the answers to the judges, and write each opinion when it is there."""
    judged = list[Judged]()
    end = time.monotonic() + 60 * minutes
    known = earlier(opinions_file, chosen) if resume else {}
    opinions_file.parent.mkdir(parents=True, exist_ok=True)
    with opinions_file.open("a" if resume else "w", encoding="utf-8") as opinions:
        for answer in tqdm(chosen, unit="answer", disable=None):
            is_known = any((judge.name, answer.id) in known for judge in judges)
            if time.monotonic() > end and not is_known:
                continue
            for judge in judges:
                verdict = known.get((judge.name, answer.id))
                if verdict is None:
                    verdict = put_to(judge, answer)
                    if verdict.opinion is not None:
                        entry = line(verdict, verdict.opinion)
                        opinions.write(json.dumps(entry, ensure_ascii=False) + "\n")
                        opinions.flush()
                judged.append(verdict)
    return judged


def main() -> None:
    """Run the benchmark; exit with status 2 if an option is wrong, and 1 if a judge fails."""
    parser = _options()
    options = parser.parse_args()
    try:
        chosen, judges = chosen_of(options)
    except (JudgeError, ValueError) as error:
        parser.error(str(error))
    console = results.console()
    machine = results.surroundings(console)
    opinions_file = options.output.with_suffix(".jsonl")
    try:
        judged = put_all(chosen, judges, opinions_file, options.resume, options.minutes)
    except JudgeError as error:
        sys.exit(f"{error}\nNo table is written; {opinions_file} holds the opinions so far.")
    if not judged:
        sys.exit(f"--minutes {options.minutes:g} leaves no time for any answer: give more.")
    by_judge = {
        judge.name: [verdict for verdict in judged if verdict.judge == judge.name] for judge in judges
    }
    rows = {name: summary(verdicts) for name, verdicts in by_judge.items()}
    for name, counts in names.rated(sorted(RATINGS.glob("*.csv")), RATINGS.parent).items():
        if name in rows:
            rows[name]["names"] = counts
    by_exercise = {
        f"{judge.name}, {exercise}": summary(
            [verdict for verdict in by_judge[judge.name] if verdict.answer.exercise == exercise]
        )
        for exercise in dict.fromkeys(answer.exercise for answer in chosen)
        for judge in judges
        if exercise in judge.exercises
    }
    print_table(console, by_exercise, "Per judge and exercise")
    print_table(console, rows, "Per judge")
    for name, verdicts in by_judge.items():
        for text in list_wrong_verdicts(name, verdicts, opinions_file):
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    results.write(options.output, machine | {"version": answers.VERSION, "judges": rows}, console)
    draw(rows, options.picture)


if __name__ == "__main__":
    main()
