"""Waiting for the chat or for a person: a request goes out, and its answer comes from a host here or from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

from ..graph.errors import InvalidInput, NotFound, TreadleError
from ..graph.events import Event, EventType
from ..graph.jsontext import Json, loads
from ..graph.paths import WorkspacePath
from ..graph.ports import Ask, AskKind, ChatHost, CommitRequest
from ..nodes.deps import Run, in_thread

Answer = dict[str, Json]

GLANCE_SECONDS = 0.5
"""How often a run that waits for a person looks for an answer that another process left."""


class _Kind(NamedTuple):
    """How requests of a kind are named, journalled, settled, and refused an answer."""

    id_field: str
    requested: EventType
    settled: tuple[EventType, EventType]
    codes: str


_KINDS: dict[AskKind, _Kind] = {
    "chat_commit": _Kind(
        "commitId",
        EventType.CHAT_COMMIT_REQUESTED,
        (EventType.CHAT_COMMIT_COMPLETED, EventType.CHAT_COMMIT_FAILED),
        "agent.chat_commit",
    ),
    "persist_metadata": _Kind(
        "updateId",
        EventType.PERSISTENT_STATE_METADATA_UPDATE_REQUESTED,
        (EventType.PERSISTENT_STATE_METADATA_UPDATED, EventType.PERSISTENT_STATE_METADATA_UPDATE_FAILED),
        "agent.persistent_state_metadata_update",
    ),
    "approval": _Kind(
        "callId",
        EventType.TOOL_CALL_AWAITING_APPROVAL,
        (EventType.TOOL_CALL_APPROVED, EventType.TOOL_CALL_DENIED),
        "agent.tool_approval",
    ),
}


class _Key(NamedTuple):
    """One request: call ids may come again in a later round."""

    run_id: str
    kind: AskKind
    request_id: str
    round: int | None


@dataclass(frozen=True, slots=True)
class Request:
    """A request that waits for its answer."""

    run: Run
    payload: dict[str, Json]
    _future: asyncio.Future[Answer]
    _refusal: NotFound

    def resolve(self, answer: Answer) -> None:
        """The first answer holds; raises NotFound for another."""
        if self._future.done() or self.run.cancel.is_raised:
            raise self._refusal
        self._future.set_result(answer)


class Asking:
    """The requests of this process's runs. A journalled request may be answered before its run comes to wait for it."""

    def __init__(self, host: ChatHost | None, driven: Callable[[str], Run | None]) -> None:
        self._host = host
        self._driven = driven
        self._answers: dict[_Key, asyncio.Future[Answer]] = {}

    def for_run(self, run: Run) -> Ask:
        """How this run, just opened, asks: the host here answers, or `answer` does."""
        self.forget(run.id)  # what an earlier driver of this run left

        async def ask(kind: AskKind, payload: dict[str, Json]) -> Answer:
            if self._host is not None and kind != "approval":
                return await answered_by(self._host, run, kind, payload)
            future = self._answer_to(_key(run, kind, payload))
            return await (_or_left_word(future, run, payload) if kind == "approval" else future)

        return ask

    def forget(self, run_id: str) -> None:
        """Nobody here waits for answers to this run any more."""
        for key in [key for key in self._answers if key.run_id == run_id]:
            self._answers.pop(key, None)

    @property
    def held(self) -> int:
        """How many requests of live runs are kept, answered or not."""
        return len(self._answers)

    def drives(self, run_id: str) -> bool:
        """Whether the run is driven by this process."""
        return self._driven(run_id) is not None

    async def answer(self, kind: AskKind, run_id: str, request_id: str, answer: Answer) -> None:
        """Resolve a request once; the codes are those of docs/errors.md."""
        (await self.request(kind, run_id, request_id)).resolve(answer)

    async def request(self, kind: AskKind, run_id: str, request_id: str) -> Request:
        """The request of this run that waits; raises InvalidInput or NotFound where none of that id does."""
        named = _KINDS[kind]
        check_ids(kind, run_id, request_id)
        run = self._driven(run_id)
        waiting = [] if run is None else await in_thread(partial(_waiting, run, named))
        if self._driven(run_id) is not run:  # it ended while it was asked
            run = None
        payload = next((told for told in waiting if told[named.id_field] == request_id), None)
        if run is None or payload is None:
            self._check_owner(named, run_id, request_id)
            raise not_pending(kind, request_id, [told[named.id_field] for told in waiting])
        return Request(run, payload, self._answer_to(_key(run, kind, payload)), not_pending(kind, request_id))

    def _answer_to(self, key: _Key) -> asyncio.Future[Answer]:
        if key not in self._answers:
            self._answers[key] = asyncio.get_running_loop().create_future()
        return self._answers[key]

    def _check_owner(self, named: _Kind, run_id: str, request_id: str) -> None:
        """Raises InvalidInput where the request is another run's."""
        owner = next((key.run_id for key in self._answers if key.request_id == request_id), run_id)
        if owner != run_id:
            raise InvalidInput(f"{request_id} belongs to run {owner}", code=f"{named.codes}_run_mismatch")


