"""The benchmark of a cancel runs over both kinds of line; times are not looked at."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "cancelling.py"


@pytest.mark.slow
def test_the_server_sees_every_client_go() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--json"], capture_output=True, text=True, check=True, timeout=110
    )
    told = json.loads(done.stdout)

    assert [(line["line"], line["cancels"]) for line in told["lines"]] == [("HTTP", 2), ("WebSocket", 2)]
    assert all(line["floor_ms"]["median"] > 0 for line in told["lines"])
