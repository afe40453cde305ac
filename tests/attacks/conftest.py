from __future__ import annotations

from collections.abc import Iterator

import pytest
from arena import VARIABLE, Arena

from attention_lab.grading.sandbox.warm_interpreter import close_warm_interpreter


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(*VARIABLE)
        yield Arena(tmp_path_factory.mktemp("numbat") / "course")
    close_warm_interpreter()
