"""Runs to be played on disks that refuse."""

from __future__ import annotations

from pathlib import Path

from treadle.engine.engine import Engine
from treadle.host.chat_folder import ChatFolderHost
from treadle.storage.disk import Disk
from treadle.testkit.disk_faults import Scene
from treadle.testkit.replies import call, calls

from ..scenarios import words
from ..scenarios.script import ByRound
from ..scenarios.stage import Stage

STEPS = (
    calls(
        call("workspace.write_file", path="output/main.md", content=words.DRAFT),
        call("workspace.apply_patch", path="output/main.md", old_string="kettle", new_string="cup"),
        call("workspace.write_file", path="persist/notes.md", content="The tide owns a cup.\n"),
        call("workspace.commit"),
    ),
    calls(
        call("workspace.write_file", path="output/coda.md", content=words.CODA),
        call("workspace.commit", path="output/coda.md", mode="append"),
        call("workspace.finish"),
    ),
)


def writing(folder: Path, disk: Disk) -> Scene:
    """Write, patch, a persistent file, two commits, finish."""
    stage = Stage(folder)
    host = ChatFolderHost(folder / "chats", clock=stage.clock, disk=disk)

    def engine() -> Engine:
        return Engine(stage.root, host, transport=ByRound(*STEPS), clock=stage.clock, ids=stage.ids, disk=disk)

    return Scene(stage.root, stage.request(), engine, (stage.chat,))


class PassingDisk:
    """Passes everything on to `inner`."""

    def __init__(self, inner: Disk) -> None:
        self._inner = inner

    def read(self, path: Path) -> bytes:
        return self._inner.read(path)

    def read_range(self, path: Path, start: int, size: int) -> bytes:
        return self._inner.read_range(path, start, size)

    def read_plain(self, path: Path) -> bytes:
        return self._inner.read_plain(path)

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._inner.replace(path, data, durable=durable)

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        self._inner.append(path, data, durable=durable)

    def truncate(self, path: Path, size: int) -> None:
        self._inner.truncate(path, size)

    def make_folder(self, path: Path) -> None:
        self._inner.make_folder(path)

    def copy(self, source: Path, target: Path) -> None:
        self._inner.copy(source, target)

    def move(self, source: Path, target: Path) -> None:
        self._inner.move(source, target)

    def remove(self, path: Path) -> None:
        self._inner.remove(path)
