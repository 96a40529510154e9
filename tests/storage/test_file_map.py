"""The workspace as a journal tells it."""

from __future__ import annotations

from treadle.graph.events import Event, EventType
from treadle.graph.jsontext import Json
from treadle.storage.checkpoints import Checkpoint, FileStamp
from treadle.storage.file_map import files_after
from treadle.storage.persist_records import PersistSnapshot

from .workspace_contract import at

LENT = PersistSnapshot(None, (FileStamp(at("persist/notes.md"), "n0", 1),))
KEPT = {
    "cp_000001": ("output/main.md", "m1"),
    "cp_000002": ("persist/notes.md", "n1"),
    "cp_000003": ("output/main.md", "m2"),
}


def load(identifier: str) -> Checkpoint:
    path, sha256 = KEPT[identifier]
    return Checkpoint(identifier, 1, "run_1", "", "", 1, (FileStamp(at(path), sha256, 1),))


def told(kind: EventType, payload: Json = None) -> Event:
    return Event(1, "evt", "run_1", "", "info", kind, payload)


def made(identifier: str) -> Event:
    return told(EventType.CHECKPOINT_CREATED, {"checkpointId": identifier})


def test_before_the_first_checkpoint_there_is_what_the_chat_lent() -> None:
    assert files_after(LENT, [told(EventType.RUN_CREATED)], load) == {"persist/notes.md": "n0"}


def test_each_checkpoint_changes_the_files_it_is_of() -> None:
    written = told(EventType.WORKSPACE_FILE_WRITTEN, {"path": "output/other.md"})  # not kept yet, so not there yet

    assert files_after(LENT, [made("cp_000001"), made("cp_000002"), made("cp_000003"), written], load) == {
        "output/main.md": "m2",
        "persist/notes.md": "n1",
    }
