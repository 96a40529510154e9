"""What a run's folder tells of its past, for any process, whoever drives the run. Blocking; nothing is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from ...graph.errors import InvalidData, NotFound
from ...graph.events import Event, EventType
from ...graph.jsontext import loads
from ...storage.checkpoints import Checkpoint, CheckpointStore
from ...storage.contents import Contents
from ...storage.disk import storage_failed
from ...storage.file_map import FileMap, files_after
from ...storage.journal import Journal
from ...storage.persist_records import SNAPSHOT, PersistSnapshot, persist_snapshot
from ...storage.runs import EVENTS, RunRecord
from ...storage.workspace import FolderWorkspace
from ..services import Services

_NUMBER = re.compile(r"(?:cp_)?0*(\d{1,18})")


@dataclass(frozen=True)
class Past:
    """One run as it is on disk now."""

    services: Services
    record: RunRecord

    @cached_property
    def folder(self) -> Path:
        return self.services.store.folder(self.record)

    @cached_property
    def workspace(self) -> FolderWorkspace:
        return FolderWorkspace(self.folder, self.services.disk)

    @cached_property
    def checkpoints(self) -> CheckpointStore:
        return CheckpointStore(self.folder, self.record.id, self.services.disk, self.services.clock)

    @cached_property
    def events(self) -> list[Event]:
        """The journal as it was when it was first asked for; a line that is being written is left out."""
        services = self.services
        path = self.folder / EVENTS
        return Journal(
            path, run_id=self.record.id, disk=services.disk, clock=services.clock, ids=services.ids
        ).read_all()

    @cached_property
    def checkpoint_ids(self) -> list[str]:
        """Of the checkpoints that the journal tells of, in order: others may be half made."""
        created = EventType.CHECKPOINT_CREATED
        return [event.payload["checkpointId"] for event in self.events if event.type == created]

    def checkpoint(self, checkpoint_id: str) -> Checkpoint:
        """Raises NotFound, naming the nearest ones, for an id that the journal does not tell of."""
        if checkpoint_id not in self.checkpoint_ids:
            raise NotFound(f"run {self.record.id} has no checkpoint {checkpoint_id!r}; {self._nearest(checkpoint_id)}")
        return self._load(checkpoint_id)

    def all_checkpoints(self) -> Iterable[Checkpoint]:
        return (self._load(each) for each in self.checkpoint_ids)

    def files_at(self, checkpoint_id: str | None) -> FileMap:
        """The files once a checkpoint was made; None: what the chat lent the run at its start. Raises as `checkpoint`."""
        if checkpoint_id is None:
            return files_after(self._lent(), (), self._load)
        self.checkpoint(checkpoint_id)
        return files_after(self._lent(), self._through(checkpoint_id), self._load)

    def files_by_journal(self) -> FileMap:
        """The files as the whole journal tells them, whatever a person may have made of them since."""
        return files_after(self._lent(), self.events, self._load)

    def contents(self) -> Contents:
        """Where what a file held then is found."""
        chat = FolderWorkspace(self.services.store.chat_folder(self.record.workspace_id), self.services.disk)
        return Contents(self.checkpoints, (self.workspace, chat))

    def _load(self, checkpoint_id: str) -> Checkpoint:
        try:
            return self.checkpoints.load(checkpoint_id)
        except NotFound as error:
            gone = f"checkpoint {checkpoint_id} of run {self.record.id} is not kept any more"
            raise NotFound(gone, code="agent.content_not_kept") from error

    def _through(self, checkpoint_id: str) -> Iterable[Event]:
        for event in self.events:
            yield event
            if event.type == EventType.CHECKPOINT_CREATED and event.payload["checkpointId"] == checkpoint_id:
                return

    def _lent(self) -> PersistSnapshot:
        try:
            return persist_snapshot(loads(self.services.disk.read(self.folder / SNAPSHOT)))
        except FileNotFoundError as error:
            if any(event.type == EventType.PERSISTENT_PROJECTION_INITIALIZED for event in self.events):
                raise InvalidData(
                    f"{SNAPSHOT} of run {self.record.id} is gone: its files are not kept any more"
                ) from error
            return PersistSnapshot(None, ())  # the run has not come so far yet
        except OSError as error:
            raise storage_failed(error, f"reading {SNAPSHOT}") from error
        except ValueError as error:
            raise InvalidData(f"{SNAPSHOT} is not JSON: {error}") from error

    def _nearest(self, wanted: str) -> str:
        known = self.checkpoint_ids
        if not known:
            return "it has none yet"
        number = _NUMBER.fullmatch(wanted.strip())
        if number is None:
            near = get_close_matches(wanted, known, n=3, cutoff=0.0)
        else:
            near = sorted(known, key=lambda each: abs(int(each.removeprefix("cp_")) - int(number[1])))[:3]
        return f"the nearest are {', '.join(near)}" if len(near) > 1 else f"its only one is {near[0]}"


def past_of(services: Services, run_id: str) -> Past:
    """Raises NotFound for an unknown run."""
    return Past(services, services.store.load(run_id))
