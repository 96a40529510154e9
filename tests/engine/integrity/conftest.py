"""One run is played for all tests; each damages a copy of its own."""

from pathlib import Path

import pytest

from .samples import Sample, sample


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return sample(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def run(whole: Sample, tmp_path: Path) -> Sample:
    return whole.copy(tmp_path / "data")
