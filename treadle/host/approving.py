"""A call that waits for a person, before that person's eyes: what it would do, and the question whether it may."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING

from ..graph.errors import NotFound, TreadleError
from ..graph.jsontext import Json, is_object, loads
from ..storage.runs import RESOLVED_PROFILE
from .timeline import Timeline
from .typed_lines import TypedLines

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from ..views import PendingApproval

_MOST_LINES, _MOST_CHARS = 12, 1200
_QUESTION = "Allow it? [y]es, [n]o: "
_WHY = "Why not? The model is told (empty: no reason): "


class Answers(StrEnum):
    """Who answers for a run that a command drives."""

    YES = "yes"
    """`--yes`: every call is allowed."""
    PERSON = "person"
    """Somebody at the terminal."""
    NOBODY = "nobody"
    """The run is left where it waits."""


def answers(*, yes: bool) -> Answers:
    if yes:
        return Answers.YES
    return Answers.PERSON if sys.stdin.isatty() else Answers.NOBODY


class Attendant:
    """Sees to the questions of one run, one after the other."""

    def __init__(self, engine: Engine, run_id: str, who: Answers, timeline: Timeline | None) -> None:
        self._engine = engine
        self._run_id = run_id
        self._who = who
        self._timeline = timeline
        self._lines = TypedLines()
        self._open: tuple[int, str] | None = None
        self._asking: asyncio.Task[None] | None = None
        self.left: PendingApproval | None = None
        """The call that nobody here can answer for."""

    @property
    def is_open(self) -> bool:
        return self._open is not None

    async def look(self) -> None:
        """Ask about the call that waits now; one that no longer waits, as it was answered elsewhere, is let be."""
        found = await self._engine.pending_approvals(self._run_id)
        call = found[0] if found and found[0].state == "waiting" else None
        if call is not None and (call.round, call.call_id) == self._open:
            return
        await self.close()
        if call is None:
            return
        match self._who:
            case Answers.NOBODY:
                self.left = call
            case Answers.YES:
                await self._decide(call, approved=True)
            case Answers.PERSON:
                self._open = call.round, call.call_id
                self._asking = asyncio.create_task(self._ask(call))

    async def close(self) -> None:
        """Ask no more."""
        asking, self._asking, self._open = self._asking, None, None
        if asking is None:
            return
        if not asking.done():
            asking.cancel()
            _say("\nThe question no longer stands.")
            with suppress(asyncio.CancelledError):
                await asking
        else:
            asking.result()
        if self._timeline is not None:
            self._timeline.go_on()

    async def _ask(self, call: PendingApproval) -> None:
        if self._timeline is not None:
            self._timeline.pause()
        self._lines.forget()
        _say("\n".join(described(call, await to_publish(self._engine, call))))
        while (said := await self._typed(_QUESTION)) is not None:
            if said.lower() in ("y", "yes"):
                return await self._decide(call, approved=True)
            if said.lower() in ("n", "no"):
                return await self._decide(call, approved=False, reason=await self._typed(_WHY))
        _say("\nNobody is there to answer; the run waits. Ctrl-C cancels it.")
        return None

    async def _typed(self, question: str) -> str | None:
        print(question, end="", file=sys.stderr, flush=True)
        line = await self._lines.next()
        return None if line is None else line.strip()

    async def _decide(self, call: PendingApproval, *, approved: bool, reason: str | None = None) -> None:
        with suppress(NotFound):  # somebody else was quicker, or the run was cancelled
            await self._engine.approve_tool_call(self._run_id, call.call_id, approved, reason)


async def to_publish(engine: Engine, call: PendingApproval) -> str | None:
    """The text that a commit would put into the chat; None for other calls, and where it can't be read."""
    if call.name != "workspace.commit" or not is_object(call.arguments):
        return None
    path = call.arguments.get("path")
    try:
        if not isinstance(path, str) or not path.strip():
            profile = loads((await engine.read_workspace_file(call.run_id, RESOLVED_PROFILE)).text)
            path = profile["output"]["messageBodyPath"]
        return (await engine.read_workspace_file(call.run_id, path)).text
    except TreadleError:
        return None


def described(call: PendingApproval, published: str | None = None) -> list[str]:
    """The call for a person to judge, long texts cut; whatever could deceive a terminal is spelled out.

    `published` is the text that the call would put into the chat.
    """
    lines = [f"{call.name} (call {_plain(call.call_id)}, round {call.round}) asks to run with:"]
    if not is_object(call.arguments):
        return [*lines, *_field("arguments", call.arguments)]
    first = sorted(call.arguments, key=lambda key: key != "path")  # what it is about stands first
    lines += [line for key in first for line in _field(key, call.arguments[key])]
    return lines if published is None else [*lines, *_field("the text", published)]


def _field(key: str, value: Json) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = _cut(text).split("\n")
    if len(shown) == 1:
        return [f"  {_plain(key)}: {_plain(shown[0])}"]
    return [f"  {_plain(key)}:", *(f"    {_plain(line)}" for line in shown)]


def _cut(text: str) -> str:
    """As many whole lines as are wanted, and what is left out told."""
    kept = "\n".join(text[:_MOST_CHARS].split("\n")[:_MOST_LINES])
    more = len(text) - len(kept)
    return kept if more <= 0 else f"{kept}\n… and {more} more characters"


def _plain(text: str) -> str:
    return "".join(
        letter if letter.isprintable() or letter == "\t" else letter.encode("unicode_escape").decode()
        for letter in text
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
