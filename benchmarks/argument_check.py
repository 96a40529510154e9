"""What it costs to check a call's arguments against the tool's schema: each tool, one sound call and one that is refused."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from grid import markdown

from treadle.graph.errors import ToolRefused
from treadle.graph.jsontext import Json
from treadle.nodes.arguments.check import check_arguments
from treadle.nodes.registry import TOOLS

CALLS = 2000
QUICK_CALLS = 5
BATCHES = 5

_TEXT = "The lamp went out.\n" * 110
_HEAD = ("tool", "argument bytes", "first ms", "sound us", "refused us", "refused with")

SOUND: dict[str, Json] = {
    "workspace.list_files": {"path": "output", "depth": 2},
    "workspace.search_files": {"query": "lamp", "limit": 20},
    "workspace.read_file": {"path": "output/main.md", "start_line": 1, "line_count": 40},
    "workspace.write_file": {"path": "output/main.md", "content": _TEXT},
    "workspace.apply_patch": {"path": "output/main.md", "old_string": "went out", "new_string": _TEXT},
    "workspace.commit": {"path": "output/main.md", "mode": "replace"},
}


@dataclass(frozen=True, slots=True)
class Checked:
    """One tool; microseconds a call, of the fastest batch."""

    tool: str
    argument_bytes: int
    first_ms: float
    """The schema is made ready by the first call."""
    sound_us: float
    refused_us: float
    refusal: str

    def row(self) -> tuple[str, ...]:
        return (
            self.tool, f"{self.argument_bytes:,}", f"{self.first_ms:.2f}", f"{self.sound_us:.1f}",
            f"{self.refused_us:.1f}", self.refusal,
        )  # fmt: skip


def measured(calls: int) -> list[Checked]:
    found: list[Checked] = []
    for name, sound in SOUND.items():
        checked = [field for field in sound if field not in TOOLS[name].judges]
        wrong: Json = {**sound, checked[-1]: 3.5} if checked else []
        first_ms = _us(name, sound, 1) / 1e3
        found.append(
            Checked(
                tool=name,
                argument_bytes=len(json.dumps(sound)),
                first_ms=first_ms,
                sound_us=min(_us(name, sound, calls) for _ in range(BATCHES)),
                refused_us=min(_us(name, wrong, calls) for _ in range(BATCHES)),
                refusal=_refusal(name, wrong),
            )
        )
    return found


def lines(found: Sequence[Checked]) -> list[str]:
    """The figures as a Markdown table."""
    return markdown(_HEAD, [each.row() for each in found])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table or the JSON."""
    given = _parser().parse_args(arguments)
    found = measured(QUICK_CALLS if given.quick else CALLS)
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}
    figures = {"benchmark": "argument_check", "tools": [asdict(each) for each in found], "machine": machine}
    print(json.dumps(figures, indent=2) if given.json else "\n".join(lines(found)))
    return 0


def _us(name: str, arguments: Json, calls: int) -> float:
    tool = TOOLS[name]
    began = time.perf_counter()
    for _ in range(calls):
        with suppress(ToolRefused):
            check_arguments(tool, arguments)
    return (time.perf_counter() - began) * 1e6 / calls


def _refusal(name: str, arguments: Json) -> str:
    try:
        check_arguments(TOOLS[name], arguments)
    except ToolRefused as refusal:
        return refusal.message
    raise SystemExit(f"{name} takes {arguments}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few calls: that it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
