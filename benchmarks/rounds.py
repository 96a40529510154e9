"""What a round costs: the engine, a hand-written loop, LangChain's agent and a bare super-step, side by side."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bare import run_bare, run_working
from figures import Figures
from floor import in_place, run_floor
from machine import run_machine
from react import run_react
from table import lines

AGENT_ROUNDS_AT_MOST = 200
"""Its checkpoints hold every message anew, so 1,000 rounds of it write some 4 GB."""


@dataclass(frozen=True, slots=True)
class Options:
    rounds: tuple[int, ...]
    repeat: int
    agent_rounds: int
    folder: Path
    keep: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table or the JSON."""
    given = _parser().parse_args(arguments)
    rounds = (6, 12) if given.quick else tuple(sorted(given.rounds))
    folder = Path(tempfile.mkdtemp(prefix="treadle-rounds-", dir=given.dir))
    options = Options(rounds, 1 if given.quick else given.repeat, given.agent_rounds, folder, given.keep)
    os.environ["LANGSMITH_TRACING"] = "false"
    try:
        figures = asyncio.run(_measure(options))
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(figures.to_json(), indent=2) if given.json else "\n".join(lines(figures)))
    return 0


async def _measure(options: Options) -> Figures:
    """Every contestant once at each length, in turn, then again: what disturbs the machine disturbs all of them."""
    figures = Figures.begin(options.folder)
    await _round_trip(options, Figures.begin(options.folder), options.rounds[0], "warm")
    for repeat in range(options.repeat):
        for rounds in options.rounds:
            await _round_trip(options, figures, rounds, str(repeat))
    figures.ended()
    return figures


async def _round_trip(options: Options, figures: Figures, rounds: int, name: str) -> None:
    folder = options.folder / f"{rounds}-{name}"
    gc.collect()
    figures.add("engine", await run_machine(folder / "engine", rounds))
    gc.collect()
    figures.add("floor", await run_floor(folder / "floor", rounds))
    gc.collect()
    figures.add("blocking", await run_floor(folder / "blocking", rounds, in_place))
    gc.collect()
    figures.add("super_step", await run_bare(2 * rounds))
    gc.collect()
    figures.add("working", await run_working(folder / "working", rounds))
    if rounds <= options.agent_rounds:
        gc.collect()
        figures.add("agent", await run_react(folder / "agent", rounds))
    if not options.keep:
        shutil.rmtree(folder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=_numbers, default=(60, 200, 1000), help="lengths, such as 60,200,1000")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each contestant at each length (default 3)")
    parser.add_argument(
        "--agent-rounds", type=int, default=AGENT_ROUNDS_AT_MOST, help="the longest run of LangChain's agent (200)"
    )
    parser.add_argument("--dir", type=Path, help="where to write (default: the system's temporary directory)")
    parser.add_argument("--quick", action="store_true", help="6 and 12 rounds, once: that it runs, not how fast")
    parser.add_argument("--keep", action="store_true", help="leave the run folders")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in text.split(","))
    if any(number < 2 for number in numbers):
        raise argparse.ArgumentTypeError("a run needs 2 rounds or more")
    return numbers


if __name__ == "__main__":
    sys.exit(main())
