"""How long a lesson is: words and minutes of its core path, and of the whole."""

import re

from nbformat import NotebookNode

from nbjudge.quiz import read_question

# What no one reads as words on the way: folded answers and hints, mark schemes, formulas, hidden code.
NOT_READ = [
    re.compile(r"<details>.*?</details>", re.DOTALL),
    re.compile(r"### BEGIN MARK SCHEME.*?### END MARK SCHEME", re.DOTALL),
    re.compile(r"\$\$.*?\$\$", re.DOTALL),
    re.compile(r"\$[^$]*\$"),
    re.compile(r"### BEGIN (SOLUTION|HIDDEN TESTS).*?### END \1", re.DOTALL),
]
PROSE_WORDS_A_MINUTE, CODE_WORDS_A_MINUTE = 150, 75  # code is read at half the speed of prose
WORD = re.compile(r"[\w’']+")
QUESTION = 5  # minutes
EFFORT = re.compile(r"●○* · about (\d+) minutes")
DEEPER = re.compile(r"^### .+ · about (\d+) minutes$", re.MULTILINE)
# In the first cell: what the core path takes, and the whole lesson.
RANGES = re.compile(
    r"Core path: (\d+) to (\d+) minutes · whole lesson: (\d+) to (\d+) minutes · builds on", re.DOTALL
)


def core_path(notebook: NotebookNode) -> NotebookNode:
    """The cells from the title to the one that says “You may stop here”."""
    ids = [cell.id for cell in notebook.cells]
    return NotebookNode(cells=notebook.cells[: ids.index("core-end") + 1])


def words(notebook: NotebookNode) -> tuple[int, int]:
    """The words of prose and of code that are read from top to bottom; the setup cell is run, not read."""
    counted = {"markdown": 0, "code": 0}
    for cell in notebook.cells:
        is_answer = cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution")
        if is_answer or cell.id == "setup":
            continue
        question = read_question(cell.source) if cell.cell_type == "code" else None
        if question is not None:  # its choices are read on the buttons
            counted["markdown"] += len(WORD.findall(" ".join(question.choices.values())))
            continue
        text = cell.source
        for unread in NOT_READ:
            text = unread.sub(" ", text)
        counted[cell.cell_type] += len(WORD.findall(text))
    return counted["markdown"], counted["code"]


def minutes(notebook: NotebookNode) -> float:
    """Return what it takes at the pace of a careful reader: prose, code, exercises and written questions."""
    exercises = sum(int(found) for cell in notebook.cells for found in EFFORT.findall(cell.source))
    questions = sum(
        cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("grade", False)
        for cell in notebook.cells
    )
    prose, code = words(notebook)
    return prose / PROSE_WORDS_A_MINUTE + code / CODE_WORDS_A_MINUTE + exercises + QUESTION * questions
