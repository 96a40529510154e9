"""What real runs leave behind, as the pages show it: the tree of files, the record, the journal."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import sample_runs
from pieces import check_payloads

from treadle.graph.events import Event
from treadle.graph.jsontext import Json, loads

_EXCERPT = ("run_created", "tool_call_started", "tool_result_stored", "workspace_file_written", "checkpoint_created",
            "chat_commit_completed", "run_completed")  # fmt: skip


async def run_pieces() -> dict[str, list[str]]:
    """The pieces by name; raises SystemExit where a payload is not as the notes say."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        stage = sample_runs.shown(folder / "shown")
        events = await stage.play()
        await _check_all(folder, events)
        run = stage.run_folder
        return {
            "run tree": _fenced("text", _tree(stage.folder)),
            "run record": _json(run / "run.json"),
            "checkpoint": _json(run / "checkpoints" / "cp_000001" / "checkpoint.json"),
            "tool result": _json(next(iter(sorted((run / "tool-results").iterdir())))),
            "chat notes": _fenced("json", json.dumps(_notes(stage.chat), indent=2).splitlines()),
            "timeline": _fenced("text", [_line(event) for event in events]),
            "journal": _fenced("json", _excerpt(events, (run / "events.jsonl").read_text("utf-8").split("\n"))),
        }


async def _check_all(folder: Path, shown: Sequence[Event]) -> None:
    journals = [shown]
    journals += [await stage.play() for stage in sample_runs.others(folder / "others")]
    for sample in (
        sample_runs.resumed,
        sample_runs.forced,
        sample_runs.given_up,
        sample_runs.switched,
        sample_runs.replayed,
        sample_runs.approved,
        sample_runs.forked_at_a_checkpoint,
        sample_runs.forked_at_an_event,
        sample_runs.rewound,
    ):
        journals.append(await sample(folder / sample.__name__))
    seen: dict[str, list[Json]] = {}
    for event in (event for journal in journals for event in journal):
        seen.setdefault(event.type, []).append(event.payload)
    check_payloads(seen)


def _notes(chat: Path) -> Json:
    """What commits left in the `extra` of the chat's last message."""
    return {"tauritavern": loads(chat.read_bytes().split(b"\n")[-2])["extra"]["tauritavern"]}


def _tree(folder: Path, before: str = "") -> list[str]:
    lines: list[str] = []
    children = sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name))
    for child in children:
        last = child == children[-1]
        lines.append(f"{before}{'└── ' if last else '├── '}{child.name}{'/' if child.is_dir() else ''}")
        if child.is_dir():
            lines += _tree(child, before + ("    " if last else "│   "))
    return lines


def _line(event: Event) -> str:
    payload: dict[str, Json] = event.payload or {}
    keys = ("status", "round", "attempt", "name", "path", "checkpointId", "messageId")
    told = "  ".join(f"{key} {payload[key]}" for key in keys if payload.get(key) is not None)
    return f"{event.seq:>3} {event.level:<6}{event.type:<44}{told}".rstrip()


def _excerpt(events: Sequence[Event], lines: Sequence[str]) -> list[str]:
    """The first event of each type in `_EXCERPT`, whole."""
    first = {event.type: event.seq for event in reversed(events)}
    return [lines[first[kind] - 1] for kind in _EXCERPT]


def _json(path: Path) -> list[str]:
    return _fenced("json", path.read_text("utf-8").splitlines())


def _fenced(language: str, lines: Sequence[str]) -> list[str]:
    return [f"```{language}", *lines, "```"]
