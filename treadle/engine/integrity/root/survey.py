"""Where things stand below a data root: its runs with who drives them, found by their folders. Blocking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ....graph.errors import InvalidData
from ....storage.database_glance import Glance, glance
from ....storage.runs import DATABASE
from ...services import Services

OLD_SECONDS = 3600.0
"""What is younger may be somebody's work that is under way."""


@dataclass(frozen=True, slots=True)
class RunPlace:
    """One folder of a run."""

    run_id: str
    folder: Path
    database: Glance | InvalidData | None
    is_live: bool
    """Somebody drives the run."""


class Survey:
    """One look at a data root: what it names is found once."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.root = services.data_root
        self.tree = services.store.root

    @cached_property
    def chats(self) -> tuple[Path, ...]:
        return tuple(_folders(self.tree / "chats"))

    @cached_property
    def runs(self) -> tuple[RunPlace, ...]:
        return tuple(self._place(folder) for chat in self.chats for folder in _folders(chat / "runs"))

    @cached_property
    def run_ids(self) -> frozenset[str]:
        return frozenset(place.run_id for place in self.runs)

    @cached_property
    def live(self) -> frozenset[Path]:
        """The folders of the runs that somebody drives."""
        return frozenset(place.folder for place in self.runs if place.is_live)

    def named(self, path: Path) -> str:
        """The path as it is told: from the data root on."""
        return path.relative_to(self.root).as_posix()

    def is_old(self, path: Path) -> bool:
        try:
            return self.services.clock.now() - path.stat().st_mtime > OLD_SECONDS
        except FileNotFoundError:
            return False

    def _place(self, folder: Path) -> RunPlace:
        try:
            seen = glance(folder / DATABASE, folder.name, self.services.clock)
        except InvalidData as damaged:
            return RunPlace(folder.name, folder, damaged, is_live=False)
        return RunPlace(folder.name, folder, seen, is_live=seen is not None and seen.is_live)


def _folders(parent: Path) -> Iterator[Path]:
    if parent.is_dir():
        yield from sorted(entry for entry in parent.iterdir() if entry.is_dir() and not entry.is_symlink())
