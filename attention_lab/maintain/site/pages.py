"""A lesson as a page: what is released, with the outputs that give no answer away.

Text and code are the release's, so no solution, hidden test or mark scheme can be there. Outputs are
those stored in the solution notebook, and only of cells that are given: never of an answer or a test.

A lesson's cells in R are in the file `NAME.R` beside its checks. A line `# cell: ID` begins what translates
the cell of that id; what is before the first is for anyone who edits the file. Lines that begin with `#>`
show what R prints there, as R's own reports write it.
"""

from __future__ import annotations

import copy
import hashlib
import html
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook, new_output

from attention_lab.maintain.hosts import buttons, repository
from attention_lab.maintain.site.static_sliders import run_cell, static_sliders
from nbjudge import CourseError
from nbjudge.course import Assignment, read_notebook
from nbjudge.tutor import STORED

# The lessons' pictures in words, for those who cannot see them, by lesson and cell.
ALT_TEXTS = Path(__file__).with_name("alt_texts.toml")
WIDGET = "application/vnd.jupyter.widget-view+json"
# The course's sliders are called so; another widget, such as a button, has no picture to show.
SLIDER_CALL = re.compile(r"^\w+_(?:slider|stepper)\(", re.MULTILINE)
# The tutor speaks to anyone who writes an answer; of a solved notebook it may show all of the code.
TUTOR_CALL = re.compile(r"^check\(", re.MULTILINE)
QUESTION_CALL = re.compile(r"ask\(")
# "Before you run the next cell: which of the four rows will move?" The page hides what it prints.
PREDICTION = re.compile(r"\*\*(?:Before you (?:run|look)|Guess first)\b")
NO_KERNEL = "<p>The notebook shows something here that needs a running kernel.</p>"
# What `check` shows, once a page. Its panel is about the reader's own answer, which a page does not have.
PANEL_PICTURE = "docs/images/tutor.png"
PANEL = (
    '<figure><img src="{address}" alt="A panel: what differs, and buttons for the mistake and for help">'
    "<figcaption>In the notebook, <code>check</code> shows such a panel about your own answer: which groups "
    "of cases agree, what differs, and on request the mistake and hints.</figcaption></figure>"
)
DOWNLOADS = (
    '<p class="downloads">To solve it, {open_in}take the notebook: {links}. '
    "The outputs below are those of a solved copy; what you are to write is left for you.</p>"
)


# Lessons link to this page beside them, which the site has in its reference.
TO_PAGE, TO_REFERENCE = "](../00_start_here/torch-attention.md", "](../reference/torch-attention.md"
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


@dataclass
class Page:
    """A lesson's page before Sphinx sees it, and the files that go beside it, by name."""

    notebook: NotebookNode
    files: dict[str, bytes]


def page_of(lesson: Assignment) -> Page:
    """The page of a lesson, from its release and the outputs of its solution."""
    release = read_notebook(lesson.release_path)
    solution = {cell.id: cell for cell in read_notebook(lesson.solution_path).cells}
    missing = [cell.id for cell in release.cells if cell.id not in solution]
    if missing:
        raise CourseError(
            f"The release of {lesson.folder} has a cell {missing[0]!r} that its solution has not: "
            "run `make build`."
        )
    number, _, _ = lesson.folder.partition("_")
    modules = (lesson.course.root / "attention_lab" / f"lesson_{number}").glob("[!_]*.py")
    given = {file.name: file.read_bytes() for file in (lesson.release_path, *sorted(modules))}
    page = Page(new_notebook(metadata=release.metadata), given)
    solved = _SolvedOutputs(lesson, release, solution, page.files)
    alt_texts, in_r = alt_texts_of(lesson.folder), r_cells(lesson)
    for place, cell in enumerate(release.cells):
        shown = copy.deepcopy(cell)
        shown.metadata = NotebookNode(tags=_tags(release.cells, place))
        shown.source = cell.source.replace(TO_PAGE, TO_REFERENCE)
        if cell.cell_type == "code":
            marks = cell.metadata.get("nbgrader", {})
            # An answer, or a test that an answer has to pass, shows nothing.
            is_silent = marks.get("solution") or marks.get("grade")
            question = lesson.questions.get(cell.id)
            shown.outputs = [] if is_silent else solved.outputs(cell)
            if question is not None:  # each choice with its reply, which a click unfolds
                shown.outputs = [_html(f'<div class="question">{question.as_html()}</div>')]
            if any("image/png" in output.get("data", {}) for output in shown.outputs):
                shown.metadata["mystnb"] = {"image": {"alt": _alt_text(alt_texts, lesson, cell.id)}}
        page.notebook.cells.append(shown)
        if cell.id in in_r:
            page.notebook.cells.append(tabs_of(cell, in_r[cell.id]))
    page.notebook.cells.insert(1, _downloads(lesson, page.files))
    return page


