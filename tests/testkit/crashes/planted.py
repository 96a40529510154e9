"""Plays in which a process that resumes does something wrong, so that the harness must find it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.jsontext import dumps, loads
from treadle.testkit.crashes.play import Play, Stage
from treadle.testkit.replies import call, calls

from ...scenarios import words
from .plays import CHATS, scripted

_CHAT = Path(CHATS, "Wren", "tea.jsonl")
_SOUND = scripted(
    calls(call("workspace.write_file", path="output/main.md", content=words.DRAFT)), words.COMMIT_AND_FINISH
)


def planted(wrong: Callable[[Path], None]) -> Play:
    """The journal of a run that was resumed and has ended is given to `wrong`."""

    async def attend(engine: Engine, run_id: str) -> None:
        await engine.wait(run_id)
        tree = engine.services.data_root / "_tauritavern" / "agent-workspaces"
        journal = next(tree.glob(f"chats/*/runs/{run_id}/events.jsonl"))
        if b'"run_resumed"' in journal.read_bytes():
            wrong(journal)

    return replace(_SOUND, attend=attend)


def _lose_an_event(journal: Path) -> None:
    lines = journal.read_bytes().split(b"\n")
    kept = [line for line in lines if b'"workspace_file_written"' not in line and line]
    told = [{**loads(line), "seq": place} for place, line in enumerate(kept, start=1)]
    journal.write_bytes(b"".join(dumps(event) + b"\n" for event in told))


def _leave_a_gap(journal: Path) -> None:
    *lines, last, _ = journal.read_bytes().split(b"\n")
    event = loads(last)
    journal.write_bytes(b"\n".join([*lines, dumps({**event, "seq": event["seq"] + 1}), b""]))


def _end_twice(journal: Path) -> None:
    event = loads(journal.read_bytes().split(b"\n")[-2])
    with journal.open("ab") as file:
        file.write(dumps({**event, "seq": event["seq"] + 1, "id": "evt_again"}) + b"\n")


LOST = planted(_lose_an_event)
GAP = planted(_leave_a_gap)
ENDS = planted(_end_twice)


def _request(stage: Stage) -> Engine:
    """A model that is asked the first question once more whenever a run is resumed."""
    if (stage.folder / "asked.jsonl").exists():
        stage.questions.note(b"")
    return _SOUND.engine(stage)


PAID = replace(_SOUND, engine=_request, same_requests=False)


def _publish(stage: Stage) -> Engine:
    """A host that saves its chat once more whenever a run is resumed."""
    chat = stage.folder / _CHAT
    if any(stage.root.rglob("events.jsonl")):
        stage.disk.replace(chat, chat.read_bytes())
    return _SOUND.engine(stage)


TWICE = replace(_SOUND, engine=_publish)

FAULTS = {
    "LOST": "the same events in the same order",
    "GAP": "seq counts from 1 without a gap",
    "ENDS": "one terminal event",
    "PAID": "no stored answer is paid for twice",
    "TWICE": "each effect once",
}
"""By play: the invariant that does not hold in it."""
