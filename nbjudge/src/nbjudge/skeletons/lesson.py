"""A new lesson: one notebook in a folder of its own, with the cells that every lesson has."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from nbjudge.errors import CourseError
from nbjudge.skeletons.vocabulary import vocabulary_of

NAME = re.compile(r"(?:\d+_)?([a-z]\w*)", re.ASCII)
CLOSING = "## What you now have"
TITLE = """# {title}

What this lesson is about, in one paragraph. At the end you can say what you can. About 30 minutes. From
the lesson before you need nothing.
"""
END = """{closing}

One sentence.

## Test yourself

1. A first question?
2. A second one?
3. A third?

<details>
<summary>Answer 1</summary>

Its answer.

</details>

<details>
<summary>Answer 2</summary>

Its answer.

</details>

<details>
<summary>Answer 3</summary>

Its answer.

</details>

## Where to read more

A source that you would read yourself.
"""


def new_lesson(source: Path, folder: str) -> Path:
    """Write the notebook of a lesson in `source`/`folder`; returns its path.

    Raises CourseError where the folder is there already, or is no name for one.
    """
    named = NAME.fullmatch(folder)
    if named is None:
        raise CourseError(
            f"{folder!r} is no name for a lesson: write small letters, digits and _, such as ps2."
        )
    stem = named.group(1)
    taken = [path for path in source.glob("*/*.ipynb") if path.stem == stem]
    if (source / folder).exists() or taken:
        there = taken[0] if taken else source / folder
        raise CourseError(f"{there} is there already: give the lesson a name of its own.")
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell(
                TITLE.format(title=stem.replace("_", " ").capitalize()), id="title"
            ),
            given_cell("setup", vocabulary_of(source.parent / "checks").setup),
            nbformat.v4.new_markdown_cell(END.format(closing=CLOSING), id="closing"),
        ],
        metadata={
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
        },
    )
    (source / folder).mkdir(parents=True)
    path = source / folder / f"{stem}.ipynb"
    nbformat.write(notebook, path)
    return path


def given_cell(cell_id: str, code: str) -> NotebookNode:
    """A code cell that students get and cannot change."""
    return marked_cell(cell_id, code, locked=True)


def marked_cell(cell_id: str, code: str, **marks: object) -> NotebookNode:
    """A code cell with nbgrader's metadata."""
    plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    return nbformat.v4.new_code_cell(
        code, id=cell_id, metadata={"nbgrader": plain | {"grade_id": cell_id} | marks}
    )
