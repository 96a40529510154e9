"""The folders of the installed skills, changed so that a crash leaves the old skill or the new one, never a half.

A change is prepared in `.staging/<name>/new`; the folder that it takes the place of waits in `.staging/<name>/old` until
the index is saved. What a crash leaves there tells which of the two counts. Call all of it under the store's lock, which
is why whatever stands in `.staging` when the lock is taken is a leftover.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ...graph.errors import TreadleError
from ..disk import Disk
from .folder import contents
from .package import content_hash

_NEW, _OLD, _BACK = "new", "old", "back"


class SkillFolders:
    """Every method raises OSError as the system says it."""

    def __init__(self, root: Path, disk: Disk) -> None:
        self.installed = root / "installed"
        self.staging = root / ".staging"
        self._disk = disk

    def names(self) -> list[str]:
        """Of all that stands among the installed skills, sorted; files and links too."""
        if not self.installed.is_dir():
            return []
        return sorted(path.name for path in self.installed.iterdir() if not path.name.startswith("."))

    def folder(self, name: str) -> Path:
        return self.installed / name

    def is_there(self, name: str) -> bool:
        """A real folder: a link is none."""
        return self.folder(name).is_dir() and not self.folder(name).is_symlink()

    @contextmanager
    def changed(self, name: str, files: Mapping[str, bytes] | None) -> Generator[None]:
        """The skill's folder holds these files (None: it is gone) while the index is saved in the block.

        If anything fails, in here or in the block, the folder is as it was before.
        """
        place, target = self.staging / name, self.folder(name)
        aside = placed = False
        try:
            for path, data in (files or {}).items():
                self._disk.replace(place / _NEW / path, data)
            if target.exists() or target.is_symlink():
                self._disk.move(target, place / _OLD)
                aside = True
            if files is not None:
                self._disk.move(place / _NEW, target)
                placed = True
            yield
        except BaseException:
            self._undo(name, placed=placed, aside=aside)
            raise
        with suppress(OSError):  # the change is made; what stays behind is swept before the next one
            self._clear(place)

    def has_leftovers(self) -> bool:
        return self.staging.is_dir() and any(self.staging.iterdir())

    def sweep(self, hashes: Mapping[str, str]) -> dict[str, str]:
        """Undo what a crash cut off, clear `.staging`, and say of which skills; `hashes` are those of the index."""
        told: dict[str, str] = {}
        for place in sorted(self.staging.iterdir()) if self.staging.is_dir() else []:
            name = place.name
            if (place / _OLD).exists() and self._old_counts(name, hashes.get(name)):
                self._undo(name, placed=self.folder(name).exists(), aside=True)
                told[name] = "a change that was cut off is undone"
            else:
                self._clear(place)
        return told

    def _old_counts(self, name: str, indexed: str | None) -> bool:
        """Whether a change was cut off before the index told of it."""
        if not self.folder(name).exists():  # where nothing new waits, it was to be deleted
            return indexed is not None or (self.staging / name / _NEW).exists()
        return self._hash(self.folder(name)) != indexed and self._hash(self.staging / name / _OLD) == indexed

    def _hash(self, folder: Path) -> str | None:
        try:
            return content_hash(contents(folder, self._disk))
        except TreadleError:  # changed by hand into what is no skill's
            return None

    def _undo(self, name: str, *, placed: bool, aside: bool) -> None:
        place, target = self.staging / name, self.folder(name)
        if placed:
            self._disk.move(target, place / _BACK)
        if aside:
            self._disk.move(place / _OLD, target)
        self._clear(place)

    def _clear(self, place: Path) -> None:
        self._disk.remove(place)
        with suppress(OSError):  # not empty, or not there
            self.staging.rmdir()
