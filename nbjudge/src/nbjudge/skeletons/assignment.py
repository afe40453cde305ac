"""A new assignment: one notebook in its own folder, with the cells that all of the course have."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

import nbformat

from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.skeletons.templates import Form, vocabulary_of

NAME = re.compile(r"(?:(\d+)_)?([a-z]\w*)", re.ASCII)
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def new_assignment(folders: CourseFolders, folder: str, form: Form | None = None) -> Path:
    """Write an assignment's notebook, and the files beside it and beside its checks.

    Parameters
    ----------
    folders
        The folders of the course.
    folder
        The name of the new folder, such as "ps2".
    form
        The course's templates; nbjudge's own by default.

    Returns
    -------
    Path
        The notebook.

    Raises
    ------
    CourseError
        If the folder exists, or its name is not one of an assignment.
    """
    form = form or Form()
    named = NAME.fullmatch(folder)
    if named is None:
        raise CourseError(
            f"{folder!r} is no name for an assignment: write small letters, digits and _, such as ps2."
        )
    number, stem = named.groups()
    source, checks = folders.source, folders.checks / stem
    taken = [path for path in source.glob("*/*.ipynb") if path.stem == stem]
    taken += [
        path for path in (source / folder, *(checks / file for file in form.files("checks"))) if path.exists()
    ]
    if taken:
        raise CourseError(f"{taken[0]} is there already: give the assignment a name of its own.")
    title = stem.replace("_", " ").capitalize()
    values = {
        "title": title,
        "heading": f"{int(number)} · {title}" if number else title,
        "setup": vocabulary_of(folders.checks).setup,
    }
    opening, ending = form.assignment()
    notebook = nbformat.v4.new_notebook(
        cells=[cell.filled(values) for cell in (*opening, *ending)], metadata={"kernelspec": KERNEL}
    )
    (source / folder).mkdir(parents=True)
    path = source / folder / f"{stem}.ipynb"
    nbformat.write(notebook, path)
    for place, target in (("checks", checks), ("source", path.parent)):
        for file, text in form.files(place).items():
            target.mkdir(parents=True, exist_ok=True)
            (target / file).write_text(Template(text).substitute(values))
    return path
