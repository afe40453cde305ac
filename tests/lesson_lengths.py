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


PROSE_WORDS_A_MINUTE, CODE_WORDS_A_MINUTE = 150, 75  # code is read at half the speed of prose
QUESTION = 5  # minutes
RANGE = re.compile(r"\b(\d+) to (\d+) minutes\b")  # in the first cell
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


def minutes(notebook: NotebookNode) -> float:
    """What the path takes at the pace of a careful reader: prose, code, exercises and written questions."""
    texts = [cell.source for cell in notebook.cells]
    exercises = sum(int(found) for text in texts for found in re.findall(r"●○* · about (\d+) minutes", text))
    questions = sum(
        cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("grade", False)
        for cell in notebook.cells
    )
    reading = words(notebook)["path"] / PROSE_WORDS_A_MINUTE + code_words(notebook) / CODE_WORDS_A_MINUTE
    return reading + exercises + QUESTION * questions
