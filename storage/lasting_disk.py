"""A disk whose every change outlasts a power loss once it is made: what is written is on the platter, and so is its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from .disk import Disk, missing_folders, sync_file, sync_folder

Durability = Literal["process", "power"]
"""What a change must outlast: the death of the process, or a loss of power."""

DURABILITIES: tuple[Durability, ...] = get_args(Durability)

Sync = Callable[[Path], None]


class LastingDisk:
    """Passes everything on to `inner`; asked at the first change whether changes are to outlast a power loss."""

    def __init__(
        self, inner: Disk, wanted: Callable[[], bool], *, sync_folder: Sync = sync_folder, sync_file: Sync = sync_file
    ) -> None:
        self._inner = inner
        self._wanted = wanted
        self._sync_folder = sync_folder
        self._sync_file = sync_file

    @cached_property
    def _lasts(self) -> bool:
        return self._wanted()

    def read(self, path: Path) -> bytes:
        return self._inner.read(path)

    def read_range(self, path: Path, start: int, size: int) -> bytes:
        return self._inner.read_range(path, start, size)

    def read_plain(self, path: Path) -> bytes:
        return self._inner.read_plain(path)

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._inner.replace(path, data, durable=durable or self._lasts)

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._inner.append(path, data, durable=durable or self._lasts)

    def truncate(self, path: Path, size: int) -> None:
        self._inner.truncate(path, size)
        if self._lasts:
            self._sync_file(path)

    def make_folder(self, path: Path) -> None:
        made = missing_folders(path) if self._lasts else []
        self._inner.make_folder(path)
        for folder in made:
            self._sync_folder(folder.parent)

    def copy(self, source: Path, target: Path) -> None:
        if self._lasts:
            self._inner.replace(target, self._inner.read(source), durable=True)
        else:
            self._inner.copy(source, target)

    def move(self, source: Path, target: Path) -> None:
        made = missing_folders(target.parent) if self._lasts else []
        self._inner.move(source, target)
        if self._lasts:
            for folder in {source.parent, target.parent, *(each.parent for each in made)}:
                self._sync_folder(folder)

    def remove(self, path: Path) -> None:
        was_there = self._lasts and path.parent.is_dir()
        self._inner.remove(path)
        if was_there:
            self._sync_folder(path.parent)
