"""`pytest tests/cases --cases-dir DIR` runs every case of a folder; without the option only the runner itself is tested."""

from __future__ import annotations

from pathlib import Path

import pytest

OPTION = "--cases-dir"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="DIR", default=None, help="a folder of cases from the field (JSON files)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without a folder there are no cases, and nothing to say about them."""
    without = config.getoption(OPTION, default=None) is None
    return True if without and collection_path.name == "test_cases.py" else None
