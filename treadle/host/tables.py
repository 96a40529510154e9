"""What `treadle runs` shows to people: tables of runs, of one run, of events, and a model's turn as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..graph.events import Event, Level
from ..graph.identity import ChatRef
from ..graph.jsontext import Json
from ..graph.status import RunStatus
from ..storage.checkpoints import Checkpoint
from .run_summary import Summary

if TYPE_CHECKING:
    from ..engine.history.listing import RunSummary
    from ..engine.recovering import InterruptedRun

_PIPE_WIDTH = 1000

_STATUS = {
    RunStatus.COMPLETED: "green", RunStatus.PARTIAL_SUCCESS: "yellow", RunStatus.CANCELLED: "yellow", RunStatus.FAILED: "red",
}  # fmt: skip
_WAITS = {
    "approval": "a person", "host_commit": "its chat, to take a commit", "host_metadata": "its chat, to note the state",
}  # fmt: skip
_ACTIONS = {"delete_run": ("delete", "red"), "slim_heavy_artifacts": ("slim", "yellow")}
_LEVELS = {Level.DEBUG: "dim", Level.WARN: "yellow", Level.ERROR: "red"}


def run_table(runs: Sequence[RunSummary]) -> Table:
    records = [run.record for run in runs]
    rows = [
        (Text(one.id), _status(one.status), Text(_moment(one.created_at)), Text(_chat(one.chat_ref))) for one in records
    ]
    return _table(("run", "status", "started", "chat"), rows)


def interrupted_table(found: Sequence[InterruptedRun]) -> Table:
    rows = [
        (
            Text(one.run_id),
            Text("") if one.status is None else _status(one.status),
            Text("" if one.updated_at is None else _moment(one.updated_at)),
            Text("" if one.last_seq is None else f"{one.last_seq} {one.last_type}"),
            Text(_WAITS[one.waiting_for] if one.waiting_for else ""),
            Text("" if one.error is None else f"{one.error.message} ({one.error.error_code})", style="red"),
        )
        for one in found
    ]
    return _table(("run", "status", "since", "last event", "waits for", "what is wrong"), rows)


def prune_table(plan: dict[str, Json]) -> Table:
    """What is to be done, then what is left alone and why; runs that are simply kept are only counted."""
    rows: list[tuple[Text, ...]] = []
    for each in plan["runs"]:
        if each["action"] in _ACTIONS:
            word, style = _ACTIONS[each["action"]]
            why = each["reason"].replace("_", " ")
            rows.append((Text(each["runId"]), Text(_moment(each["terminalAt"])), Text(word, style=style), Text(why)))
    for each in plan["blocked"]:
        why = f"{each['reason'].replace('_', ' ')}: {each['message']}"
        rows.append((Text(each["runId"]), Text(""), Text("left alone", style="cyan"), Text(why)))
    return _table(("run", "ended", "what", "why"), rows)


def summary_table(told: Summary) -> Table:
    record = told.record
    refused = f", {told.refused_calls} refused" if told.refused_calls else ""
    retried = f", {told.attempts - told.rounds} asked again" if told.attempts > told.rounds else ""
    facts: dict[str, str | Text] = {
        "run": record.id,
        "status": _status(record.status),
        "why": f"{told.error['message']} ({told.error['code']})" if told.error else "",
        "chat": _chat(record.chat_ref),
        "type": f"{record.generation_type}, {record.presentation}",
        "profile": record.profile_id or "",
        "started": _moment(record.created_at),
        "took": f"{told.seconds:.2f} s",
        "rounds": f"{told.rounds}{retried}",
        "tool calls": f"{told.tool_calls}{refused}",
        "checkpoints": str(told.checkpoints),
        "commits": f"{told.commits}, message {told.message_id}" if told.commits else "0",
        "events": str(told.events),
        "files": "\n".join(told.files),
        "slimmed": _moment(record.slimmed_at) if record.slimmed_at else "",
        "folder": str(told.folder),
    }
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        if fact:
            table.add_row(name, fact if isinstance(fact, Text) else Text(fact))
    return table


def checkpoint_table(checkpoints: Sequence[Checkpoint]) -> Table:
    rows = [
        (
            Text(one.id), Text(str(one.event_seq), justify="right"), Text(_moment(one.created_at)), Text(one.reason),
            Text(", ".join(f"{file.path} ({file.bytes} bytes)" for file in one.files)),
        )
        for one in checkpoints
    ]  # fmt: skip
    return _table(("checkpoint", "seq", "time", "reason", "files"), rows)


def event_table(events: Sequence[Event]) -> Table:
    rows: list[tuple[Text, ...]] = []
    for event in events:
        style = _LEVELS.get(Level(event.level), "")
        number, time = Text(str(event.seq), justify="right"), Text(event.timestamp[11:23])
        level, kind = Text(event.level, style=style), Text(event.type, style=style)
        rows.append((number, time, level, kind, Text(_brief(event.payload))))
    return _table(("seq", "time", "level", "event", "what"), rows)


def turn_text(said: dict[str, Json]) -> Text:
    """What the model thought, said and called, as text to read."""
    provider = said["provider"]
    text = Text(f"Round {said['round']}, {provider['model']} ({provider['format']})\n", style="bold")
    for thought in said["reasoning"]:
        text.append(f"\n[{thought['source']}]\n{thought['text']}\n", style="dim italic")
    if said["assistant"]["text"]:
        text.append(f"\n{said['assistant']['text']}\n", style="")
    for call in said["toolCalls"]:
        text.append(f"\n-> {call['name']}  ", style="green").append(call["callId"], style="dim")
    if not said["toolCalls"]:
        text.append("\n(no tool was called)", style="dim")
    return text


def connection_table(rows: Sequence[dict[str, Json]]) -> Table:
    """One row a connection; a record that can't be used says why in place of its model."""
    shown: list[tuple[Text, ...]] = []
    for row in rows:
        wrong = row.get("error")
        last = Text(wrong, style="red") if wrong else Text(row["endpoint"] or "")
        words = (row.get("source"), row.get("format"), row.get("model"), row.get("secret"))
        shown.append((Text(row["id"]), *(Text(word or "") for word in words), last))
    return _table(("id", "source", "format", "model", "secret", "endpoint"), shown)


