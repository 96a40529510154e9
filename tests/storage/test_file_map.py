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


def test_a_rollback_that_was_completed_is_followed_and_one_that_was_not_is_not() -> None:
    files: list[Json] = [
        {"path": "output/main.md", "preSha256": "m2", "postSha256": "m1"},
        {"path": "persist/notes.md", "preSha256": "by hand", "postSha256": None},
        {"path": "plan/gone.md", "preSha256": None, "postSha256": "g1"},
        {"path": "plan/by_hand.md", "preSha256": "x", "postSha256": None},
    ]
    started = told(EventType.WORKSPACE_ROLLBACK_STARTED, {"checkpointId": "cp_000001", "files": files})
    completed = told(EventType.WORKSPACE_ROLLBACK_COMPLETED, {"checkpointId": "cp_000001"})
    before = [made("cp_000001"), made("cp_000003"), started]

    assert files_after(LENT, before, load) == {"output/main.md": "m2", "persist/notes.md": "n0"}
    assert files_after(LENT, [*before, completed], load) == {"output/main.md": "m1", "plan/gone.md": "g1"}
    assert files_after(LENT, [*before, completed, made("cp_000002")], load) == {
        "output/main.md": "m1",
        "plan/gone.md": "g1",
        "persist/notes.md": "n1",
    }
