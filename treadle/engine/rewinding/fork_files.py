"""The folder of a fork: what its origin had written by then, under the fork's own name. Blocking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...graph.errors import InvalidData, InvalidInput
from ...graph.events import Event, EventType, level_of
from ...graph.jsontext import Json, dumps, loads
from ...graph.paths import ROOTS
from ...storage.checkpoints import CONTENT, RECORD
from ...storage.checkpoints import FOLDER as CHECKPOINTS
from ...storage.disk import Disk, storage_failed
from ...storage.file_map import files_after
from ...storage.folder import pretty
from ...storage.folder_lock import folder_lock
from ...storage.persist_records import SNAPSHOT, persist_snapshot
from ...storage.runs import (
    ASKED_PROFILE,
    EVENTS,
    FROZEN_INPUT,
    GENERATION_INTENT,
    MANIFEST,
    PROMPT_SNAPSHOT,
    RunRecord,
    body_path,
    run_record,
)
from ...storage.workspace import FolderWorkspace
from ..services import Services
from ..starting import Equipped, freeze
from .origin import Origin


@dataclass(frozen=True, slots=True)
class Fork:
    """A run that may be made."""

    origin: Origin
    record: RunRecord
    equipment: Equipped
    keeps_profile: bool
    """It goes on under the origin's."""
    asked: dict[str, Json]
    """What was asked for, as `run_forked` tells it."""


def lay_down(services: Services, fork: Fork) -> bool:
    """Everything of the fork, its record last: a run exists once its record does.

    False, with nothing changed, where another process made the run meanwhile. All or nothing: raises InvalidData where
    something of the origin is lost, StorageFailed, and InvalidInput where the folder is another run's.
    """
    record, store, disk = fork.record, services.store, services.disk
    folder = store.folder(record)
    try:
        with folder_lock(store.chat_folder(record.workspace_id)), store.making():
            if store.exists(record.id):
                return False
            _refuse_another(folder, record, disk)
            disk.remove(folder)  # what a fork or a start left that was cut off before its record
            try:
                _write(services, fork, folder)
                store.save(record)
            except BaseException:
                with suppress(OSError):
                    disk.remove(folder)
                raise
    except OSError as error:
        raise storage_failed(error, f"making run {record.id}") from error
    return True


def _refuse_another(folder: Path, record: RunRecord, disk: Disk) -> None:
    """A folder with a record that no index names is a run all the same, unless it is this very fork, cut off."""
    try:
        stored = run_record(loads(disk.read(folder / "run.json")))
    except FileNotFoundError:
        return
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidData(f"{folder.name}/run.json is not a run record: {error}") from error
    if stored.input_sha256 != record.input_sha256:
        raise InvalidInput(
            f"the folder of a run {record.id} is there already; choose another newRunId", code="agent.run_id_conflict"
        )


def _write(services: Services, fork: Fork, folder: Path) -> None:
    origin, disk = fork.origin, services.disk
    freeze(fork.equipment, folder, disk)
    for path in _copied(fork):
        _copy(disk, origin.folder / path, folder / path)
    record, profile = fork.record, fork.equipment.profile
    manifest = profile.manifest_json(record.id, record.stable_chat_id, record.chat_ref.to_json(), record.created_at)
    disk.replace(folder / MANIFEST, pretty(manifest))
    _write_checkpoints(fork, folder, disk)
    _write_workspace(fork, folder, disk)
    disk.replace(folder / EVENTS, b"".join(dumps(event.to_json()) + b"\n" for event in _journal(services, fork)))


def _copied(fork: Fork) -> Iterator[str]:
    """The files that are the same in the fork: its input, and what its events name."""
    origin = fork.origin
    yield from (PROMPT_SNAPSHOT, SNAPSHOT)
    perhaps = (GENERATION_INTENT, FROZEN_INPUT, *((ASKED_PROFILE,) if fork.keeps_profile else ()))
    yield from (path for path in perhaps if (origin.folder / path).exists())
    for event in origin.events:
        told = event.payload
        match event.type:
            case EventType.MODEL_RESPONSE_STORED:
                yield from (told["path"], body_path(told["round"]))
            case EventType.TOOL_CALL_REQUESTED:
                yield told["argumentsRef"]
            case EventType.TOOL_CALL_APPROVED if "editedArgumentsRef" in told:
                yield told["editedArgumentsRef"]
            case EventType.TOOL_RESULT_STORED:
                yield told["path"]
            case _:
                pass


def _copy(disk: Disk, source: Path, target: Path) -> None:
    try:
        disk.copy(source, target)
    except FileNotFoundError as error:
        raise InvalidData(
            f"{source.parent.name}/{source.name} of the run is lost, so it can't be forked; nothing was made",
            code="agent.fork_content_missing",
        ) from error


def _write_checkpoints(fork: Fork, folder: Path, disk: Disk) -> None:
    """The records under the fork's name, and the contents that they and the changes before them need."""
    kept: set[str] = set()
    for event in fork.origin.events:
        if event.type == EventType.CHECKPOINT_CREATED:
            checkpoint = fork.origin.checkpoints.load(event.payload["checkpointId"])
            own = replace(checkpoint, run_id=fork.record.id)
            disk.replace(folder / CHECKPOINTS / own.id / RECORD, pretty(own.to_json()))
            kept.update(stamp.sha256 for stamp in own.files)
        elif event.type == EventType.TOOL_CALL_STARTED and event.payload.get("effect") is not None:
            before = event.payload["effect"]["preSha256"]
            kept.update({before} if before is not None and fork.origin.checkpoints.keeps(before) else ())
    for sha256 in sorted(kept):
        disk.replace(folder / CHECKPOINTS / CONTENT / sha256, fork.origin.checkpoints.content(sha256))


def _write_workspace(fork: Fork, folder: Path, disk: Disk) -> None:
    origin = fork.origin
    for root in ROOTS:
        disk.make_folder(folder / root)
    lent = persist_snapshot(loads(disk.read(folder / SNAPSHOT)))
    workspace = FolderWorkspace(folder, disk)
    for path, sha256 in files_after(lent, origin.events, origin.checkpoints.load).items():
        workspace.write_bytes(path, origin.content(path, sha256))


def _journal(services: Services, fork: Fork) -> Iterator[Event]:
    """The origin's events under the fork's name, as they were told, and the one that says so."""
    record, events = fork.record, fork.origin.events
    for event in events:
        yield replace(event, id=f"evt_{services.ids.new()}", run_id=record.id)
    told = {
        "fromRunId": fork.origin.record.id,
        "fromSeq": len(events),
        **fork.asked,
        "profileId": fork.equipment.profile.id,
        "maxRounds": fork.equipment.profile.max_rounds,
    }
    kind = EventType.RUN_FORKED
    level = str(level_of(kind))
    yield Event(len(events) + 1, f"evt_{services.ids.new()}", record.id, record.created_at, level, str(kind), told)
