"""What a search over 5,000 files costs, beside ripgrep on the same files: `workspace.search_files` and `skill.search`.

Each tool is measured in a process of its own, its first call and later ones, and how much memory the calls took. The
files have just been written, so the system holds them in memory for both. A ripgrep is a process for each call, as it
would be for a tool that asked it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sample_texts
from grid import markdown

from treadle.engine.services import SystemClock
from treadle.graph.jsontext import Json
from treadle.graph.profiles.resolved import default_writer, resolve
from treadle.nodes.reads import ReadState
from treadle.nodes.registry import TOOLS
from treadle.nodes.tool import Answer, Bench
from treadle.storage.disk import RealDisk
from treadle.storage.skills.store import FOLDER, SkillStore
from treadle.storage.workspace import FolderWorkspace

TOOL_NAMES = ("workspace.search_files", "skill.search")
NO_RIPGREP = "ripgrep is not installed, so there is nothing to compare with (Debian: apt-get install ripgrep)"

_SKILL = "skill"
_SKILL_FILES = FOLDER / "installed" / _SKILL
_HEAD = ("tool", "query", "files", "read", "MB", "hits", "first ms", "later ms", "ripgrep ms", "ratio", "memory MB")


@dataclass(frozen=True, slots=True)
class Size:
    files: int
    read: int
    """How many of the workspace's files the tool reads: its limit."""
    calls: int
    """Of each query, beside the first."""


FULL, QUICK = Size(5000, 1000, 5), Size(60, 60, 1)


@dataclass(frozen=True, slots=True)
class Searched:
    """One query of one tool; times are milliseconds."""

    tool: str
    query: str
    files: int
    read: int
    bytes: int
    """Of the files that were read."""
    hits: int
    first_ms: float
    """The query's first call; the very first of a process is that of the first query."""
    later_ms: float
    """The least of the later calls."""
    ripgrep_ms: float | None
    """None where it is not installed."""
    memory_bytes: int
    """What the process grew by, at its peak, in all its calls so far."""

    @property
    def ratio(self) -> float | None:
        return None if self.ripgrep_ms is None else self.later_ms / self.ripgrep_ms

    def row(self) -> tuple[str, ...]:
        return (
            self.tool, self.query, f"{self.files:,}", f"{self.read:,}", f"{self.bytes / 1e6:.1f}", str(self.hits),
            f"{self.first_ms:.1f}", f"{self.later_ms:.1f}",
            "-" if self.ripgrep_ms is None else f"{self.ripgrep_ms:.1f}",
            "-" if self.ratio is None else f"{self.ratio:.1f}", f"{self.memory_bytes / 1e6:.1f}",
        )  # fmt: skip

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "ratio": self.ratio}


def measured(size: Size) -> list[Searched]:
    """Write the files, and have each tool search them in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        read = sample_texts.write(Path(folder, "output"), size.read, 1)
        sample_texts.write(Path(folder, "scratch"), size.files - size.read, 2)
        whole = sample_texts.write(Path(folder, _SKILL_FILES), size.files, 3)
        found: list[Searched] = []
        for tool, data in zip(TOOL_NAMES, (read, whole), strict=True):
            asked = [sys.executable, __file__, "--tool", tool, "--folder", folder, "--calls", str(size.calls)]
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)
            below = Path(folder, _SKILL_FILES if tool == "skill.search" else "output")
            for told in json.loads(done.stdout):
                grep = _ripgrep_ms(below, told["query"], size.calls)
                found.append(Searched(tool=tool, files=size.files, bytes=data, ripgrep_ms=grep, **told))
        return found


def lines(found: Sequence[Searched]) -> list[str]:
    """The figures as a Markdown table."""
    absent = [] if all(each.ripgrep_ms for each in found) else ["", NO_RIPGREP]
    return [*markdown(_HEAD, [each.row() for each in found]), *absent]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table or the JSON."""
    given = _parser().parse_args(arguments)
    if given.tool:
        print(json.dumps(_one_tool(given.tool, Path(given.folder), given.calls)))
        return 0
    load = [os.getloadavg()[0]]
    found = measured(QUICK if given.quick else FULL)
    load.append(os.getloadavg()[0])
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "load": load}
    figures = {"benchmark": "file_search", "searches": [each.to_json() for each in found], "machine": machine}
    print(json.dumps(figures, indent=2) if given.json else "\n".join(lines(found)))
    return 0


def _one_tool(name: str, folder: Path, calls: int) -> list[dict[str, Json]]:
    """What is measured within the process: the rest is known outside."""
    disk = RealDisk()
    store = SkillStore(folder, disk, SystemClock())
    bench = Bench(FolderWorkspace(folder, disk), resolve(default_writer()), ReadState(), skills=store)
    before = _peak_bytes()
    told: list[dict[str, Json]] = []
    for query in sample_texts.QUERIES:
        arguments = {"query": query, "name": _SKILL} if name == "skill.search" else {"query": query}
        answers, times = zip(*(_called(name, arguments, bench) for _ in range(1 + calls)), strict=True)
        found = answers[0].structured
        told.append(
            {
                "query": query, "read": found["searchedFiles"], "hits": len(found["hits"]),
                "first_ms": times[0], "later_ms": min(times[1:]), "memory_bytes": _peak_bytes() - before,
            }
        )  # fmt: skip
    return told


def _called(name: str, arguments: Json, bench: Bench) -> tuple[Answer, float]:
    """The answer, and how many milliseconds it took."""
    start = time.perf_counter()
    answer = TOOLS[name].run(arguments, bench)
    took = (time.perf_counter() - start) * 1e3
    if not isinstance(answer, Answer):
        raise SystemExit(f"{name} did not answer: {answer!r}")
    return answer, took


def _ripgrep_ms(folder: Path, query: str, calls: int) -> float | None:
    """The least of so many calls that show the same lines around every line with a word of the query."""
    program = shutil.which("rg")
    if program is None:
        return None
    words = [option for word in query.split() for option in ("--regexp", word)]
    asked = [program, "--no-config", "--no-ignore", "--fixed-strings", "--ignore-case", "--line-number", "--context=2"]
    times: list[float] = []
    for _ in range(calls):
        start = time.perf_counter()
        done = subprocess.run([*asked, *words, str(folder)], capture_output=True, check=False)
        times.append((time.perf_counter() - start) * 1e3)
        if done.returncode not in (0, 1):  # 1: nothing was found
            raise SystemExit(done.stderr.decode())
    return min(times)


def _peak_bytes() -> int:
    """Of this process alone: what `getrusage` tells on Linux is at least what its parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: bytes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few files, once: that it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--tool", choices=TOOL_NAMES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--calls", type=int, default=1, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
