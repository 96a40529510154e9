"""The page on durability says of cancels what runs do."""

from __future__ import annotations

import re
from pathlib import Path

from .scenarios.cancels import TAILS

PAGE = (Path(__file__).parents[1] / "docs" / "durability.md").read_text("utf-8")


def test_the_table_of_cancels_is_what_is_written() -> None:
    section = PAGE.split("## Cancelling", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| ([^|`]+) \| (`[^|]+) \|$", section, re.MULTILINE)
    told = {f"cancel_{when.replace(' ', '_')}": events.replace("`", "") for when, events in rows}

    assert told == TAILS
