"""What it costs to go on with long runs and to read them: each figure beside a floor of the same minute."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path

from figures import filesystem
from grid import markdown
from left_runs import leave, resumed_ms, run_folder
from work import Laps, instant_model, start_request

from treadle.engine.engine import Engine
from treadle.graph.identity import RunId, WorkspaceId, chat_ref
from treadle.graph.jsontext import Json
from treadle.graph.ports import ChatHead
from treadle.graph.status import RunStatus
from treadle.storage.disk import RealDisk
from treadle.storage.journal import read_journal
from treadle.storage.journal_index import IndexWriter, index_path
from treadle.storage.journal_lines import events_at, find_records
from treadle.storage.runs import EVENTS, RunRecord, RunStore, timestamp

_HEAD = ("what", "size", "ms", "floor", "floor ms", "ratio", "target")
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: tuple[int, ...]
    events: int
    followers: int
    followed_rounds: int
    runs: int
    repeats: int


FULL = Sizes((100, 300, 1000), 1_000_000, 1000, 300, 10_000, 5)
QUICK = Sizes((3, 6), 2000, 20, 3, 30, 1)


@dataclass(frozen=True, slots=True)
class Beside:
    """A figure and its floor; times are milliseconds, the least of some repeats."""

    what: str
    size: int
    ms: float
    floor: str
    floor_ms: float
    target: str = "-"

    @property
    def ratio(self) -> float:
        return self.ms / self.floor_ms

    def row(self) -> tuple[str, ...]:
        return (
            self.what, f"{self.size:,}", f"{self.ms:.2f}", self.floor, f"{self.floor_ms:.2f}", f"{self.ratio:.2f}",
            self.target,
        )  # fmt: skip

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "ratio": self.ratio}


def resume_figures(folder: Path, sizes: Sizes) -> list[Beside]:
    """Resumes of runs of several lengths, beside a plain reading of the files that a resume needs."""
    return asyncio.run(_resume_figures(folder, sizes))


def page_figures(folder: Path, sizes: Sizes) -> list[Beside]:
    """A page from the middle, and the last one, beside two tools that look for it and a reading of the whole."""
    path = folder / EVENTS
    _write_journal(path, sizes.events)
    middle = sizes.events // 2
    sed = ["sed", "-n", f"{middle + 1},{middle + _PAGE}p;{middle + _PAGE}q", str(path)]
    tail = ["tail", "-n", str(_PAGE), str(path)]
    least = _least_of(4 * sizes.repeats)
    whole = _least_of(sizes.repeats)
    page = least(lambda: read_journal(path, after_seq=middle))
    found = [
        Beside("page from the middle", sizes.events, page, "sed", whole(lambda: _run(sed))),
        Beside("page from the middle", sizes.events, page, "reading it whole", whole(lambda: _read_whole(path, middle))),
        Beside(
            "last page", sizes.events, least(lambda: read_journal(path, before_seq=2 * sizes.events)),
            "tail", least(lambda: _run(tail)),
        ),
    ]  # fmt: skip
    index_path(path).unlink()
    scanned = whole(lambda: read_journal(path, after_seq=middle))
    return [*found, Beside("page from the middle, index lost", sizes.events, scanned, "sed", found[0].floor_ms)]


def follower_figures(folder: Path, sizes: Sizes) -> list[Beside]:
    """A round that many follow, beside one that one follows.

    The mean: many are woken at longer intervals than one, so most rounds of a run see nothing of them.
    """
    rounds = [
        min(asyncio.run(_followed(folder / f"{count}-{repeat}", sizes, count)) for repeat in range(sizes.repeats))
        for count in (1, sizes.followers)
    ]
    return [Beside("round with followers", sizes.followers, rounds[1], "with one", rounds[0])]


def list_runs_figures(folder: Path, sizes: Sizes = FULL) -> list[Beside]:
    """The newest 50 of many runs, once they have been listed before, beside a plain reading of the index."""
    store = RunStore(folder, RealDisk())
    for number in range(sizes.runs):
        store.save(_record(number))
    index = store.root / "index" / "runs"

    async def listed() -> float:
        async with Engine(folder, None) as engine:
            await engine.list_runs(limit=50)
            times: list[float] = []
            for _ in range(sizes.repeats):
                began = time.perf_counter()
                await engine.list_runs(limit=50)
                times.append((time.perf_counter() - began) * 1e3)
            return min(times)

    plain = _least_of(sizes.repeats)(lambda: [path.read_bytes() for path in index.glob("*.json")])
    return [Beside("list_runs, warm", sizes.runs, asyncio.run(listed()), "reading the index", plain, "150 ms")]


PARTS: dict[str, Callable[[Path, Sizes], list[Beside]]] = {
    "resume": resume_figures,
    "pages": page_figures,
    "followers": follower_figures,
    "list_runs": list_runs_figures,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table or the JSON."""
    given = _parser().parse_args(arguments)
    found: list[Beside] = []
    load = os.getloadavg()[0]
    for part in given.part or PARTS:
        folder = Path(tempfile.mkdtemp(prefix="treadle-durability-", dir=given.dir))
        try:
            found += PARTS[part](folder, QUICK if given.quick else FULL)
        finally:
            shutil.rmtree(folder)
    machine = {
        "python": platform.python_version(), "cores": os.cpu_count(), "load": [round(load, 2), round(os.getloadavg()[0], 2)],
        "filesystem": filesystem(given.dir or Path(tempfile.gettempdir())),
    }  # fmt: skip
    told = {"benchmark": "durability", "machine": machine, "figures": [each.to_json() for each in found]}
    print(json.dumps(told, indent=2) if given.json else "\n".join(markdown(_HEAD, [each.row() for each in found])))
    return 0


