"""nbgrader's way to the page: an nbconvert exporter for `GenerateFeedback.exporter_class`."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbconvert.exporters import TemplateExporter
from nbconvert.exporters.exporter import FilenameExtension, ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import BaseConverter
from nbgrader.preprocessors import NbGraderPreprocessor
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound
from traitlets import List, Unicode

from nbjudge.course.folders import folders_of
from nbjudge.course.regions import Regions
from nbjudge.feedback.page import Page, Part, page_of
from nbjudge.feedback.prose import as_html, as_it_is
from nbjudge.nbgrader_hooks.autograde import force_where
from nbjudge.nbgrader_hooks.late_policy import follow_marks
from nbjudge.plain_text import sentence_as_html
from nbjudge.record.grades import is_outdated, read_grades
from nbjudge.settings import FeedbackSettings

TEMPLATES = Path(__file__).parent / "templates"
NAME = "nbjudge_feedback"
IN_THE_DARK = "monokai"  # the colours of code on a dark page


class FeedbackExporter(FeedbackSettings, TemplateExporter):
    """Makes the page from a graded notebook, after nbgrader's `GetGrades` has put the grades in.

    Not an `HTMLExporter`: its templates bring scripts from elsewhere, and nbgrader's formgrader
    configures that class for pages of its own.
    """

    output_mimetype = "text/html"

    file_extension = FilenameExtension(".html")
    template_name = Unicode(NAME)
    extra_template_basedirs = List(Unicode(), [str(TEMPLATES)])
    preprocessors = List(default_value=["nbjudge.feedback.feedback_exporter.UnmarkedCellsNotice"])

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if isinstance(self.parent, BaseConverter):
            _remake_outdated(self.parent)

    def default_filters(self) -> Iterable[tuple[str, Any]]:
        """nbconvert's, and those of the page: all give text that is safe in a page."""
        yield from super().default_filters()
        yield "page", self._page
        yield "style_sheet", _style_sheet
        yield "prose", _prose
        yield "sentence", lambda text: Markup(sentence_as_html(text))  # the judge's, with code in backticks
        yield "points", lambda number: f"{round(number, 2):g}"
        yield "policy", _policy

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **options: Any
    ) -> Any:
        """The page as text, and the resources; for a notebook that nbgrader has graded."""
        language = nb.metadata.get("language_info", {})
        name = str(language.get("pygments_lexer") or language.get("name") or "python3")
        try:
            lexer = get_lexer_by_name(name)
        except ClassNotFound:
            lexer = TextLexer()
        self.register_filter("code", lambda source: Markup(highlight(source, lexer, HtmlFormatter())))
        text, resources = super().from_notebook_node(nb, resources, **options)
        # Half of a character pair, which a student's string may hold, cannot be written to a file.
        return text.encode("utf-8", "replace").decode(), resources

    def _page(self, notebook: NotebookNode, resources: dict[str, Any]) -> Page:
        return page_of(notebook, resources["nbgrader"], Regions.of(self.config), fold=self.fold_assignment)


def _remake_outdated(converter: Any) -> None:
    """Let nbgrader make a page again that shows other grades than there are, whatever its timestamps are."""
    coursedir = converter.coursedir
    folders = folders_of(coursedir)
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook, suppress(MissingEntry):
        follow_marks(converter.config, gradebook, coursedir.assignment_id)

    def is_old(assignment: str, student: str) -> bool:
        grades = read_grades(coursedir.db_url, assignment, student)
        return any(
            is_outdated(folders, student, assignment, Path(name).stem, grades) for name in converter.notebooks
        )

    force_where(converter, is_old)


def _style_sheet(code_colours: str) -> Markup:
    """The page's own style, with the colours of code in one of Pygments' styles."""
    own = (TEMPLATES / NAME / "page.css").read_text(encoding="utf-8")
    light, dark = (
        HtmlFormatter(style=style).get_style_defs(".highlight") for style in (code_colours, IN_THE_DARK)
    )
    return Markup(f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{own}")


def _policy(style: str) -> str:
    """A Content-Security-Policy: this style and pictures within the page, and nothing else at all."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _prose(part: Part | str, resources: dict[str, Any]) -> Markup:
    """A cell of text, or a comment, as HTML."""
    folder = str(resources.get("metadata", {}).get("path", ""))
    if isinstance(part, str):
        return Markup(as_html(part))
    if part.as_it_is:
        return Markup(as_it_is(part.source))
    return Markup(as_html(part.source, part.attachments, folder))


class UnmarkedCellsNotice(NbGraderPreprocessor):  # type: ignore[misc]
    """Writes `needs_marking` into the nbgrader metadata of each graded cell that waits for a person.

    The page gets a digest of its grades, too, by which an outdated page is found.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        about = resources["nbgrader"]
        student, name = about["student"], about["notebook"]
        grades = read_grades(about["db_url"], about["assignment"], student)[student, name]
        graded = Path(resources["metadata"]["path"]) / f"{name}.ipynb"
        about["grades_digest"] = grades.page_digest(graded)
        about["lateness"] = grades.lateness
        for cell in nb.cells:
            marks = cell.metadata.get("nbgrader", {})
            found = grades.cells.get(marks.get("grade_id"))
            if found is not None and found.waits:
                marks["needs_marking"] = True
        return nb, resources
