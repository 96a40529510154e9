"""What a check of a run looks at: the run's files, read once, and nothing of it changed. Blocking."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...graph.errors import InvalidData, NotFound, TreadleError
from ...graph.events import TERMINAL_EVENTS, Event, EventType
from ...graph.identity import segment
from ...graph.jsontext import Json, loads
from ...storage.checkpoints import Checkpoint, CheckpointStore, FileStamp
from ...storage.database_glance import Glance, glance
from ...storage.disk import storage_failed
from ...storage.persist_records import SNAPSHOT, PersistSnapshot, persist_snapshot
from ...storage.runs import DATABASE, EVENTS, RunRecord, run_record
from ..services import Services
from .journal_lines import Line, Scan, are_texts, scan
from .payloads import misfit
from .report import Finding

RECORD = "run.json"

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass
class Evidence:
    """One run as it lies on disk."""

    services: Services
    run_id: str
    folder: Path
    under_way: bool
    """Somebody drives the run."""
    database: Glance | InvalidData | None
    """None where the run has no `run.sqlite`."""
    damage: tuple[Finding, ...]
    """What is wrong with the journal's lines."""
    lines: tuple[Line, ...]
    """The events that are whole; the other checks rest on them."""
    record: RunRecord | TreadleError
    """As `run.json` has it."""
    _checkpoints: dict[str, Checkpoint] = field(default_factory=dict[str, Checkpoint])

    def of(self, *types: EventType) -> Iterator[Line]:
        """The events of these types, in their order."""
        return (line for line in self.lines if line.event.type in types)

    @property
    def events(self) -> list[Event]:
        return [line.event for line in self.lines]

    @cached_property
    def end(self) -> Line | None:
        """The terminal event."""
        return next((line for line in self.lines if line.event.type in TERMINAL_EVENTS), None)

    @cached_property
    def is_slim(self) -> bool:
        """Nothing is left of an ended run but its record and its journal: its heavy files were cleared away."""
        return self.end is not None and not any((self.folder / name).exists() for name in _HEAVY)

    def has(self, path: str) -> bool:
        return (self.folder / path).is_file()

    def read(self, path: str) -> bytes:
        """Raises NotFound where there is no such file, StorageFailed where the disk refuses."""
        return read_file(self.services, self.folder / path, path)

    def read_json(self, path: str) -> Json:
        """Raises InvalidData for what is no JSON, and as `read`."""
        return parsed(self.read(path), path)

    @cached_property
    def contents(self) -> CheckpointStore:
        return CheckpointStore(self.folder, self.run_id, self.services.disk, self.services.clock)

    def checkpoint(self, id: str) -> Checkpoint:
        """Raises NotFound, InvalidData."""
        if id not in self._checkpoints:
            found = self.contents.load(id)
            texts = (found.id, found.run_id, found.created_at, found.reason)
            if not are_texts(*texts) or not _are_stamps(found.files):
                raise InvalidData(f"checkpoints/{id}/checkpoint.json is damaged: its fields are of other types")
            self._checkpoints[id] = found
        return self._checkpoints[id]

    @cached_property
    def lent(self) -> PersistSnapshot:
        """What the chat lent the run; nothing where it did not come to that. Raises InvalidData."""
        if not self.has(SNAPSHOT):
            return PersistSnapshot(None, ())
        lent = persist_snapshot(self.read_json(SNAPSHOT))
        if not _are_stamps(lent.files):
            raise InvalidData(f"{SNAPSHOT} is damaged: its fields are of other types")
        return lent


_HEAVY = ("input", "model-responses", "checkpoints", "tool-args", "tool-results", DATABASE)


def gather(services: Services, run_id: str, *, under_way: bool = False) -> Evidence:
    """Look at a run; raises NotFound for an unknown one, StorageFailed.

    `under_way`: somebody is known to drive it, whatever its lease says. What is read first is never newer than what is
    read after it: the saved state, the journal, the files that it names.
    """
    folder = folder_of(services, run_id)
    database = database_of(services, folder, run_id)
    driven = under_way or (isinstance(database, Glance) and database.is_live)
    found = _journal(services, folder, run_id, driven=driven)
    misfits = [finding for line in found.lines for finding in misfit(line)]
    odd = {finding.line for finding in misfits}
    lines = tuple(line for line in found.lines if line.number not in odd)
    damage = (*found.findings, *misfits)
    return Evidence(services, run_id, folder, driven, database, damage, lines, _record(services, folder))


def _journal(services: Services, folder: Path, run_id: str, *, driven: bool) -> Scan:
    try:
        return scan(read_file(services, folder / EVENTS, EVENTS), run_id, growing=driven)
    except (NotFound, InvalidData) as error:
        remedy = "put it back from a copy; a run that was left before its first event begins at treadle resume RUN"
        lost = Finding(EVENTS, "the run's journal", error.message, remedy)
        return Scan(findings=[] if driven else [lost])


def database_of(services: Services, folder: Path, run_id: str) -> Glance | InvalidData | None:
    try:
        return glance(folder / DATABASE, run_id, services.clock, thorough=True)
    except InvalidData as damaged:
        return damaged


def folder_of(services: Services, run_id: str) -> Path:
    """The run's folder, also where its record or its place in the index is damaged; raises NotFound."""
    try:
        name = segment(run_id, "run id")
    except InvalidData as error:
        raise NotFound(f"no run {run_id!r}: {error.message}") from error
    found = sorted(services.store.root.glob(f"chats/*/runs/{name}"))
    if not found:
        raise NotFound(f"no run {run_id} below this data root")
    return found[0]


def read_file(services: Services, file: Path, name: str) -> bytes:
    """Raises NotFound where there is no such file, InvalidData for a folder, StorageFailed where the disk refuses."""
    try:
        return services.disk.read(file)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"there is no {name}") from error
    except IsADirectoryError as error:
        raise InvalidData(f"{name} is a folder") from error
    except OSError as error:
        raise storage_failed(error, f"reading {name}") from error


def parsed(data: bytes, name: str) -> Json:
    """Raises InvalidData for what is no JSON."""
    try:
        return loads(data)
    except ValueError as error:
        raise InvalidData(f"{name} is not JSON: {error}") from error


def _are_stamps(files: tuple[FileStamp, ...]) -> bool:
    """Stamps are read back without a look at what they hold."""
    return all(are_texts(file.path) and _SHA256.fullmatch(str(file.sha256)) for file in files)


def _record(services: Services, folder: Path) -> RunRecord | TreadleError:
    try:
        found = run_record(parsed(read_file(services, folder / RECORD, RECORD), RECORD))
        texts = (found.id, found.workspace_id, found.stable_chat_id, found.generation_type, found.created_at)
        if not are_texts(*texts):
            raise TypeError("its fields are of other types")
        return found
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return InvalidData(f"{RECORD} is not a run record: {error!r}")
    except TreadleError as error:
        return error