async def _resume_figures(folder: Path, sizes: Sizes) -> list[Beside]:
    found: list[Beside] = []
    for rounds in sizes.rounds:
        root = folder / str(rounds)
        run_id = await leave(root, rounds)
        times = [await resumed_ms(root, run_id) for _ in range(sizes.repeats)]
        plain = _least_of(sizes.repeats)(partial(_read_plainly, run_folder(root, run_id)))
        found.append(Beside("resume", rounds, min(times), "reading its files", plain))
    target = f"300 ms; by the shortest's rounds {found[-1].ms / found[0].ms * sizes.rounds[0] / sizes.rounds[-1]:.2f}"
    return [*found[:-1], replace(found[-1], target=target)]


def _read_plainly(folder: Path) -> int:
    files = [folder / EVENTS, *(folder / "model-responses").iterdir(), *(folder / "tool-results").iterdir()]
    return sum(len(file.read_bytes()) for file in files)


async def _followed(root: Path, sizes: Sizes, followers: int) -> float:
    laps = Laps()
    rounds = sizes.followed_rounds
    async with Engine(root, None, transport=instant_model(rounds, laps), wire_log="off") as engine:
        handle = await engine.start_run_with_prompt_snapshot(start_request(rounds))
        following = [asyncio.ensure_future(_count(engine, handle.run_id)) for _ in range(followers)]
        await engine.wait(handle.run_id)
        counts = set(await asyncio.gather(*following))
    if len(counts) != 1:
        raise SystemExit(f"followers of one run got {sorted(counts)} events")
    return (laps.wall[-1] - laps.wall[0]) / rounds * 1e3


async def _count(engine: Engine, run_id: str) -> int:
    seen = 0
    async for event in engine.subscribe(run_id):
        seen += 1
        if event.seq != seen:
            raise SystemExit(f"event {event.seq} came as number {seen}")
    return seen


def _write_journal(path: Path, count: int) -> None:
    record = (
        '{"seq":%d,"id":"evt_%032x","runId":"run_1","timestamp":"2026-01-01T00:00:00.250Z","level":"info",'
        '"type":"status_changed","payload":{"status":"calling_model"}}\n'
    )
    lines = [(record % (seq, seq)).encode() for seq in range(1, count + 1)]
    path.write_bytes(b"".join(lines))
    IndexWriter(path, RealDisk()).keep([0, *accumulate(map(len, lines[:-1]))])


def _read_whole(path: Path, middle: int) -> None:
    data = path.read_bytes()
    events_at(data, find_records(data)[middle : middle + _PAGE], seq=middle + 1)


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def _least_of(repeats: int) -> Callable[[Callable[[], object]], float]:
    """How many milliseconds something takes at its best."""

    def least(work: Callable[[], object]) -> float:
        times: list[float] = []
        for _ in range(repeats):
            began = time.perf_counter()
            work()
            times.append((time.perf_counter() - began) * 1e3)
        return min(times)

    return least


def _record(number: int) -> RunRecord:
    created = timestamp(1_767_225_600 + number)
    return RunRecord(
        id=RunId(f"run_{number:05}"),
        workspace_id=WorkspaceId(f"chat_{number % 50:016x}"),
        stable_chat_id=f"chat-{number % 50}",
        chat_ref=chat_ref({"kind": "character", "characterId": "Wren", "fileName": f"chat-{number % 50}"}),
        generation_type="normal",
        profile_id="default-writer",
        presentation="foreground",
        status=RunStatus.COMPLETED,
        created_at=created,
        updated_at=created,
        input_sha256="0" * 64,
        chat_head=ChatHead(0, None),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this; may be repeated")
    parser.add_argument("--dir", type=Path, help="where to write (default: the system's temporary directory)")
    parser.add_argument("--quick", action="store_true", help="that it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
