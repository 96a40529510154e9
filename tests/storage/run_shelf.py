"""A data root with runs that were never driven: records, journals and files, laid down as a test wants them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from treadle.graph.events import Event
from treadle.graph.identity import ChatRef, RunId, workspace_id
from treadle.graph.jsontext import Json, dumps
from treadle.graph.ports import ChatHead
from treadle.graph.status import STATUS_OF_END, RunStatus
from treadle.storage.disk import Disk, RealDisk
from treadle.storage.runs import EVENTS, RunRecord, RunStore
from treadle.testkit.faults import FaultyDisk

CHAT = "chat-1"
HEAVY = ("output/main.md", "checkpoints/cp_000001/checkpoint.json", "input/prompt_snapshot.json", "manifest.json")

_END_OF = {status: str(event) for event, status in STATUS_OF_END.items()}


def at(minute: int) -> str:
    """A moment of one day."""
    return f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:00.000Z"


class RunShelf:
    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.data_root = root
        self.disk = FaultyDisk(disk or RealDisk())
        self.store = RunStore(root, self.disk)

    def put(
        self,
        name: str,
        *,
        status: RunStatus = RunStatus.COMPLETED,
        created: int = 0,
        ended: int | None = None,
        chat: str = CHAT,
        commits: int = 0,
        ends: bool = True,
        heavy: bool = True,
    ) -> RunRecord:
        """Times are minutes; a run that has ended did so at `ended`, or a minute after its start."""
        end = created + 1 if ended is None else ended
        ref = ChatRef("character", character_id="Wren", file_name=chat)
        record = RunRecord(
            RunId(name), workspace_id("character", chat), chat, ref, "normal", "default-writer", "foreground", status,
            at(created), at(end), "0" * 64, ChatHead(2, None),
        )  # fmt: skip
        events: list[tuple[str, Json]] = [("run_created", {"workspaceId": record.workspace_id})]
        for number in range(1, commits + 1):
            told = {"commitId": f"commit_{number}", "messageId": str(number), "messageIndex": number}
            events.append(("chat_commit_completed", told))
        if status.is_terminal and ends:
            events.append((_END_OF[status], None))
        folder = self.store.folder(record)
        self.disk.replace(folder / EVENTS, journal(name, events, at(created), at(end)))
        for path in HEAVY if heavy else ():
            self.disk.replace(folder / path, b"{}")
        self.store.save(record)
        return record

    def change(self, record: RunRecord, status: RunStatus, minute: int) -> RunRecord:
        changed = replace(record, status=status, updated_at=at(minute))
        self.store.save(changed)
        return changed

    def files(self) -> dict[str, bytes]:
        """Everything below the tree of runs, by path; locks are nothing."""
        found = (path for path in sorted(self.store.root.rglob("*")) if path.is_file() and path.suffix != ".lock")
        return {path.relative_to(self.store.root).as_posix(): path.read_bytes() for path in found}


def journal(run_id: str, events: list[tuple[str, Json]], first: str, last: str) -> bytes:
    """The last event is of the time `last`, all others of `first`."""
    lines: list[bytes] = []
    for seq, (kind, payload) in enumerate(events, start=1):
        when = last if seq == len(events) else first
        lines.append(dumps(Event(seq, f"evt_{seq}", run_id, when, "info", kind, payload).to_json()) + b"\n")
    return b"".join(lines)
