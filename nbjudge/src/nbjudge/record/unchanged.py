"""Whether what was handed in is what was graded: its content decides, not its times."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from nbjudge.record.unfinished import recorded_digest
from nbjudge.submission.files import Folder
from nbjudge.submission.folder import read_handed_in


def is_same_content(submitted: Folder, graded: Path, notebooks: Collection[str]) -> bool | None:
    """Compare a submission with the digest that was recorded when it was graded.

    Parameters
    ----------
    submitted
        The submission's folder.
    graded
        The folder of its graded notebooks.
    notebooks
        The file names of the assignment's notebooks.

    Returns
    -------
    bool or None
        None if a graded notebook records no digest: an earlier version graded it.

    Raises
    ------
    OSError
        If the submission cannot be read.
    """
    recorded = {recorded_digest(graded / name) for name in notebooks}
    if "" in recorded:
        return None
    return recorded == {read_handed_in(submitted, notebooks).digest}
