"""A lesson's cells in R, from the file `NAME.R` beside its checks, and their places on its page.

A line `# cell: ID` begins what translates the cell of that id; what is before the first is for anyone who
edits the file. Lines that begin with `#>` show what R prints there, as R's own reports write it.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from nbjudge.course.course import Assignment
from nbjudge.course.loading import read_notebook
from nbjudge.errors import CourseError

CELL = re.compile(r"^# cell: (\S+)\n", re.MULTILINE)
# The Python tab is empty as yet: `theme/conf.py` puts the cell above into it.
TABS = """\
`````{{tab-set}}
:sync-group: language
:class: languages

````{{tab-item}} Python
:sync: python

% The cell above.
````

````{{tab-item}} R
:sync: r

{in_r}
````
`````
"""
ANSWER = (
    "<details>\n<summary>The answer in R (it gives the Python one away)</summary>\n\n{code}\n\n</details>"
)


def r_cells(lesson: Assignment) -> dict[str, str]:
    """R code by the id of the cell that it translates; empty for a lesson without such a file.

    CourseError where a section names a cell that the lesson does not have, or names one twice.
    """
    file = lesson.checks_path / f"{lesson.name}.R"
    if not file.is_file():
        return {}
    _, *parts = CELL.split(file.read_text(encoding="utf-8"))
    names, codes = parts[::2], [code.strip() for code in parts[1::2]]
    cells = read_notebook(lesson.source_path).cells
    known = {cell.id for cell in cells if cell.cell_type == "code"}
    for place, name in enumerate(names):
        if name not in known:
            raise CourseError(
                f"{file.name} translates a cell {name!r}, which {lesson.folder} does not have: "
                "name the id of a code cell behind `# cell:`."
            )
        if name in names[:place]:
            raise CourseError(f"{file.name} translates the cell {name!r} twice: put both into one section.")
    return dict(zip(names, codes, strict=True))


def tabs_of(cell: NotebookNode, code: str) -> NotebookNode:
    """What is behind a cell to make tabs of it; R's version of an answer is folded."""
    block = f"```r\n{code}\n```"
    is_answer = bool(cell.metadata.get("nbgrader", {}).get("solution"))
    return new_markdown_cell(TABS.format(in_r=ANSWER.format(code=block) if is_answer else block))
