"""What a run came to, told by its journal; of a run that has ended it is kept beside the index.

`index/run-summaries/<runId>.json` is a cache: it may be removed at any time, and a damaged or stale one is made anew.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..graph.errors import InvalidInput, JournalDamaged
from ..graph.events import TERMINAL_EVENTS, Event, EventType, event
from ..graph.identity import RunId
from ..graph.jsontext import Json, dumps, is_object, loads
from .disk import Disk, storage_failed
from .journal_lines import events_at, find_records
from .run_index import IndexEntry
from .runs import EVENTS, RunRecord, RunStore

SUMMARIES = Path("index") / "run-summaries"
VERSION = 1

_TOLD = sorted(TERMINAL_EVENTS | {EventType.CHAT_COMMIT_COMPLETED})
_LINES = re.compile(rb'"type"\s*:\s*"(?:%s)"' % "|".join(_TOLD).encode())


@dataclass(frozen=True, slots=True)
class CommittedMessage:
    """The message that the run's last commit made or changed; `committed_at` is RFC 3339 UTC."""

    commit_id: str
    message_id: str
    message_index: int | None
    committed_at: str

    def to_json(self) -> dict[str, Json]:
        index = {} if self.message_index is None else {"messageIndex": self.message_index}
        return {"commitId": self.commit_id, "messageId": self.message_id, **index, "committedAt": self.committed_at}


@dataclass(frozen=True, slots=True)
class Projection:
    """What the list of runs tells beyond the records."""

    commit_count: int = 0
    committed_message: CommittedMessage | None = None
    """None where no commit named a message."""
    terminal_at: str | None = None
    """When the run ended; None where the journal tells no end."""

    def to_json(self) -> dict[str, Json]:
        told: dict[str, Json] = {"commitCount": self.commit_count}
        if self.committed_message is not None:
            told["committedMessage"] = self.committed_message.to_json()
        if self.terminal_at is not None:
            told["terminalAt"] = self.terminal_at
        return told


class RunSummaries:
    """Blocking; any process may use it, whoever drives the run."""

    def __init__(self, store: RunStore, disk: Disk) -> None:
        self._store = store
        self._disk = disk

    def of(self, run: RunRecord | IndexEntry) -> Projection:
        """Raises JournalDamaged where a line that must be read can't be, StorageFailed."""
        kept = self._kept(run) if run.status.is_terminal else None
        if kept is not None:
            return kept
        projection = projected(read_bytes(self._store.folder(run) / EVENTS, self._disk))
        if run.status.is_terminal and projection.terminal_at is not None:
            self._keep(run, projection)
        return projection

    def file(self, run_id: RunId) -> Path:
        return self._store.root / SUMMARIES / f"{run_id}.json"

    def _kept(self, run: RunRecord | IndexEntry) -> Projection | None:
        try:
            return _projection(loads(self._disk.read(self.file(run.id))), run)
        except (OSError, KeyError, TypeError, ValueError):
            return None  # it is but a cache

    def _keep(self, run: RunRecord | IndexEntry, projection: Projection) -> None:
        told = {"schemaVersion": VERSION, "runId": run.id, "sourceRunUpdatedAt": run.updated_at, **projection.to_json()}
        with suppress(
            OSError, InvalidInput
        ):  # where nothing can be written, or the settings are wrong, runs are listed all the same
            self._disk.replace(self.file(run.id), dumps(told, pretty=True))


def projected(journal: bytes) -> Projection:
    """What the journal's bytes tell; only the lines that matter are parsed. Raises JournalDamaged for one of these."""
    commits, message, terminal_at = 0, None, None
    for told in _matching(journal):
        if told.type == EventType.CHAT_COMMIT_COMPLETED:
            commits += 1
            message = _message(told) or message
        elif terminal_at is None and told.type in TERMINAL_EVENTS:
            terminal_at = told.timestamp
    return Projection(commits, message, terminal_at)


def check_journal(journal: bytes) -> None:
    """Raises JournalDamaged for anything but a torn last line."""
    events_at(journal, find_records(journal))


def read_bytes(path: Path, disk: Disk) -> bytes:
    """A journal's bytes; none where there is no file. Raises StorageFailed."""
    try:
        return disk.read(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise storage_failed(error, "reading the journal") from error


def _matching(journal: bytes) -> list[Event]:
    found: list[Event] = []
    end = 0
    for match in _LINES.finditer(journal):
        if match.start() < end:
            continue  # the same line: one event
        start = journal.rfind(b"\n", 0, match.start()) + 1
        end = journal.find(b"\n", match.end())
        if end < 0:
            end = len(journal)
        try:
            found.append(event(loads(journal[start:end])))
        except (KeyError, TypeError, ValueError) as error:
            if end == len(journal):
                break  # a crash tore it off
            raise JournalDamaged(
                f"the journal is damaged at byte offset {start}: not an event", details={"offset": start}
            ) from error
    return found


def _message(told: Event) -> CommittedMessage | None:
    payload = told.payload
    if not is_object(payload) or payload.get("messageId") is None:
        return None
    index = payload.get("messageIndex")
    return CommittedMessage(
        str(payload.get("commitId")), str(payload["messageId"]), index if type(index) is int else None, told.timestamp
    )


def _projection(stored: Json, run: RunRecord | IndexEntry) -> Projection:
    """A cache read back; raises KeyError, TypeError or ValueError where it is none, or of another state of the run."""
    source = stored["schemaVersion"], stored["runId"], stored["sourceRunUpdatedAt"]
    if source != (VERSION, run.id, run.updated_at):
        raise ValueError(f"it is of {source}")
    count, message, at = stored["commitCount"], stored.get("committedMessage"), stored["terminalAt"]
    if type(count) is not int or not isinstance(at, str):
        raise TypeError("its values are not of its fields' types")
    return Projection(count, None if message is None else _committed(message), at)


def _committed(stored: Json) -> CommittedMessage:
    index = stored.get("messageIndex")
    words = stored["commitId"], stored["messageId"], stored["committedAt"]
    if not all(isinstance(word, str) for word in words) or type(index) not in (int, type(None)):
        raise TypeError("its message is none")
    return CommittedMessage(words[0], words[1], index, words[2])
