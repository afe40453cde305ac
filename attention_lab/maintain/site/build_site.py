"""The course as a website: every lesson a static page that needs no kernel, no network and no script.

Pages show what students get, with pictures and with stand-ins for sliders; solutions stay where they are.
Beside the lessons is a reference of commands, settings and names in code.
"""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

import nbformat
from rich.console import Console
from rich.progress import track
from rich.text import Text
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import docutils_namespace, patch_docutils

from attention_lab.maintain.hosts import paragraph, repository
from attention_lab.maintain.site.pages import Page, page_of
from nbjudge import CourseError
from nbjudge.course import SECTIONS, Assignment, Course, options_of, read_notebook

HERE = Path(__file__).parent
THEME = HERE / "theme"
SURPRISES = "torch-attention.md"  # the one page of docs/ that learners read, too
# The list of the problem sheets beside the first notebook; it leads to them, so no other list has them.
SHEETS, ORPHAN = "problem_sheets.md", "---\norphan: true\n---\n\n"
LINK_TO_CODE = re.compile(r"\[([^]]+)\]\(\.\./[^)]+\)")  # from docs/ to a file that the site does not have
OURS = "_static/scrollers.js"  # a folder with this file is a site made here, and may be replaced
ADVICE = "Fix the lesson's source and run `make build`; or, where one is named, the docstring."
# "After the core path you can write ...": the sentence that says what a lesson is for.
PROMISE = re.compile(r"After the core path you can\b(.*?[.!?])(?=\s|$)")
FIRST_SLIDER = ("02_scaling", "sharpening")  # the lesson and cell of the slider on the first page
# The lesson's own page says what the picture shows.
PICTURE = '<img src="front/{name}" alt="The first picture of the lesson" loading="lazy">'
SETTING = """
```{{confval}} c.{section}.{name}
:type: {type}
:default: `{default!r}`

{help}
```
"""


def build_site(course: Course, folder: Path, console: Console) -> Path:
    """Write every lesson's page into `folder` in place of an earlier site; returns the first page.

    What is there stays until the new site is whole. CourseError where it cannot be made.
    """
    # Python 3.11 makes a temporary folder's name no more absolute than it was given.
    folder = folder.absolute()
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
    return folder / "index.html"


def _prepare(course: Course, work: Path, console: Console) -> None:
    """Write Sphinx's sources: pages into `pages/`, and into `beside/` what goes next to them."""
    lessons, pages = course.choose("*"), dict[str, Page]()
    for lesson in track(lessons, "Pages and sliders", console=console, transient=True):
        page = pages[lesson.folder] = page_of(lesson)
        for kind in ("pages", "beside"):
            (work / kind / lesson.folder).mkdir(parents=True)
        nbformat.write(page.notebook, work / "pages" / lesson.folder / f"{lesson.name}.ipynb")
        for name, content in page.files.items():
            (work / "beside" / lesson.folder / name).write_bytes(content)
        for sheet in lesson.release_path.parent.glob("*.md"):
            if sheet.name != SURPRISES:
                mark = "" if sheet.name == SHEETS else ORPHAN
                (work / "pages" / lesson.folder / sheet.name).write_text(
                    mark + sheet.read_text("utf-8"), "utf-8"
                )
    (work / "pages/index.md").write_text(front_page(lessons, pages), encoding="utf-8")
    (work / "beside/front").mkdir()
    for folder, page in pages.items():
        if picture := _first_picture(page):
            (work / f"beside/front/{folder}.png").write_bytes(picture)
    (work / "pages/reference").mkdir()
    for frame in (HERE / "reference").glob("*.md"):
        text = Template(frame.read_text("utf-8"))
        if "$content" in text.template:
            text = Template(text.substitute(content=_generated(frame.stem)))
        (work / "pages/reference" / frame.name).write_text(text.template, encoding="utf-8")
    surprises = LINK_TO_CODE.sub(r"\1", (course.root / "docs" / SURPRISES).read_text("utf-8"))
    (work / "pages/reference" / SURPRISES).write_text(surprises, encoding="utf-8")


