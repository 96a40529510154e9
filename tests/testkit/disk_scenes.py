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
