"""How a run ended, for a person or a program: the reply as it stands in the chat, or the reason why there is none."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from ..graph.events import Event, EventType
from ..graph.identity import ChatRef
from ..graph.jsontext import Json
from ..graph.status import RunStatus
from ..storage.runs import TREE, RunRecord
from ..views import own_events
from .options import nearest

if TYPE_CHECKING:
    from ..views import PendingApproval
    from .chat_folder import ChatFolderHost

EXIT_CODES = {
    RunStatus.COMPLETED: 0,
    RunStatus.FAILED: 1,
    RunStatus.PARTIAL_SUCCESS: 4,
    RunStatus.CANCELLED: 130,
}
_WIDEST = 96


@dataclass(frozen=True, slots=True)
class Ending:
    record: RunRecord
    folder: Path
    message_id: str | None
    """Where the run's reply stands in the chat; None where nothing was committed."""
    name: str
    reply: str
    """The message as it is in the chat file now."""
    error: Json
    """The failure's payload; None where the run ended well."""
    waits: PendingApproval | None = None
    """The call for which the run was left waiting, since nobody was there to answer."""

    @property
    def exit_code(self) -> int:
        return EXIT_CODES.get(self.record.status, 1)

    def to_json(self) -> dict[str, Json]:
        return {
            "runId": self.record.id,
            "workspaceId": self.record.workspace_id,
            "status": str(self.record.status),
            "exitCode": self.exit_code,
            "runFolder": str(self.folder),
            "chatRef": self.record.chat_ref.to_json(),
            "messageId": self.message_id,
            "reply": self.reply or None,
            "error": self.error,
            "waitsFor": None if self.waits is None else self.waits.to_json(),
        }


async def ending(
    root: Path,
    record: RunRecord,
    events: Sequence[Event],
    host: ChatFolderHost,
    ref: ChatRef,
    waits: PendingApproval | None = None,
) -> Ending:
    """What came of the run, the reply read back from the chat file."""
    message_id, error = committed_message(events), failure(events)
    message: dict[str, Json] = {}
    if message_id is not None:
        message = await host.read_message(ref, int(message_id))
    folder = run_folder(root, record)
    return Ending(record, folder, message_id, str(message.get("name", "")), str(message.get("mes", "")), error, waits)


def run_folder(root: Path, record: RunRecord) -> Path:
    return root / TREE / "chats" / record.workspace_id / "runs" / record.id


def committed_message(events: Sequence[Event]) -> str | None:
    made = [event for event in own_events(events) if event.type == EventType.CHAT_COMMIT_COMPLETED]
    commits = [event.payload["messageId"] for event in made]
    return commits[-1] if commits else None


def failure(events: Sequence[Event]) -> Json:
    ends = (EventType.RUN_FAILED, EventType.RUN_PARTIAL_SUCCESS)
    return next((event.payload for event in reversed(events) if event.type in ends), None)


def show_ending(console: Console, end: Ending, chat: Path, *, plain: bool = False) -> None:
    """The reply, the reason of a failure (on stderr), and the run folder."""
    if end.reply:
        console.print()
        console.print(Text(f"The reply as it now stands in {nearest(chat)}, message {end.message_id}:"), soft_wrap=True)
        if console.is_terminal and not plain:
            console.print(_framed(console, end))
        else:
            console.print(Text(f"\n{end.reply}"), soft_wrap=True)
    console.print()
    state = "waits for a person" if end.waits else str(end.record.status).replace("_", " ")
    console.print(Text(f"Run {end.record.id}: {state}"), soft_wrap=True)
    console.print(Text(f"Run folder: {nearest(end.folder)}"), soft_wrap=True)
    if end.error:
        print(f"treadle: {end.error['message']} ({end.error['code']})", file=sys.stderr)
    if end.waits:
        call = f"{end.waits.name} (call {end.waits.call_id})"
        print(f"treadle: {call} waits for a person, and nobody is at a terminal; the run was left", file=sys.stderr)


def show_next(console: Console, commands: tuple[str, ...]) -> None:
    console.print(Text("Try next:"))
    for command in commands:
        console.print(Text(f"  {command}"), soft_wrap=True)


def print_json(value: Json) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _framed(console: Console, end: Ending) -> Panel:
    width = min(console.width, _WIDEST)
    return Panel(
        Text(end.reply), title=Text(end.name), title_align="left", border_style="green", padding=(1, 2), width=width
    )