def check_ids(kind: AskKind, run_id: str, request_id: str) -> None:
    """Raises InvalidInput for a blank one."""
    named = _KINDS[kind]
    if not run_id.strip() or not request_id.strip():
        raise InvalidInput(f"runId and {named.id_field} must not be blank", code=f"{named.codes}_resolve_invalid")


def not_pending(kind: AskKind, request_id: str, waiting: list[Json] | None = None) -> NotFound:
    """That no request of this id wants an answer, and which one does."""
    instead = f"; {', '.join(map(str, waiting))} is" if waiting else ""
    return NotFound(f"no request {request_id} is waiting{instead}", code=f"{_KINDS[kind].codes}_not_pending")


def approval_mark(round_number: int, call_id: str) -> str:
    """Under which name another process leaves its answer in `run.sqlite`."""
    return f"approval:{round_number}:{call_id}"


async def answered_by(host: ChatHost, run: Run, kind: AskKind, payload: dict[str, Json]) -> Answer:
    """The host's answer; what it raises becomes the answer's `error`, with its code in front."""
    try:
        if kind == "chat_commit":
            receipt = await host.commit(await in_thread(lambda: _commit_request(run, payload)))
            return {"messageId": receipt.message_id}
        await host.update_persist_metadata(payload)
    except TreadleError as error:
        return {"error": str(error)}
    return {}


async def _or_left_word(future: asyncio.Future[Answer], run: Run, payload: dict[str, Json]) -> Answer:
    """The answer that is given here, or the one that another process left."""
    name = approval_mark(payload["round"], payload["callId"])
    while not future.done():
        left = await in_thread(partial(_left_word, run, name))
        if left is not None and not future.done():
            future.set_result(loads(left))
        await asyncio.wait([future], timeout=GLANCE_SECONDS)
    return future.result()


def _left_word(run: Run, name: str) -> str | None:
    with suppress(TreadleError):  # the run's next effect meets the same trouble, and says so
        return run.folder.marked(name)
    return None


def _key(run: Run, kind: AskKind, payload: dict[str, Json]) -> _Key:
    return _Key(run.id, kind, str(payload[_KINDS[kind].id_field]), payload.get("round"))


def _waiting(run: Run, named: _Kind) -> list[dict[str, Json]]:
    """The payloads of what the run has asked and not been answered; of a run that is being cancelled, none."""
    if run.cancel.is_raised:
        return []
    settled = {_place(event, named) for kind in named.settled for event in run.folder.told_of(kind)}
    return [event.payload for event in run.folder.told_of(named.requested) if _place(event, named) not in settled]


def _place(event: Event, named: _Kind) -> tuple[Json, Json]:
    return event.payload[named.id_field], event.payload.get("round")


def _commit_request(run: Run, payload: dict[str, Json]) -> CommitRequest:
    earlier = [commit for commit in run.commits if commit[0] != payload["commitId"]]
    return CommitRequest(
        payload=payload,
        text=run.workspace.read_text(WorkspacePath(cast(str, payload["path"]))),
        commit_seq=len(earlier) + 1,
        head=run.folder.record.chat_head,
        message_id=earlier[-1][1] if earlier else None,
    )
