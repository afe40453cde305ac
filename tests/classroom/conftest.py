import pytest
from classroom_lab import classroom_of


@pytest.fixture
def classroom(tmp_path):
    with classroom_of(tmp_path) as service:
        yield service
