"""Runs on disk: where each file of a run lives, the run record, and the index of runs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

from ..graph.errors import InvalidData, InvalidInput, NotFound
from ..graph.identity import ChatRef, RunId, WorkspaceId, call_file_stem, chat_ref, round_file_stem, segment
from ..graph.jsontext import Json, dumps, loads
from ..graph.ports import ChatHead
from ..graph.status import RunStatus
from .disk import Disk, storage_failed
from .folder_lock import folder_lock

TREE = Path("_tauritavern") / "agent-workspaces"
INDEX = Path("index") / "runs"

RECORD = "run.json"
EVENTS = "events.jsonl"
DATABASE = "run.sqlite"
PROMPT_SNAPSHOT = "input/prompt_snapshot.json"
RESOLVED_PROFILE = "input/resolved_profile.json"
ASKED_PROFILE = "input/asked_profile.json"
"""The profile as it was named, where the resolved one has other words for it: its `mcp.<server>.*` are spelled out."""
MCP_TOOLS = "input/mcp_tools.json"
GENERATION_INTENT = "input/generation_intent.json"
FROZEN_INPUT = "input/frozen_run_input_snapshot.json"
MANIFEST = "manifest.json"
MCP_LOGS = "mcp-logs"
"""The folder of what the run's MCP servers said on their standard error, a file each."""
_MAKING = "making.lock"


ProfileFrom = Literal["request", "id", "default"]
"""Where the start found its profile: in the request itself, under the id that the request named, or the built-in one."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a run began under; a resume holds it against what there is now."""

    signature: str
    """The machine's."""
    state_version: int
    profile_sha256: str
    """Of the file `input/resolved_profile.json`."""
    profile_from: ProfileFrom
    presentation: str | None = None
    """The start request's own, which goes before the profile's."""

    def to_json(self) -> dict[str, Json]:
        profile = {"sha256": self.profile_sha256, "from": self.profile_from, "presentation": self.presentation}
        return {"machine": {"signature": self.signature, "stateVersion": self.state_version}, "profile": profile}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """`run.json`; times are RFC 3339 UTC."""

    id: RunId
    workspace_id: WorkspaceId
    stable_chat_id: str
    chat_ref: ChatRef
    generation_type: str
    profile_id: str | None
    presentation: str
    status: RunStatus
    created_at: str
    updated_at: str
    input_sha256: str
    """SHA-256 of the start request in its RFC 8785 form: the same id with other input is another run."""
    chat_head: ChatHead
    """What the run may see of its chat, frozen at start."""
    persist_base_state_id: str | None = None
    beginning: Beginning | None = None
    """None in the record of an older Treadle, which kept none."""
    slimmed_at: str | None = None
    """When retention took all but the record and the journal; None while the run is whole."""

    def to_json(self) -> dict[str, Json]:
        stored: dict[str, Json] = {
            "id": self.id,
            "workspaceId": self.workspace_id,
            "stableChatId": self.stable_chat_id,
            "chatRef": self.chat_ref.to_json(),
            "generationType": self.generation_type,
            "profileId": self.profile_id,
            "inputMessageCount": self.chat_head.message_count,
            "chatHead": self.chat_head.to_json(),
            "inputSha256": self.input_sha256,
            "presentation": self.presentation,
            "status": str(self.status),
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        }
        if self.persist_base_state_id is not None:
            stored["persistBaseStateId"] = self.persist_base_state_id
        if self.beginning is not None:
            stored |= self.beginning.to_json()
        if self.slimmed_at is not None:
            stored["slimmedAt"] = self.slimmed_at
        return stored


NO_RECORD = (KeyError, TypeError, ValueError, InvalidData, InvalidInput)
"""What `run_record` raises."""

_TEXTS = ("id", "workspaceId", "stableChatId", "generationType", "createdAt", "updatedAt", "inputSha256")


def run_record(stored: Json) -> RunRecord:
    """A record read back; raises one of NO_RECORD where it is none. Its ids may name folders."""
    head = stored["chatHead"]
    other = [name for name in _TEXTS if not isinstance(stored[name], str)]
    if other:
        raise TypeError(f"{', '.join(other)} must be text")
    return RunRecord(
        id=RunId(segment(stored["id"], "run id")),
        workspace_id=WorkspaceId(segment(stored["workspaceId"], "workspaceId")),
        stable_chat_id=stored["stableChatId"],
        chat_ref=chat_ref(stored["chatRef"]),
        generation_type=stored["generationType"],
        profile_id=stored["profileId"],
        presentation=stored.get("presentation", "foreground"),
        status=RunStatus(stored["status"]),
        created_at=stored["createdAt"],
        updated_at=stored["updatedAt"],
        input_sha256=stored["inputSha256"],
        chat_head=ChatHead(head["messageCount"], head["lastSha256"]),
        persist_base_state_id=stored.get("persistBaseStateId"),
        beginning=_beginning(stored),
        slimmed_at=stored.get("slimmedAt"),
    )


