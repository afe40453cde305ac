"""The course as a website: every lesson a static page that needs no kernel, no network and no script.

Pages show what students get, with pictures and with stand-ins for sliders; solutions stay where they are.
Beside the lessons is a reference of commands, settings and names in code.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from rich.console import Console
from rich.progress import Progress
from rich.text import Text
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import docutils_namespace, patch_docutils

from attention_lab.errors import CourseError
from attention_lab.maintain.hosts import repository
from attention_lab.maintain.site.front_page import front_page
from attention_lab.maintain.site.pages import page_of
from attention_lab.maintain.site.reference import reference_pages
from nbjudge.course.course import Course

THEME = Path(__file__).with_name("theme")
FIRST_PAGE, FRONT_PAGE = "index.html", "index.md"
OURS = "_static/scrollers.js"  # a folder with this file is a site made here, and may be replaced
ADVICE = "Fix the lesson's source and run `make build`; or, where one is named, the docstring."


def build_site(course: Course, folder: Path, console: Console) -> Path:
    """Write every lesson's page into `folder` in place of an earlier site; returns the first page.

    What is there stays until the new site is whole. CourseError where it cannot be made.
    """
    folder = (
        folder.absolute()
    )  # Python 3.11 makes a temporary folder's name no more absolute than it was given
    try:
        if folder.exists() and any(folder.iterdir()) and not (folder / OURS).exists():
            raise CourseError(f"{folder} holds something else: name another folder with --folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".site-", dir=folder.parent) as temporary:
            work = Path(temporary)
            _prepare(course, work, console)
            with console.status("Sphinx writes the pages …"):
                run_sphinx(work, repository(course.root))
            if folder.exists():
                shutil.rmtree(folder)
            (work / "site").rename(folder)
    except OSError as error:
        raise CourseError(
            f"The site cannot be written to {folder}: {error.strerror or error}. "
            "Free some space or name another folder with --folder."
        ) from error
    return folder / FIRST_PAGE


def _prepare(course: Course, work: Path, console: Console) -> None:
    """Sphinx's sources under `work`: pages in `pages/`, and in `beside/` what goes next to them."""
    lessons = list(course.assignments.values())
    with Progress(console=console, transient=True) as progress:
        for lesson in progress.track(lessons, description="Pages and sliders"):
            page = page_of(lesson)
            for kind in ("pages", "beside"):
                (work / kind / lesson.folder).mkdir(parents=True)
            nbformat.write(page.notebook, work / "pages" / lesson.folder / f"{lesson.name}.ipynb")
            for name, content in page.files.items():
                (work / "beside" / lesson.folder / name).write_bytes(content)
    for name, text in {FRONT_PAGE: front_page(lessons), **reference_pages(lessons)}.items():
        source = work / "pages" / name
        source.parent.mkdir(exist_ok=True)
        source.write_text(text, encoding="utf-8")


def run_sphinx(work: Path, address: str = "") -> None:
    """From `pages/` in the folder `work` to `site/` there; CourseError at the first warning.

    Every page links to the code at `address`, where one is given.
    """
    warnings = io.StringIO()
    link = {"name": "Code", "url": address, "html": "Code", "class": ""}
    try:
        with patch_docutils(THEME), docutils_namespace():
            sphinx = Sphinx(
                srcdir=work / "pages",
                confdir=THEME,
                outdir=work / "site",
                doctreedir=work / "doctrees",
                buildername="html",
                confoverrides={
                    "html_extra_path": [str(work / "beside")],
                    # No button for an editor: the sources of these pages are made, and thrown away.
                    "html_theme_options": {
                        "top_of_page_buttons": [],
                        "footer_icons": [link] if address else [],
                    },
                },
                status=None,
                warning=warnings,
                warningiserror=True,
            )
            sphinx.build()
    except SphinxError as error:
        raise CourseError(f"Sphinx stopped: {error}. {ADVICE}") from error
    if sphinx.statuscode != 0:
        message = Text.from_ansi(warnings.getvalue()).plain.strip()
        first = message.splitlines()[0].replace(f"{work / 'pages'}/", "").removesuffix(".")
        raise CourseError(f"Sphinx finds a fault in a page: {first}. {ADVICE}")
