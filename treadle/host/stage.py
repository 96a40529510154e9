"""One chat, one data root, one screen: what a command that drives a run works on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ..graph.errors import RunBusy
from ..graph.identity import ChatRef
from ..graph.jsontext import Json
from ..storage.leases import LEASE_MS
from ..storage.wire_log import WireLevel
from .approving import Answers, answers
from .chat_folder import ChatFolderHost
from .driving import all_events, drive
from .ending import Ending, ending, print_json, show_ending, show_next
from .options import DEFAULT_DATA, data_option, program
from .timeline import Timeline

if TYPE_CHECKING:
    from ..engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Stage:
    chat: Path
    root: Path
    host: ChatFolderHost
    ref: ChatRef
    console: Console
    plain: bool = False
    as_json: bool = False
    wire_log: WireLevel | None = None
    answers: Answers = Answers.NOBODY
    """Who answers where a call waits for a person."""

    @classmethod
    def at(
        cls,
        chat: Path,
        root: Path,
        *,
        plain: bool = False,
        as_json: bool = False,
        wire_log: WireLevel | None = None,
        yes: bool = False,
    ) -> Stage:
        """Raises InvalidInput where the path can't be a chat's."""
        host, ref = ChatFolderHost.for_chat(chat)
        return cls(
            chat, root, host, ref, Console(highlight=False), plain=plain, as_json=as_json, wire_log=wire_log,
            answers=answers(yes=yes),
        )  # fmt: skip

    def engine(self) -> Engine:
        from ..engine.engine import Engine

        return Engine(self.root, self.host, wire_log=self.wire_log)

    async def begin(self, engine: Engine, request: dict[str, Json]) -> Ending:
        """Start the run and follow it to its end; a run that is there already, of that name and input, goes on."""
        name = request.get("runId")
        known = isinstance(name, str) and engine.services.store.exists(name)
        handle = await engine.start_run_with_prompt_snapshot(request)
        return await (self.go_on if known else self.attend)(engine, handle.run_id)

    async def go_on(self, engine: Engine, run_id: str, *, force: bool = False) -> Ending:
        """Drive a run from where it was left, and follow it to its end."""
        before = await all_events(engine, run_id)
        try:
            await engine.resume_run(run_id, force=force)
        except RunBusy as busy:
            after_kill = f"if that one was killed, try again in {LEASE_MS // 1000} s"
            raise RunBusy(
                f"another process is driving run {run_id}: wait for it, or cancel the run; {after_kill}"
            ) from busy
        return await self.attend(engine, run_id, after_seq=before[-1].seq if before else 0)

    async def attend(self, engine: Engine, run_id: str, *, after_seq: int = 0) -> Ending:
        """Follow the run to its end on the screen."""
        if self.as_json:
            record = await drive(engine, run_id, None, self.answers, after_seq=after_seq)
        else:
            with Timeline(self.console, plain=self.plain) as timeline:
                record = await drive(engine, run_id, timeline, self.answers, after_seq=after_seq)
        pending = [] if record.status.is_terminal else await engine.pending_approvals(run_id)
        waits = pending[0] if pending else None
        return await ending(self.root, record, await all_events(engine, run_id), self.host, self.ref, waits)

    def close(self, end: Ending) -> int:
        """Show how it ended; the exit code."""
        if self.as_json:
            print_json(end.to_json())
            return end.exit_code
        show_ending(self.console, end, self.chat, plain=self.plain)
        where = data_option(None if self.root == Path(DEFAULT_DATA) else self.root)
        run = end.record.id
        commands = [f"runs show {run}", f"runs events {run}"]
        if end.waits:
            call = shlex.quote(end.waits.call_id)
            commands = [f"approve {run} {call}", f"approve {run} {call} --deny --reason TEXT", f"resume {run}"]
        if self.wire_log == "full":
            commands.append(f"wire {run} 1")
        show_next(self.console, tuple(f"{program()} {command}{where}" for command in commands))
        return end.exit_code
