"""What is written down about a chat's persistent files: what a run was lent, and what it gave back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..graph.errors import InvalidData
from ..graph.jsontext import Json
from ..graph.paths import WorkspacePath
from .checkpoints import FileStamp, file_stamp

SNAPSHOT = "input/persist_snapshot.json"


@dataclass(frozen=True, slots=True)
class PersistSnapshot:
    """What a run was lent; paths begin with `persist/` and are in order."""

    base_state_id: str | None
    files: tuple[FileStamp, ...]

    def to_json(self) -> dict[str, Json]:
        base = {} if self.base_state_id is None else {"baseStateId": self.base_state_id}
        return {**base, "files": [stamp.to_json() for stamp in self.files]}


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a run added or modified; there are no deletions."""

    path: WorkspacePath
    kind: Literal["added", "modified"]
    sha256: str
    bytes: int

    def announced(self) -> dict[str, Json]:
        """As events and the chat tell it: without the size."""
        return {"path": self.path, "kind": self.kind, "sha256": self.sha256}

    def to_json(self) -> dict[str, Json]:
        return {**self.announced(), "bytes": self.bytes}


@dataclass(frozen=True, slots=True)
class Promotion:
    """What a run gave back to its chat; `state_id` is the run's id."""

    state_id: str
    base_state_id: str | None
    changes: tuple[Change, ...]


def persist_snapshot(stored: Json) -> PersistSnapshot:
    """A snapshot read back; raises InvalidData."""
    try:
        return PersistSnapshot(stored.get("baseStateId"), tuple(file_stamp(each) for each in stored["files"]))
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidData(f"{SNAPSHOT} is damaged") from error


def promotion_of(manifest: Json) -> Promotion:
    """What the manifest of a state says was promoted; raises InvalidData."""
    try:
        changes = tuple(
            Change(each["path"], each["kind"], each["sha256"], each["bytes"]) for each in manifest["changes"]
        )
        return Promotion(manifest["stateId"], manifest.get("baseStateId"), changes)
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidData("the manifest of a persistent state is damaged") from error
