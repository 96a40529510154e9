"""What `chat.search` costs on a long chat: the first call, later calls, memory; beside ripgrep on the same file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from grid import markdown

from treadle.graph.jsontext import Json, dumps
from treadle.graph.profiles.resolved import default_writer, resolve
from treadle.nodes.chat_words import sought
from treadle.nodes.reads import ReadState
from treadle.nodes.tool import Answer, Bench
from treadle.nodes.tools import chat_search
from treadle.storage.chats.file import ChatFile
from treadle.storage.chats.reader import FileChatReader
from treadle.testkit.workspace import MemoryWorkspace

MESSAGES = 100_000
QUICK_MESSAGES = 3000
REPEATS = 7
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"

QUERIES: dict[str, str] = {
    "one word": "lantern",
    "three words": "the lantern harbour",
    "a word that no message has": "zyzzyva",
    "Chinese, four characters": "红色灯笼",
    "Chinese, a sentence": "港口的红色灯笼在雨夜里慢慢熄灭",
    "Chinese, two words": "灯笼 港口",
}


@dataclass(frozen=True, slots=True)
class Timed:
    """One query; milliseconds, the least of the repeats."""

    what: str
    query: str
    words: int
    """That it is looked for by."""
    hits: int
    later_ms: float
    ripgrep_ms: float | None
    """None where ripgrep is not installed."""

    @property
    def ratio(self) -> float | None:
        return None if self.ripgrep_ms is None else self.later_ms / self.ripgrep_ms


@dataclass(frozen=True, slots=True)
class Searched:
    """A chat, and what searching it cost."""

    bytes: int
    messages: int
    first_ms: float
    """The first call of a process: the file's lines are found, every message is parsed."""
    first_parsed: int
    """Lines: of every message, and again of those shown."""
    ripgrep_first_ms: float | None
    peak_bytes: int
    """Above an idle process of the same imports, after all queries."""
    timed: tuple[Timed, ...]

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def measure(path: Path, messages: int, repeats: int) -> Searched:
    """The figures of the chat file at `path`, which has so many messages."""
    peak = _peak(path, messages) - _peak(None, 0)  # before this process grows: a child's peak begins with its parent's
    absent = QUERIES["a word that no message has"]
    reader = FileChatReader(ChatFile(path))
    bench = bench_of(reader, messages)
    first_ms = _ms(lambda: search(bench, absent))
    first_parsed = reader.parsed
    timed: list[Timed] = []
    for what, query in QUERIES.items():
        answer = search(bench, query)
        later = min(_ms(partial(search, bench, query)) for _ in range(repeats))
        timed.append(
            Timed(
                what, query, len(sought(query)), len(answer.structured["hits"]), later, _ripgrep(path, query, repeats)
            )
        )
    return Searched(
        bytes=path.stat().st_size,
        messages=messages,
        first_ms=first_ms,
        first_parsed=first_parsed,
        ripgrep_first_ms=_ripgrep(path, absent, repeats),
        peak_bytes=peak,
        timed=tuple(timed),
    )


def write_chat(path: Path, messages: int) -> None:
    """About 500 bytes a message, English and Chinese in turn; the same each time."""
    dice = random.Random(4)
    words = ["".join(dice.choices(_LETTERS[: dice.randint(8, 26)], k=dice.randint(2, 9))) for _ in range(20_000)]
    words[0], words[300], words[3000] = "the", "harbour", "Lantern"
    common = list("的红色灯笼在雨夜里慢港口熄灭") + [chr(0x4E00 + number) for number in range(3000)]
    often = [1 / (place + 1) for place in range(len(words))]
    seldom = [1 / (place + 20) for place in range(len(common))]
    with path.open("wb") as file:
        file.write(dumps({"user_name": "Ada", "character_name": "Wren", "chat_metadata": {"integrity": "x"}}) + b"\n")
        for number in range(messages):
            mine = number % 2 == 1
            text = " ".join(dice.choices(words, often, k=65)) if mine else "".join(dice.choices(common, seldom, k=130))
            message: Json = {
                "name": "Ada" if mine else "Wren", "is_user": mine, "is_system": False,
                "send_date": "2025-11-23T09:00:00.000Z", "mes": text, "extra": {},
            }  # fmt: skip
            file.write(dumps(message) + b"\n")


def bench_of(reader: FileChatReader, messages: int) -> Bench:
    return Bench(MemoryWorkspace(), resolve(default_writer()), ReadState(), chat=reader, chat_messages=messages)


def search(bench: Bench, query: str) -> Answer:
    return chat_search.run({"query": query}, bench)


def tables(found: Searched) -> list[str]:
    """What was measured, as Markdown."""
    head = ("query", "looked for by", "hits shown", "later call ms", "ripgrep ms", "ratio")
    rows = [
        (
            each.what,
            f"{each.words}",
            f"{each.hits}",
            f"{each.later_ms:.1f}",
            _shown(each.ripgrep_ms),
            _shown(each.ratio),
        )
        for each in found.timed
    ]
    first = None if found.ripgrep_first_ms is None else found.first_ms / found.ripgrep_first_ms
    share = found.peak_bytes / found.bytes
    return [
        f"{found.messages:,} messages, {found.bytes / 1e6:.1f} MB.",
        f"First call: {found.first_ms:.0f} ms, {found.first_parsed:,} lines parsed; by ripgrep's time {_shown(first)}.",
        f"Memory above an idle process: {found.peak_bytes / 1e6:.0f} MB, by the file's size {share:.2f}.",
        "",
        *markdown(head, rows),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the tables or the JSON."""
    given = _parser().parse_args(arguments)
    if given.peak_of is not None:
        print(_own_peak(given.peak_of, given.messages))
        return 0
    messages = QUICK_MESSAGES if given.quick else given.messages
    with tempfile.TemporaryDirectory(dir=given.dir) as folder:
        path = Path(folder) / "chat.jsonl"
        write_chat(path, messages)
        found = measure(path, messages, 1 if given.quick else REPEATS)
    if given.json:
        machine = {"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}
        print(json.dumps({"benchmark": "chat_search", **found.to_json(), "machine": machine}, indent=2))
        return 0
    if shutil.which("rg") is None:
        print("ripgrep (rg) is not installed, so its times are left out.")
    print("\n".join(tables(found)))
    return 0


def _ripgrep(path: Path, query: str, repeats: int) -> float | None:
    """It counts the lines that hold any of the query's words; its start is in its time."""
    if shutil.which("rg") is None:
        return None
    words = [part for word in query.split() for part in ("-e", word)]
    asked = ["rg", "--count", "--ignore-case", "--fixed-strings", *words, "--", str(path)]
    return min(_ms(lambda: subprocess.run(asked, stdout=subprocess.DEVNULL, check=False)) for _ in range(repeats))


def _peak(path: Path | None, messages: int) -> int:
    """Bytes that a process of its own needs at most for every query on the chat; for none without a path."""
    asked = [sys.executable, __file__, "--peak-of", str(path or ""), "--messages", str(messages)]
    return int(subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout)


def _own_peak(path: str, messages: int) -> int:
    import resource  # there is none on Windows

    if path:
        bench = bench_of(FileChatReader(ChatFile(Path(path))), messages)
        for query in QUERIES.values():
            search(bench, query)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def _shown(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.1f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short chat, once: that it runs, not how fast")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="how many, of about 500 bytes each")
    parser.add_argument("--dir", help="where to write the chat")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--peak-of", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