def profile_table(rows: Sequence[dict[str, Json]]) -> Table:
    shown = [(Text(row["id"]), Text(row["displayName"]), Text(row.get("description", ""))) for row in rows]
    return _table(("profile", "name", "what for"), shown)


def issue_table(rows: Sequence[dict[str, Json]]) -> Table:
    """Files that can't be used, why, and what `treadle profiles repair` would do."""
    shown = [
        (Text(row["fileName"], style="red"), Text(row["kind"]), Text(row["recommendedAction"]), Text(row["message"]))
        for row in rows
    ]
    return _table(("bad file", "issue", "repair", "what is wrong"), shown)


def diagnosis_table(rows: Sequence[dict[str, Json]]) -> Table:
    shown = [
        (Text(row["path"]), Text(row["code"], style="red"), Text(", ".join(row["blocks"])), Text(row["message"]))
        for row in rows
    ]
    return _table(("where", "code", "blocks", "what is wrong"), shown)


def skill_table(entries: Sequence[dict[str, Json]]) -> Table:
    rows = [
        (Text(each["name"]), Text(str(each["fileCount"]), justify="right"), Text(" ".join(each["description"].split())))
        for each in entries
    ]
    return _table(("skill", "files", "description"), rows)


def file_table(files: Sequence[dict[str, Json]]) -> Table:
    rows = [(Text(str(each["sizeBytes"]), justify="right"), Text(each["kind"]), Text(each["path"])) for each in files]
    return _table(("bytes", "kind", "path"), rows)


def mcp_server_table(rows: Sequence[dict[str, Json]]) -> Table:
    shown = [
        (Text(row["name"]), Text(row["transport"]), Text("on" if row["enabled"] else "off"), Text(row["server"]))
        for row in rows
    ]
    return _table(("name", "over", "", "server"), shown)


def mcp_tool_table(rows: Sequence[dict[str, Json]]) -> Table:
    """One row a tool; what its server wrote can't move the cursor or change a colour."""
    shown: list[tuple[Text, ...]] = []
    for row in rows:
        usable = bool(row["name"] and row["allowed"])
        name = row["name"] or f"{row['tool']} (no profile can name it)"
        words = (name, "yes" if usable else "no", ", ".join(row["marks"]), (row["description"] or "").split("\n")[0])
        shown.append(tuple(Text(_plain(word), style="" if usable else "dim") for word in words))
    return _table(("name", "usable", "marks", "description"), shown)


def pair_table(document: dict[str, Json]) -> Table:
    """A field a row; what is null is left out."""
    pairs = [(key, value) for key, value in document.items() if value is not None]
    spelled = [
        (key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) for key, value in pairs
    ]
    return _table(("field", "value"), [(Text(key), Text(value)) for key, value in spelled])


def to_screen(what: RenderableType) -> None:
    """To people as wide as their terminal; into a pipe as wide as it needs, without blanks at the ends of lines."""
    if sys.stdout.isatty():
        Console(highlight=False).print(what)
        return
    console = Console(highlight=False, width=_PIPE_WIDTH)
    with console.capture() as captured:
        console.print(what)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _table(names: tuple[str, ...], rows: Sequence[tuple[Text, ...]]) -> Table:
    """The last column gives way where a terminal is narrow; the others are shown whole."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name, no_wrap=name != names[-1])
    for *whole, last in rows:
        last.no_wrap, last.overflow = True, "ellipsis"
        table.add_row(*whole, last)
    return table


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _status(status: RunStatus) -> Text:
    return Text(str(status), style=_STATUS.get(status, "cyan"))


def _chat(ref: ChatRef) -> str:
    return f"{ref.character_id}/{ref.file_name}" if ref.kind == "character" else str(ref.chat_id)


def _moment(timestamp: str) -> str:
    return timestamp[:19].replace("T", " ") + "Z"


def _brief(payload: Json) -> str:
    """The payload's short values; what is long or deep is left to `--json`."""
    if not isinstance(payload, dict):
        return ""
    values = cast(dict[str, Json], payload)
    shown = {key: value for key, value in values.items() if value is not None and not isinstance(value, dict | list)}
    return "  ".join(f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in shown.items())
