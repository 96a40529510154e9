"""The offsets of every so-manieth event of a journal, in a file beside it: a help that is never trusted.

Each entry is eight bytes, little-endian: entry k (from 1) is where the record with seq k x EVERY + 1 begins. Only the
journal's driver writes it. Whoever reads by it looks whether that record stands there; an index that is missing, short,
long or wrong costs a longer scan, and never an answer.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .disk import Disk

EVERY = 128
WIDTH = 8


def index_path(journal: Path) -> Path:
    return journal.with_suffix(".index")


class IndexWriter:
    """Blocking; for the journal's driver, under the journal's lock."""

    def __init__(self, journal: Path, disk: Disk) -> None:
        self._path = index_path(journal)
        self._disk = disk
        self._seen = 0
        """Entries that were due when it was last looked at."""
        self._sound = False
        """The file holds just those."""

    def reset(self) -> None:
        """Another journal may stand there now."""
        self._seen, self._sound = 0, False

    def keep(self, starts: Sequence[int]) -> None:
        """Bring the file up to these offsets, one an event. A disk that refuses is left alone until the next entry."""
        due = max(len(starts) - 1, 0) // EVERY
        if due == self._seen:
            return
        known, self._seen = self._seen, due
        whole, self._sound = not self._sound, False
        with suppress(OSError):
            if whole:
                self._write_whole(_packed(starts, 0, due))
            else:
                self._disk.append(self._path, _packed(starts, known, due))
            self._sound = True

    def _write_whole(self, entries: bytes) -> None:
        try:
            held = self._disk.read(self._path)
        except FileNotFoundError:
            held = b""
        if held != entries:
            self._disk.replace(self._path, entries)


class IndexReader:
    """Blocking; for anybody."""

    def __init__(self, journal: Path, disk: Disk) -> None:
        self._path = index_path(journal)
        self._disk = disk

    def count(self) -> int:
        try:
            return self._path.stat().st_size // WIDTH
        except OSError:
            return 0

    def offset(self, entry: int) -> int:
        """What the entry (from 1) says; 0 where there is none."""
        try:
            held = self._disk.read_range(self._path, (entry - 1) * WIDTH, WIDTH)
        except OSError:
            return 0
        return struct.unpack("<Q", held)[0] if len(held) == WIDTH else 0


def _packed(starts: Sequence[int], known: int, due: int) -> bytes:
    offsets = [starts[entry * EVERY] for entry in range(known + 1, due + 1)]
    return struct.pack(f"<{len(offsets)}Q", *offsets)
