"""Contestant (b), the floor: a hand-written loop that leaves the same files and the same journal, with no graph.

It is the least that the durable record can cost: no lease, no look at what was done before, no checks of paths or limits.
Its file work is done in a thread, in four batches a round as the engine's is, so that the event loop is free; the variant
that blocks the loop is measured too. What it writes is compared with the engine's in `tests/test_benchmarks.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from measuring import Measured, folder_figures, measured
from records import answered, completed, response, result
from work import Laps, instant_model, start_request

from treadle.engine.services import Services
from treadle.engine.starting import checked_start, lay_down
from treadle.gateway.gateway import Exchange
from treadle.gateway.outgoing import Outgoing
from treadle.gateway.provider_state import initial
from treadle.graph.events import EventType
from treadle.graph.jsontext import Json
from treadle.graph.messages import Message, ModelResponse, Role, ToolCall, ToolResult, ToolResultPart
from treadle.graph.paths import WorkspacePath
from treadle.graph.status import RunStatus
from treadle.graph.text import sha256_bytes
from treadle.nodes.deps import Equipment
from treadle.nodes.equipment import equip
from treadle.nodes.start_request import start_request as parsed
from treadle.storage.checkpoints import CheckpointStore, checkpoint_id
from treadle.storage.folder import pretty
from treadle.storage.journal import Entry, Journal
from treadle.storage.runs import EVENTS, RunRecord, at_status, body_path, call_path, response_path

Apart = Callable[[Callable[[], None]], Awaitable[None]]
"""Where blocking work is done."""


async def in_place(work: Callable[[], None]) -> None:
    work()


async def run_floor(folder: Path, rounds: int, apart: Apart = asyncio.to_thread) -> Measured:
    """So many rounds below `folder`, and the model call that would begin the next."""
    laps = Laps()
    loop = await open_loop(folder, rounds, laps, apart)
    for number in range(1, rounds + 1):
        await loop.write(number, await loop.ask(number))
    await loop.last_call()
    return measured(laps, rounds, folder_figures(loop.path))


async def open_loop(folder: Path, rounds: int, laps: Laps, apart: Apart) -> Loop:
    """A run laid down below `folder`, before its first round."""
    services = Services(folder, None, instant_model(rounds, laps))
    request = parsed(start_request(rounds))
    checked = await checked_start(services, request)
    lay_down(services, checked, request)
    equipment = equip(checked.equipped.profile, request.prompt_snapshot, services.gateway)
    return Loop(services, checked.record, equipment, apart)


class Loop:
    """The two halves of a round."""

    def __init__(self, services: Services, record: RunRecord, equipment: Equipment, apart: Apart) -> None:
        self._services = services
        self._record = record
        self._equipment = equipment
        self._apart = apart
        self.path = services.store.folder(record)
        self._journal = Journal(
            self.path / EVENTS, run_id=record.id, disk=services.disk, clock=services.clock, ids=services.ids
        )
        self._checkpoints = CheckpointStore(self.path, record.id, services.disk, services.clock)
        self._fragments = list(equipment.conversation.fragments)
        self._state = initial(record.id)
        self._made: dict[str, str] = {}
        """The hash of each file that was written."""

    async def ask(self, number: int) -> ModelResponse:
        """The model's answer to everything so far, stored."""
        gateway, equipment = self._services.gateway, self._equipment
        await self._apart(lambda: self._begin(number))
        exchange = await gateway.generate(self._outgoing())
        self._state = exchange.provider_state
        await self._apart(lambda: self._store(number, exchange))
        self._fragments.append(gateway.encode_turn(equipment.connection, exchange.response.message, exchange.native))
        return exchange.response

    async def write(self, number: int, answer: ModelResponse) -> None:
        """The file that the answer's one call asks for: intent, effect, result; then its checkpoint."""
        (call,) = answer.tool_calls
        text = call.arguments["content"]
        data, path = text.encode(), WorkspacePath(call.arguments["path"])
        given = result(call, path, text, sha256_bytes(data))
        told: dict[str, Json] = {"round": number, "callId": call.id}
        await self._apart(lambda: self._change(told, call, given, data))
        await self._apart(lambda: self._keep(number, {**told, **given.structured}, path))
        message = Message(Role.TOOL, (ToolResultPart(given),))
        self._fragments.append(self._services.gateway.encode_turn(self._equipment.connection, message))

    async def last_call(self) -> None:
        """The call after the last round, which ends that round's time; its answer is dropped."""
        await self._services.gateway.generate(self._outgoing())

    def _outgoing(self) -> Outgoing:
        equipment = self._equipment
        return self._services.gateway.outgoing(
            equipment.connection, equipment.settings, self._fragments, equipment.specs, self._state
        )

    def _begin(self, number: int) -> None:
        retries = self._equipment.profile.max_retries
        self._journal.append(
            [
                self._enter(RunStatus.CALLING_MODEL),
                Entry(EventType.MODEL_REQUEST_CREATED, {"round": number, "request": self._summary()}),
                Entry(EventType.MODEL_CALL_ATTEMPT_STARTED, {"round": number, "attempt": 1, "maxRetries": retries}),
            ]
        )

    def _store(self, number: int, exchange: Exchange) -> None:
        self._put(body_path(number), exchange.body)
        self._put(response_path(number), pretty(response(number, exchange)))
        self._journal.append(answered(number, exchange))

    def _change(self, told: dict[str, Json], call: ToolCall, given: ToolResult, data: bytes) -> None:
        path, sha256 = given.structured["path"], given.structured["sha256"]
        stored = call_path("tool-results", call.id, told["round"], told["round"])
        self._put(stored, pretty(given.to_json()))
        self._open_call(told, call, path, sha256)
        self._put(path, data)
        self._made[path] = sha256
        self._journal.append(
            [
                Entry(EventType.TOOL_RESULT_STORED, {**told, "path": stored}),
                Entry(EventType.TOOL_CALL_COMPLETED, {**told, **completed(given)}),
            ]
        )

    def _open_call(self, told: dict[str, Json], call: ToolCall, path: str, sha256: str) -> None:
        arguments = call_path("tool-args", call.id, told["round"], told["round"])
        self._put(arguments, pretty(call.arguments))
        effect = {"path": path, "preSha256": self._made.get(path), "postSha256": sha256}
        requested = {**told, "name": call.name, "argumentsRef": arguments, "providerMetadata": call.metadata}
        self._journal.append(
            [
                Entry(EventType.TOOL_CALL_REQUESTED, requested),
                self._enter(RunStatus.DISPATCHING_TOOL),
                Entry(EventType.TOOL_CALL_STARTED, {**told, "name": call.name, "effect": effect}),
            ]
        )

    def _keep(self, number: int, written: dict[str, Json], path: WorkspacePath) -> None:
        """The checkpoint of the round's file."""
        identifier, reason = checkpoint_id(number), "tool_workspace_write"
        events = self._journal.append(
            [self._enter(RunStatus.CREATING_CHECKPOINT), Entry(EventType.WORKSPACE_FILE_WRITTEN, written)]
        )
        self._checkpoints.create(checkpoint_id=identifier, reason=reason, event_seq=events[-1].seq, paths=[path])
        self._journal.append([Entry(EventType.CHECKPOINT_CREATED, {"checkpointId": identifier, "reason": reason})])

    def _enter(self, status: RunStatus) -> Entry:
        self._record = at_status(self._record, status, self._services.clock.now())
        self._services.store.save(self._record)
        return Entry(EventType.STATUS_CHANGED, {"status": str(status)})

    def _put(self, path: str, data: bytes) -> None:
        self._services.disk.replace(self.path / path, data)

    def _summary(self) -> dict[str, Json]:
        settings = self._equipment.settings
        return {
            "chatCompletionSource": settings.get("chat_completion_source"),
            "customApiFormat": settings.get("custom_api_format"),
            "model": settings.get("model"),
            "messageCount": len(self._fragments),
            "toolCount": len(self._equipment.specs),
        }
