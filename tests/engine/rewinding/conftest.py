"""Every test has a stage of its own."""

from pathlib import Path

import pytest

from ...scenarios.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