def _beginning(stored: Json) -> Beginning | None:
    if "machine" not in stored:
        return None
    machine, profile = stored["machine"], stored["profile"]
    return Beginning(
        machine["signature"], machine["stateVersion"], profile["sha256"], profile["from"], profile["presentation"]
    )


class Placed(Protocol):
    """Whatever tells where a run is: its record, or its entry of the index."""

    @property
    def id(self) -> RunId: ...
    @property
    def workspace_id(self) -> WorkspaceId: ...


class RunSlimmed(NotFound):
    """Retention kept only the record and the journal of this run."""

    code = "agent.run_slimmed"


def check_whole(record: RunRecord) -> None:
    """Raises RunSlimmed where the run's files are gone for good."""
    if record.slimmed_at is not None:
        raise RunSlimmed(
            f"run {record.id} was slimmed at {record.slimmed_at}: only its record and its journal are left"
        )


class RunStore:
    """All runs below one data root. Blocking: call it in a thread."""

    def __init__(self, data_root: Path, disk: Disk) -> None:
        self.root = data_root / TREE
        self._disk = disk

    def folder(self, record: Placed) -> Path:
        return self.root / f"chats/{record.workspace_id}/runs/{record.id}"

    def chat_folder(self, workspace: WorkspaceId) -> Path:
        return self.root / f"chats/{workspace}"

    def save(self, record: RunRecord) -> None:
        """`run.json`, then the index copy."""
        data = dumps(record.to_json(), pretty=True)
        try:
            self._disk.replace(self.root / f"chats/{record.workspace_id}/runs/{record.id}/{RECORD}", data)
            self._disk.replace(self.index_file(record.id), data)
        except OSError as error:
            raise storage_failed(error, f"saving the record of run {record.id}") from error

    def settle(self, record: RunRecord) -> None:
        """Bring the index copy of a run that has ended to what `run.json` says: a crash may have come between the two."""
        if self.indexed(record.id) != record:
            self.save(record)

    def load(self, run_id: str) -> RunRecord:
        """The record as `run.json` has it; raises NotFound, or InvalidData where a file is damaged."""
        indexed = self.indexed(run_id)
        if indexed is None:
            raise NotFound(f"no run {run_id} below this data root")
        # run.json is written first, so after a crash between the two it is the newer one
        return self._read(self.folder(indexed) / RECORD) or indexed

    def exists(self, run_id: str) -> bool:
        return self.index_file(RunId(_run_name(run_id))).exists()

    def making(self) -> AbstractContextManager[None]:
        """Held while a run is made, from the look whether its id is free to its record: ids are free or taken in the
        whole data root, whatever the chat. Raises OSError."""
        return folder_lock(self.root / "index", _MAKING)

    def names(self) -> list[str]:
        """The ids of all runs, sorted."""
        folder = self.root / INDEX
        return sorted(path.stem for path in folder.glob("*.json")) if folder.is_dir() else []

    def indexed(self, run_id: str) -> RunRecord | None:
        """The record as the index has it: after a crash, or while it is being saved, a status behind `run.json`."""
        return self._read(self.index_file(RunId(_run_name(run_id))))

    def index_file(self, run_id: RunId) -> Path:
        return self.root / INDEX / f"{run_id}.json"

    def _read(self, path: Path) -> RunRecord | None:
        try:
            return run_record(loads(self._disk.read(path)))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_failed(error, f"reading {path.name}") from error
        except NO_RECORD as error:
            raise InvalidData(f"{path.parent.name}/{path.name} is not a run record: {error}") from error


def at_status(record: RunRecord, status: RunStatus, now: float) -> RunRecord:
    return replace(record, status=status, updated_at=timestamp(now))


def timestamp(seconds: float) -> str:
    """RFC 3339 UTC with three digits of a second."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def response_path(round_number: int) -> str:
    return f"model-responses/{round_file_stem(round_number)}.json"


def body_path(round_number: int) -> str:
    return f"model-responses/{round_file_stem(round_number)}.body"


def call_path(folder: str, call_id: str, round_number: int, first_round: int) -> str:
    """`tool-args/…` or `tool-results/…`; a later round that repeats an id gets `-r<round>`."""
    suffix = "" if round_number == first_round else f"-r{round_number}"
    return f"{folder}/{call_file_stem(call_id)}{suffix}.json"


def _run_name(run_id: str) -> str:
    try:
        return segment(run_id, "run id")
    except InvalidData as error:
        raise NotFound(f"no run {run_id!r}: {error.message}") from error
