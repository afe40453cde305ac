"""nbgrader's way to the page: an nbconvert exporter for `GenerateFeedback.exporter_class`."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from markupsafe import Markup
from nbconvert.exporters import TemplateExporter
from nbconvert.exporters.exporter import FilenameExtension, ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound
from traitlets import List, Unicode

from nbjudge.course.regions import Regions
from nbjudge.feedback.page import Page, Part, page_of
from nbjudge.feedback.prose import as_html, as_it_is
from nbjudge.plain_text import sentence_as_html
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

    def default_filters(self) -> Iterable[tuple[str, Any]]:
        """nbconvert's, and those of the page: all give text that is safe in a page."""
        yield from super().default_filters()
        yield "page", self._page
        yield "style_sheet", _style_sheet
        yield "prose", _prose
        yield "sentence", _sentence
        yield "points", _points
        yield "policy", _policy

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **options: Any
    ) -> Any:
        """The page as text, and the resources; for a notebook that nbgrader has graded."""
        language = nb.metadata.get("language_info", {})
        lexer = _lexer(str(language.get("pygments_lexer") or language.get("name") or "python3"))
        self.register_filter("code", lambda source: Markup(highlight(source, lexer, HtmlFormatter())))
        text, resources = super().from_notebook_node(nb, resources, **options)
        # Half of a character pair, which a student's string may hold, cannot be written to a file.
        return text.encode("utf-8", "replace").decode(), resources

    def _page(self, notebook: NotebookNode, resources: dict[str, Any]) -> Page:
        return page_of(notebook, resources["nbgrader"], Regions.of(self.config), fold=self.fold_assignment)


def _lexer(name: str) -> Lexer:
    """Pygments' reader of a language; of plain text where it knows none of this name."""
    try:
        return get_lexer_by_name(name)
    except ClassNotFound:
        return TextLexer()


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


def _sentence(text: str) -> Markup:
    """A sentence of the judge's, with the parts in backticks as code."""
    return Markup(sentence_as_html(text))


def _points(number: float) -> str:
    return f"{round(number, 2):g}"


class UnmarkedCellsNotice(NbGraderPreprocessor):  # type: ignore[misc]
    """Writes `needs_marking` into the nbgrader metadata of each graded cell that waits for a person."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            found = gradebook.find_submission_notebook(
                about["notebook"], about["assignment"], about["student"]
            )
            waiting = {grade.name for grade in found.grades if grade.needs_manual_grade}
        for cell in nb.cells:
            marks = cell.metadata.get("nbgrader", {})
            if marks.get("grade_id") in waiting:
                marks["needs_marking"] = True
        return nb, resources
