"""What the tools cost, part by part, each in a process of its own: its memory is its own, and so is its first call."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from treadle.graph.jsontext import Json

PARTS: dict[str, str] = {
    "chat_search": "Searching a chat of 50 MB",
    "file_search": "Searching 5,000 files",
    "argument_check": "Checking the arguments of a call",
}
"""By script, the heading of what it measures."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts in turn, and print their tables or their JSON; ends with 1 where one of them fails."""
    given = _parser().parse_args(arguments)
    options = [f"--{option}" for option in ("quick", "json") if getattr(given, option)]
    told: dict[str, Json] = {}
    for part in given.part or PARTS:
        done = subprocess.run([sys.executable, _script(part), *options], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            return 1
        told[part] = json.loads(done.stdout) if given.json else done.stdout
        if not given.json:
            print(f"## {PARTS[part]}\n\n{done.stdout}", flush=True)
    if given.json:
        print(json.dumps(told, indent=2))
    return 0


def _script(part: str) -> str:
    return str(Path(__file__).with_name(f"{part}.py"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; may be repeated")
    parser.add_argument("--quick", action="store_true", help="that it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
