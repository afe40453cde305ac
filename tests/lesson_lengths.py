"""How long a lesson is: the words on its path, and those of its excursions."""

import re

from nbformat import NotebookNode

EXCURSIONS, CLOSING = "Excursions", ("Test yourself", "Where to read more")
# What no one reads as words on the way: folded answers and hints, mark schemes, formulas.
NOT_READ = [
    re.compile(r"<details>.*?</details>", re.DOTALL),
    re.compile(r"### BEGIN MARK SCHEME.*?### END MARK SCHEME", re.DOTALL),
    re.compile(r"\$\$.*?\$\$", re.DOTALL),
    re.compile(r"\$[^$]*\$"),
]


def words(notebook: NotebookNode) -> dict[str, int]:
    """The words of "path", "excursions" and "closing"."""
    counted, part = {"path": 0, "excursions": 0, "closing": 0}, "path"
    for cell in notebook.cells:
        if cell.cell_type != "markdown" or cell.metadata.get("nbgrader", {}).get("solution"):
            continue
        text = cell.source
        for unread in NOT_READ:
            text = unread.sub(" ", text)
        for piece in re.split(r"(?m)^(?=## )", text):
            if heading := re.match(r"## (.*)", piece):
                name = heading[1].strip()
                part = "excursions" if name == EXCURSIONS else "closing" if name in CLOSING else "path"
            counted[part] += len(re.findall(r"[\w’']+", piece))
    return counted


WORDS_A_MINUTE = 220  # of prose with formulas
FIGURE, QUESTION = 0.5, 5  # minutes


# Below the heading at which anyone who has paused goes on.
NEXT_SITTING = re.compile(r"^\*Here the second sitting begins", re.MULTILINE)


def sittings(notebook: NotebookNode) -> list[NotebookNode]:
    """The lesson as it is cut by the text itself: no one works for hours on end."""
    parts = [NotebookNode(cells=[])]
    for cell in notebook.cells:
        if NEXT_SITTING.search(cell.source):
            parts.append(NotebookNode(cells=[]))
        parts[-1].cells.append(cell)
    return parts


def minutes(notebook: NotebookNode) -> float:
    """What the path takes: reading, the exercises as each says, figures, and written questions."""
    ids = [cell.id for cell in notebook.cells]
    begin = ids.index("excursions") if "excursions" in ids else len(ids)
    texts = [cell.source for cell in notebook.cells]
    exercises = sum(int(found) for text in texts for found in re.findall(r"●○* · about (\d+) minutes", text))
    figures = sum(
        "plt.show()" in text or bool(re.search(r"_(slider|stepper)\(", text)) for text in texts[:begin]
    )
    questions = sum(
        cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("grade", False)
        for cell in notebook.cells
    )
    return words(notebook)["path"] / WORDS_A_MINUTE + exercises + FIGURE * figures + QUESTION * questions


# Lessons of the third edition print a range of minutes, and code is read at half the speed of prose.
SLOW_WORDS_A_MINUTE, CODE_WORDS_A_MINUTE = 150, 75
RANGE = re.compile(r"\b(\d+) to (\d+) minutes\b")


def says_a_range(notebook: NotebookNode) -> bool:
    """Whether the first cell says "N to M minutes": the form of the third edition."""
    return bool(RANGE.search(notebook.cells[0].source))


def code_words(notebook: NotebookNode) -> int:
    """The words in the code of the path, without solutions and hidden tests."""
    count = 0
    for cell in notebook.cells:
        if cell.id == "excursions":
            break
        if cell.cell_type == "code":
            text = re.sub(r"(?s)### BEGIN (SOLUTION|HIDDEN TESTS).*?### END \1", " ", cell.source)
            count += len(re.findall(r"[\w’']+", text))
    return count


def slow_minutes(notebook: NotebookNode) -> float:
    """What the path takes at the pace of a careful reader: prose, code, exercises and written questions."""
    texts = [cell.source for cell in notebook.cells]
    exercises = sum(int(found) for text in texts for found in re.findall(r"●○* · about (\d+) minutes", text))
    questions = sum(
        cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("grade", False)
        for cell in notebook.cells
    )
    reading = words(notebook)["path"] / SLOW_WORDS_A_MINUTE + code_words(notebook) / CODE_WORDS_A_MINUTE
    return reading + exercises + QUESTION * questions
