"""What was measured: times between model calls, and bytes on disk; and how repeats become one figure."""

from __future__ import annotations

import sqlite3
import statistics
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from work import Laps


@dataclass(frozen=True, slots=True)
class Disk:
    """What a run left behind."""

    bytes: int = 0
    """Of all files but the database."""
    database_bytes: int = 0
    """Of the SQLite file, after its log was folded in."""
    files: int = 0
    journal_lines: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one contestant; times are milliseconds a round."""

    rounds: int
    wall_ms: float
    """The round in the middle: half of the rounds took longer. Encoding is not in it."""
    mean_ms: float
    """All rounds together, by their number. Encoding is not in it."""
    cpu_ms: float
    """Mean, all threads. Encoding is not in it."""
    encode_ms: float
    """Mean."""
    disk: Disk

    def to_json(self) -> dict[str, object]:
        figures = asdict(self)
        disk: dict[str, float] = figures.pop("disk")
        return {
            **{name: round(value, 4) for name, value in figures.items()},
            "files": disk["files"],
            "journal_lines": disk["journal_lines"],
            "bytes_per_round": round(disk["bytes"] / self.rounds),
            "database_bytes_per_round": round(disk["database_bytes"] / self.rounds),
        }


def measured(laps: Laps, rounds: int, disk: Disk) -> Measured:
    """The figures of a run whose laps hold one mark more than it has rounds."""
    if len(laps.wall) != rounds + 1:
        raise SystemExit(f"{rounds} rounds make {rounds + 1} model calls, not {len(laps.wall)}")
    encoding = _steps(laps.encoded)
    walls = [wall - encoded for wall, encoded in zip(_steps(laps.wall), encoding, strict=True)]
    cpu = laps.cpu[-1] - laps.cpu[0] - sum(encoding)
    return Measured(
        rounds=rounds,
        wall_ms=statistics.median(walls) * 1e3,
        mean_ms=statistics.fmean(walls) * 1e3,
        cpu_ms=cpu / rounds * 1e3,
        encode_ms=statistics.fmean(encoding) * 1e3,
        disk=disk,
    )


def best(repeats: Sequence[Measured]) -> Measured:
    """The least of each time: what disturbs a run only ever adds to it. Bytes are those of the first repeat."""
    return Measured(
        rounds=repeats[0].rounds,
        wall_ms=min(each.wall_ms for each in repeats),
        mean_ms=min(each.mean_ms for each in repeats),
        cpu_ms=min(each.cpu_ms for each in repeats),
        encode_ms=min(each.encode_ms for each in repeats),
        disk=repeats[0].disk,
    )


def folder_figures(folder: Path, *, database: Path | None = None) -> Disk:
    """What lies below `folder`; the database's log is folded in first, and its bytes are told apart."""
    database_bytes = 0
    if database is not None:
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database_bytes = database.stat().st_size
    files = [path for path in folder.rglob("*") if path.is_file() and path != database]
    journal = folder / "events.jsonl"
    return Disk(
        bytes=sum(path.stat().st_size for path in files),
        database_bytes=database_bytes,
        files=len(files),
        journal_lines=journal.read_bytes().count(b"\n") if journal.exists() else 0,
    )


def _steps(marks: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise(marks)]
