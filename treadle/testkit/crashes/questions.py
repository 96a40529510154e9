"""A scripted model for runs that are killed: what it answers depends on the round and the attempt, never on its memory.

Which round and attempt a request is for, the run's journal tells: the attempt's start is written before it is sent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from ...graph.events import EventType
from ...graph.jsontext import dumps, loads
from ...graph.ports import WireReply, WireRequest
from ...storage.runs import EVENTS as JOURNAL
from ..replies import Reply, error
from ..simulators.chat_rules import Rules, check
from ..simulators.http_server import Received
from ..turns import Refusal, Turn

ASKED: Final = "asked.jsonl"
Said = TypeVar("Said")

MANY: Final = 10_000
"""More answers than any play asks for."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request for an answer; the same round and attempt again is an answer that was paid for twice."""

    round: int
    attempt: int
    body: str = ""

    @property
    def key(self) -> tuple[int, int]:
        return self.round, self.attempt


class Questions:
    """What the model was asked, kept in a file below the play's folder, which outlives the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, body: bytes) -> Question:
        """Note a request, before it is answered."""
        round_number, attempt = self._asked_for()
        question = Question(round_number, attempt, body.decode("utf-8", "replace"))
        line = dumps({"round": round_number, "attempt": attempt, "body": question.body}) + b"\n"
        descriptor = os.open(self._folder / ASKED, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, line)
        os.close(descriptor)
        return question

    def read(self) -> tuple[Question, ...]:
        path = self._folder / ASKED
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return tuple(Question(**loads(line)) for line in lines)

    def steps(self, script: Sequence[Turn | Refusal]) -> list[Callable[[Received], Turn | Refusal]]:
        """What a simulator's script must be, for it to say this one: any request gets the answer of its attempt."""
        rounds = _in_rounds(script, lambda said: isinstance(said, Refusal))

        def step(request: Received) -> Turn | Refusal:
            said = _said(rounds, self.note(request.body))
            return Refusal(400, "The script has no answer left.", "script_exhausted") if said is None else said

        return [step] * MANY

    def transport(self, replies: Sequence[Reply]) -> ScriptedTransport:
        """A model in the run's own process, which speaks chat completions."""
        return ScriptedTransport(self, replies)

    def _asked_for(self) -> tuple[int, int]:
        """The round and the attempt that the journal says was started last."""
        started = b'"' + EventType.MODEL_CALL_ATTEMPT_STARTED.encode() + b'"'
        journal = next(self._folder.glob(f"data/_tauritavern/agent-workspaces/chats/*/runs/*/{JOURNAL}"))
        line = next(line for line in reversed(journal.read_bytes().split(b"\n")) if started in line)
        told = loads(line)["payload"]
        return told["round"], told["attempt"]


class ScriptedTransport:
    """A `ModelTransport`; what breaks a rule of chat completions raises RequestRefused."""

    base_url = "http://scripted.invalid/v1"

    def __init__(self, questions: Questions, replies: Sequence[Reply]) -> None:
        self._questions = questions
        self._rounds = _in_rounds(replies, lambda reply: reply.status >= 400)

    async def send(self, request: WireRequest) -> WireReply:
        check(loads(request.body), Rules())
        said = _said(self._rounds, self._questions.note(request.body))
        reply = error(400, "The script has no answer left.") if said is None else said
        return WireReply(reply.status, reply.headers, reply.body)

    async def close(self) -> None:
        """There is nothing to close."""


def _in_rounds(script: Iterable[Said], is_refusal: Callable[[Said], bool]) -> list[list[Said]]:
    """Each round's answers by attempt: refusals, and what follows them."""
    rounds: list[list[Said]] = []
    goes_on = False
    for said in script:
        if goes_on:
            rounds[-1].append(said)
        else:
            rounds.append([said])
        goes_on = is_refusal(said)
    return rounds


def _said(rounds: list[list[Said]], question: Question) -> Said | None:
    if not 0 < question.round <= len(rounds):
        return None
    attempts = rounds[question.round - 1]
    return attempts[question.attempt - 1] if question.attempt <= len(attempts) else None