def front_page(lessons: Sequence[Assignment], pages: Mapping[str, Page] | None = None) -> str:
    """Return the first page in Markdown, with an entry for each lesson in its own words.

    From the lessons' `pages` it takes their first pictures, and a slider to play with.
    """
    pages = pages or {}
    pictures = {
        folder: PICTURE.format(name=f"{folder}.png") for folder in pages if _first_picture(pages[folder])
    }
    addresses = [f"{lesson.folder}/{lesson.name}.ipynb" for lesson in lessons]
    sheets = [f"{x.folder}/{SHEETS}" for x in lessons if (x.release_path.parent / SHEETS).exists()]
    contents = "\n".join([*addresses, *sheets, "reference/index.md"])
    return Template((HERE / "front_page.md").read_text("utf-8")).substitute(
        lessons="\n".join(
            _entry(lesson, address, pictures.get(lesson.folder, ""))
            for lesson, address in zip(lessons, addresses, strict=True)
        ),
        slider=_slider(pages),
        first=addresses[0],
        hosts=paragraph(repository(lessons[0].course.root)),
        contents=f"```{{toctree}}\n:hidden:\n\n{contents}\n```",
    )


def _first_picture(page: Page) -> bytes:
    """Return the first picture of a page; empty where it has none."""
    outputs = (output for cell in page.notebook.cells for output in cell.get("outputs", []))
    pictures = (output.data["image/png"] for output in outputs if "image/png" in output.get("data", {}))
    return base64.b64decode(next(pictures, ""))


def _slider(pages: Mapping[str, Page]) -> str:
    """Return one lesson's slider as HTML without a blank line, its pictures named from the first page."""
    folder, cell_id = FIRST_SLIDER
    cells = pages[folder].notebook.cells if folder in pages else []
    shown = [
        output.data["text/html"] for cell in cells if cell.get("id") == cell_id for output in cell.outputs
    ]
    return "\n".join(shown).replace('src="', f'src="{folder}/')


def _entry(lesson: Assignment, address: str, picture: str) -> str:
    """Write the title, how long it takes, and what one can do afterwards, beside a picture."""
    title, *paragraphs = read_notebook(lesson.source_path).cells[0].source.split("\n\n")
    text = " ".join(re.sub(r"(?m)^> ?|\*\*", "", " ".join(paragraphs)).split())
    minutes = re.search(r"(\d+ to )?\d+ minutes", text)
    length = f", {'' if minutes[1] else 'about '}{minutes[0]}" if minutes else ""
    promise = PROMISE.search(text)
    sentence = f"You can{promise[1]}" if promise else re.split(r"(?<=[.!?])\s", text)[0]
    return f"- {picture}**[{title.lstrip('# ')}]({address})**{length}. {sentence}"


def _generated(page: str) -> str:
    """Return what a page of the reference takes from the code: settings, or the help of a command."""
    if page == "settings":
        return "\n".join(_settings())
    module = f"{page.replace('-', '_')}.cli"
    command = [sys.executable, "-m", "typer", module, "utils", "docs", "--name", page]
    written = subprocess.run(command, capture_output=True, text=True)
    if written.returncode != 0:
        reason = (written.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CourseError(f"The help of {page} cannot be written down: {reason}. Try `{page} --help`.")
    return written.stdout.partition("\n")[2]  # its title is the page's own


def _settings() -> Iterator[str]:
    for section in SECTIONS:
        options = options_of(section)
        if options:
            yield f"## {(section.__doc__ or section.config_name).rstrip('.')}\n"
        for name, trait in options.items():
            words = {"type": trait.info(), "default": trait.default(), "help": trait.help}
            yield SETTING.format(section=section.config_name, name=name, **words)


def run_sphinx(work: Path, address: str = "") -> None:
    """Make `site/` of `pages/` in the folder `work`; CourseError at the first warning.

    Every page links to the code at `address`, where one is given.
    """
    warnings = io.StringIO()
    link = {"name": "Code", "url": address, "html": "Code", "class": ""}
    # No button for an editor: the sources of these pages are made, and thrown away.
    theme = {"top_of_page_buttons": [], "footer_icons": [link] if address else []}
    try:
        with patch_docutils(THEME), docutils_namespace():
            sphinx = Sphinx(
                srcdir=work / "pages",
                confdir=THEME,
                outdir=work / "site",
                doctreedir=work / "doctrees",
                buildername="html",
                confoverrides={"html_extra_path": [str(work / "beside")], "html_theme_options": theme},
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
