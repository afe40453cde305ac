"""Reading notebooks that the course itself has made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nbjudge.errors import CourseError

if TYPE_CHECKING:
    from nbformat import NotebookNode


def read_notebook(path: Path) -> NotebookNode:
    """A notebook of the course's own; CourseError if it is none."""
    import nbformat  # takes two seconds, which the tutor can do without

    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except Exception as error:  # a file can fail to be a notebook in many ways
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CourseError(
            f"{path} cannot be read as a notebook ({reason[:200]}): mend it or restore it."
        ) from error
    return notebook
