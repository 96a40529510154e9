"""What the gateway costs: requests against a plain join of their bytes, answers against a plain parse, in five formats.

With libraries beside it, where they are installed: their time for the same work, and what of an answer they send back.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence

from costs import FULL, QUICK, Cost, decode_costs, encode_costs
from grid import markdown
from libraries import LIBRARIES, fidelity, missing, replays, timings

from treadle.graph.jsontext import Json


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the tables or the JSON."""
    given = _parser().parse_args(arguments)
    size = QUICK if given.quick else FULL
    load = [os.getloadavg()[0]]
    figures: dict[str, Json] = {"benchmark": "gateway"}
    encoded, decoded = encode_costs(size), decode_costs(size)
    figures |= {"encode": [cost.to_json() for cost in encoded], "decode": [cost.to_json() for cost in decoded]}
    shown = ["## Encode", *_encode_table(encoded), "", "## Decode", *_decode_table(decoded)]
    absent = missing(LIBRARIES) if given.with_libraries else [library.name for library in LIBRARIES]
    if given.with_libraries:
        shown += ["", *(f"not installed, so left out: {name}" for name in absent)]
        timed = timings(size, absent)
        figures |= {"missing": absent, "libraries": [each.to_json() for each in timed]}
        shown += ["", "## Libraries", *markdown(timed[0].HEAD, [each.row() for each in timed])]
    found = replays(absent)
    figures["fidelity"] = [each.to_json() for each in found]
    shown += ["", "## Replay", *fidelity(found)]
    load.append(os.getloadavg()[0])
    figures["machine"] = {"python": platform.python_version(), "cores": os.cpu_count(), "load": load}
    print(json.dumps(figures, indent=2) if given.json else "\n".join(shown))
    return 0


def _encode_table(costs: Sequence[Cost]) -> list[str]:
    head = ("format", "bytes", "pieces", "join ms", "gateway ms", "ratio")
    return markdown(head, [(*_plain(cost), f"{cost.ratio:.1f}") for cost in costs])


def _decode_table(costs: Sequence[Cost]) -> list[str]:
    head = ("format", "answer", "bytes", "calls", "orjson ms", "gateway ms", "ratio", "by parsing arguments too")
    rows: list[tuple[str, ...]] = []
    for cost in costs:
        parsed = "" if cost.parsed_ms is None else f"{cost.ms / cost.parsed_ms:.1f}"
        name, *rest = _plain(cost)
        rows.append((name, cost.what, *rest, f"{cost.ratio:.1f}", parsed))
    return markdown(head, rows)


def _plain(cost: Cost) -> tuple[str, ...]:
    return cost.format, f"{cost.bytes:,}", f"{cost.items:,}", f"{cost.floor_ms:.3f}", f"{cost.ms:.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, twice: that it runs, not how fast")
    parser.add_argument(
        "--with-libraries", action="store_true", help="those of benchmarks/libraries.txt too, as far as installed"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