def _tags(cells: list[NotebookNode], place: int) -> list[str]:
    """Return what the cell is, as classes of its HTML; and whether its output is folded."""
    cell = cells[place]
    above = (each for each in reversed(cells[:place]) if not _asks(each))
    before, marks = next(above, None), cell.metadata.get("nbgrader", {})
    if _asks(cell):
        return ["question", "remove-input"]
    tags = ["answer"] if marks.get("solution") else ["test"] if marks.get("grade") else []
    predicted = before is not None and before.cell_type == "markdown" and PREDICTION.search(before.source)
    if cell.cell_type == "code" and predicted and not SLIDER_CALL.search(cell.source):
        tags.append("hide-output")
    return tags


def _asks(cell: NotebookNode) -> bool:
    """Return whether a cell is a prediction to click, between the text and the code that it predicts."""
    return bool(cell.cell_type == "code" and QUESTION_CALL.match(cell.source))


def alt_texts_of(folder: str) -> dict[str, str]:
    """Return the texts of one lesson's pictures, by the id of the cell that draws them."""
    try:
        texts: dict[str, dict[str, str]] = tomllib.loads(ALT_TEXTS.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{ALT_TEXTS} cannot be read: {error}. Fix that line.") from None
    return texts.get(folder, {})


def _alt_text(texts: dict[str, str], lesson: Assignment, cell_id: str) -> str:
    if cell_id not in texts:
        raise CourseError(
            f"The picture of the cell {cell_id!r} in {lesson.folder} says nothing to those who cannot see "
            f'it: add a line `{cell_id} = "…"` under [{lesson.folder}] in {ALT_TEXTS}.'
        )
    return texts[cell_id]


def _downloads(lesson: Assignment, files: dict[str, bytes]) -> NotebookNode:
    names = [f"{lesson.name}.ipynb", *(name for name in files if name.endswith(".py"))]
    links = ", ".join(f'<a href="{html.escape(name)}" download>{html.escape(name)}</a>' for name in names)
    services = [
        f'<a class="open-in" href="{html.escape(link)}">Open in {service}</a>'
        for service, link in buttons(repository(lesson.course.root), lesson.folder, lesson.name).items()
    ]
    open_in = f"{' '.join(services)} or " if services else ""
    return new_markdown_cell(DOWNLOADS.format(open_in=open_in, links=links))


class _SolvedOutputs:
    """The outputs of given cells, with stand-ins for widgets, whose pictures go among the page's files."""

    def __init__(
        self,
        lesson: Assignment,
        release: NotebookNode,
        solution: dict[str, NotebookNode],
        files: dict[str, bytes],
    ):
        self.lesson, self.solution, self.files = lesson, solution, files
        self._has_panel = False
        code_cells = [cell for cell in release.cells if cell.cell_type == "code"]
        self.places = {cell.id: place for place, cell in enumerate(code_cells)}
        # A graded cell without its hidden region; answers as solved, for a slider may call one.
        self.codes = [
            cell.source if cell.metadata.get("nbgrader", {}).get("grade") else solution[cell.id].source
            for cell in code_cells
        ]

    def outputs(self, cell: NotebookNode) -> list[NotebookNode]:
        """Return what a given cell shows: as stored, but for widgets, which are nothing without a kernel."""
        if TUTOR_CALL.search(cell.source):
            return self._panel()
        stored: list[NotebookNode] = copy.deepcopy(self.solution[cell.id].outputs)
        if not any(WIDGET in output.get("data", {}) for output in stored):
            return stored
        if SLIDER_CALL.search(cell.source):
            return [
                self._static_slider(cell) if WIDGET in output.get("data", {}) else output
                for output in stored
                if STORED not in output.get("data", {}).get("text/html", "")
            ]
        # Another widget, and what is printed beside it, speaks of the machine that it ran on.
        return [_html(NO_KERNEL)]

    def _panel(self) -> list[NotebookNode]:
        """The picture of the tutor's panel under the first `check` of a page, nothing under the others."""
        picture = self.lesson.course.root / PANEL_PICTURE
        if self._has_panel or not picture.exists():
            return []
        self._has_panel = True
        return [_html(PANEL.format(address=self._keep(picture.read_bytes())))]

    def _static_slider(self, cell: NotebookNode) -> NotebookNode:
        name = f"The slider {cell.id!r} of {self.lesson.folder}"
        widget = run_cell(self.codes, self.places[cell.id], name)
        drawn = static_sliders(widget, self._keep, cell.id)
        return _html("\n".join(drawn) or NO_KERNEL)

    def _keep(self, picture: bytes) -> str:
        """Put a picture among the page's files; its address. Equal pictures are one file."""
        name = f"picture-{hashlib.sha256(picture).hexdigest()[:12]}.png"
        self.files[name] = picture
        return name


def _html(text: str) -> NotebookNode:
    return new_output("display_data", {"text/html": text})


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
    """Return what is behind a cell to make tabs of it; R's version of an answer is folded."""
    block = f"```r\n{code}\n```"
    is_answer = bool(cell.metadata.get("nbgrader", {}).get("solution"))
    return new_markdown_cell(TABS.format(in_r=ANSWER.format(code=block) if is_answer else block))
