"""The reference answers of a notebook, run as the notebook would run, and no more than they need.

A notebook trains and draws, which takes minutes. Here only those statements run that an answer depends on:
the statements that bind a name that it looks up, and so on, in any cell.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from nbjudge.course.loading import in_folder, without_windows
from nbjudge.course.notebooks import read_plain_cells
from nbjudge.course.python_cells import kernel_names
from nbjudge.course.statements import NotebookCode, Statement, needed_statements, notebook_code
from nbjudge.errors import CourseError

NOT_LOADED = "The reference answer `{name}` cannot be loaded: {reason}"
STOPS = "the cell “{cell}” of {path} stops with {error}. {advice}"
CHECK = "check"  # what asks the judge, which asks for the reference


class _Stopped(Exception):
    """A statement that the answer needs has stopped with an error."""

    def __init__(self, statement: Statement, error: BaseException) -> None:
        self.statement, self.error = statement, error


class Notebook:
    """A notebook whose answers are references.

    Parameters
    ----------
    path : Path
        The notebook.
    folder : Path
        Where its cells run: the folder with the data files and modules that it uses.
    advice : str
        A sentence for errors: what to do after the author has changed a cell.
    """

    def __init__(self, path: Path, folder: Path, advice: str = "") -> None:
        self.path, self._folder, self._advice = path, folder, advice
        self._cells = read_plain_cells(path)
        self._code: NotebookCode = notebook_code(self._cells, str(path))

    def load(self, name: str, called_in: Collection[str] = ()) -> Any:
        """An answer, as it is when the notebook has run as far as its graded cell.

        Only the statements run that the answer depends on. If one of them fails, all earlier cells run, as
        they do for a student, because one may have had an effect that no name shows.

        Parameters
        ----------
        name : str
            The function or class that is the answer.
        called_in : collection of str
            The ids, for nbgrader, of the graded cells that decide its points.

        Returns
        -------
        object
            The function or class.

        Raises
        ------
        CourseError
            If a cell that it needs fails or no cell defines it; the sentence names the cell and the cause.
        """
        graded = [position for position, cell in enumerate(self._cells) if cell.name in called_in]
        statements = self._code.statements
        needed = needed_statements(statements, {name}, max(graded, default=len(self._cells)))
        last = max((each.position for each in needed), default=len(self._cells))
        with in_folder(self._folder):
            try:
                return self._run((each for each in statements if each in needed), needed)[name]
            except (_Stopped, KeyError):
                others = (each for each in statements if each.position <= last and _may_run(each, needed))
            try:
                with without_windows(), contextlib.redirect_stdout(io.StringIO()):
                    return self._run(others, needed)[name]
            except _Stopped as stopped:
                raise CourseError(
                    NOT_LOADED.format(name=name, reason=self._cause(stopped))
                ) from stopped.error
            except KeyError:
                raise CourseError(NOT_LOADED.format(name=name, reason=self._nothing_defines(name))) from None

    def _run(self, statements: Iterable[Statement], needed: Collection[Statement]) -> dict[str, Any]:
        """The names that statements leave in a module of their own; errors count in needed ones only."""
        # Answer cells must know their module's name, or a class defined in one cannot be found again.
        names = vars(ModuleType(f"reference_{self.path.stem}")) | kernel_names()
        for statement in statements:
            try:
                exec(statement.code, names)
            except (Exception, SystemExit) as error:
                if statement in needed:
                    raise _Stopped(statement, error) from error
        return names

    def _cause(self, stopped: _Stopped) -> str:
        error = stopped.error
        if isinstance(error, ModuleNotFoundError):
            advice = f"Install {error.name!r} where nbjudge runs, or put its file into {self._folder}."
        elif isinstance(error, FileNotFoundError):
            advice = f"Put the file into {self._folder}: cells run in that folder."
        elif isinstance(error, NameError):
            advice = "Define the name in a cell above."
        else:
            advice = "Fix that cell."
        message = f"{type(error).__name__}: {error}"
        advice = f"{advice} {self._advice}".rstrip()
        return STOPS.format(cell=stopped.statement.cell.label, path=self.path, error=message, advice=advice)

    def _nothing_defines(self, name: str) -> str:
        sentence = f"no cell of {self.path} defines it: give the answer cell's function or class that name."
        unreadable = [f"“{cell.label}” ({error})" for cell, error in self._code.unreadable]
        if unreadable:
            sentence += f" These cells are no Python: {', '.join(unreadable)}."
        return f"{sentence} {self._advice}".rstrip()


def _may_run(statement: Statement, needed: Collection[Statement]) -> bool:
    """Whether a statement runs when all do: a test, or a question to the judge, defines no answer."""
    return statement in needed or (CHECK not in statement.reads and not statement.cell.marks.get("grade"))
