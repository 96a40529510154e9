"""The run that a fork comes from, up to the point where it leaves. It is only read, whoever drives it meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...graph.errors import InvalidData, InvalidInput, NotFound
from ...graph.events import Event, EventType
from ...graph.paths import WorkspacePath
from ...graph.status import RunStatus
from ...graph.text import sha256_bytes
from ...storage.checkpoints import CheckpointStore
from ...storage.disk import Disk
from ...storage.journal import Journal
from ...storage.runs import EVENTS, RunRecord
from ...storage.workspace import FileMissing, FolderWorkspace, IsDirectory, PathEscapes
from ..services import Services
from .fork_request import ForkRequest
from .journal_state import journal_state


@dataclass(frozen=True, slots=True)
class Origin:
    """Up to its last settled point before the asked one: what was under way there is done anew."""

    record: RunRecord
    folder: Path
    chat_folder: Path
    disk: Disk
    checkpoints: CheckpointStore
    events: tuple[Event, ...]

    @property
    def status(self) -> RunStatus:
        """Where the run stood, as these events tell it."""
        told = [event.payload["status"] for event in self.events if event.type == EventType.STATUS_CHANGED]
        return RunStatus(told[-1]) if told else RunStatus.CREATED

    def content(self, path: WorkspacePath, sha256: str) -> bytes:
        """A file of the workspace as it was; raises InvalidData where nothing holds it any more."""
        if self.checkpoints.keeps(sha256):
            return self.checkpoints.content(sha256)
        for folder in (self.folder, self.chat_folder):
            try:
                data = FolderWorkspace(folder, self.disk).read_bytes(path)
            except (FileMissing, IsDirectory, PathEscapes):
                continue
            if sha256_bytes(data) == sha256:
                return data
        raise InvalidData(
            f"{path} as it was (SHA-256 {sha256}) is kept neither by run {self.record.id} nor by its chat, so the run "
            "can't be forked there; nothing was made",
            code="agent.fork_content_missing",
        )


def origin_of(services: Services, asked: ForkRequest) -> Origin:
    """Blocking. Raises NotFound for an unknown run or checkpoint, InvalidInput for a place that no fork can begin at."""
    record = services.store.load(asked.from_run_id)
    folder, disk = services.store.folder(record), services.disk
    journal = Journal(folder / EVENTS, run_id=record.id, disk=disk, clock=services.clock, ids=services.ids)
    events = journal.read_all()
    before = events[: _place(record, events, asked)]
    point = journal_state(folder, before, disk)
    if point is None:
        raise InvalidInput(
            f"run {record.id} had not begun to write at {_named(asked)}: its first request was not assembled yet; start "
            "a new run instead",
            code="agent.fork_point_invalid",
        )
    return Origin(
        record,
        folder,
        services.store.chat_folder(record.workspace_id),
        disk,
        CheckpointStore(folder, record.id, disk, services.clock),
        tuple(before[: point.seq]),
    )


def _place(record: RunRecord, events: Sequence[Event], asked: ForkRequest) -> int:
    """The seq that was asked for."""
    if asked.at_seq is not None:
        if asked.at_seq > len(events):
            raise InvalidInput(
                f"atSeq is {asked.at_seq}, but the journal of run {record.id} has {len(events)} events",
                code="agent.fork_point_invalid",
            )
        return asked.at_seq
    for event in events:
        if event.type == EventType.CHECKPOINT_CREATED and event.payload["checkpointId"] == asked.checkpoint_id:
            return event.seq
    raise NotFound(f"run {record.id} has no checkpoint {asked.checkpoint_id}")


def _named(asked: ForkRequest) -> str:
    return f"checkpoint {asked.checkpoint_id}" if asked.at_seq is None else f"seq {asked.at_seq}"
