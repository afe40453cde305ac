from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from arena import VARIABLE, Arena
from tiny_course import FULL, answered

from nbjudge.sandbox.fork_server_client import close_fork_server


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(*VARIABLE)
        arena = Arena(tmp_path_factory.mktemp("numbat") / "course")
        yield arena
        if arena.unfollowed:
            suspects = ", ".join(arena.unfollowed)
            with warnings.catch_warnings():  # nbgrader's own; this is no test that says so itself
                warnings.simplefilter("ignore")
                assert arena.neighbour(answered()) == FULL, f"{suspects} cost a neighbour points"
    close_fork_server()
