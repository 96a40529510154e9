"""Waiting for the chat or for a person: a request goes out, and its answer comes from a host here or from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

from ..graph.errors import InvalidInput, NotFound, TreadleError
from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.paths import WorkspacePath
from ..graph.ports import Ask, AskKind, ChatHost, CommitRequest
from ..nodes.deps import Run, in_thread

Answer = dict[str, Json]


class _Kind(NamedTuple):
    """How requests of a kind are named, journalled, and refused an answer."""

    id_field: str
    requested: EventType
    codes: str


_KINDS: dict[AskKind, _Kind] = {
    "chat_commit": _Kind("commitId", EventType.CHAT_COMMIT_REQUESTED, "agent.chat_commit"),
    "persist_metadata": _Kind(
        "updateId",
        EventType.PERSISTENT_STATE_METADATA_UPDATE_REQUESTED,
        "agent.persistent_state_metadata_update",
    ),
    "approval": _Kind("callId", EventType.TOOL_CALL_AWAITING_APPROVAL, "agent.tool_approval"),
}


class Asking:
    """The requests of this process's runs. A journalled request may be answered before its run comes to wait for it."""

    def __init__(self, host: ChatHost | None, driven: Callable[[str], Run | None]) -> None:
        self._host = host
        self._driven = driven
        self._answers: dict[tuple[str, AskKind, str], asyncio.Future[Answer]] = {}

    def for_run(self, run: Run) -> Ask:
        """How this run, just opened, asks: the host here answers, or `answer` does."""
        for key in list(self._answers):
            if key[0] == run.id:
                self._answers.pop(key, None)  # of an earlier driver of this run

        async def ask(kind: AskKind, payload: dict[str, Json]) -> Answer:
            if self._host is not None and kind != "approval":
                return await answered_by(self._host, run, kind, payload)
            return await self._answer_to(run.id, kind, str(payload[_KINDS[kind].id_field]))

        return ask

    async def answer(self, kind: AskKind, run_id: str, request_id: str, answer: Answer) -> None:
        """Resolve a request once; the codes are those of docs/errors.md."""
        named = _KINDS[kind]
        if not run_id.strip() or not request_id.strip():
            raise InvalidInput(f"runId and {named.id_field} must not be blank", code=f"{named.codes}_resolve_invalid")
        owner = await self._owner(named, run_id, request_id)
        if owner is not None and owner != run_id:
            raise InvalidInput(f"{request_id} belongs to run {owner}", code=f"{named.codes}_run_mismatch")
        future = None if owner is None else self._answer_to(run_id, kind, request_id)
        if future is None or future.done():
            raise NotFound(f"no request {request_id} is waiting", code=f"{named.codes}_not_pending")
        future.set_result(answer)

    def _answer_to(self, run_id: str, kind: AskKind, request_id: str) -> asyncio.Future[Answer]:
        key = (run_id, kind, request_id)
        if key not in self._answers:
            self._answers[key] = asyncio.get_running_loop().create_future()
        return self._answers[key]

    async def _owner(self, named: _Kind, run_id: str, request_id: str) -> str | None:
        """The live run that journalled this request and still wants its answer."""
        run = self._driven(run_id)
        if run is not None and not run.cancel.is_raised:
            tells = partial(run.folder.tells, named.requested, named.id_field, request_id)
            if await in_thread(tells):
                return run_id
        return next((owner for owner, _, asked in self._answers if asked == request_id), None)


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


def _commit_request(run: Run, payload: dict[str, Json]) -> CommitRequest:
    earlier = [commit for commit in run.commits if commit[0] != payload["commitId"]]
    return CommitRequest(
        payload=payload,
        text=run.workspace.read_text(WorkspacePath(cast(str, payload["path"]))),
        commit_seq=len(earlier) + 1,
        head=run.folder.record.chat_head,
        message_id=earlier[-1][1] if earlier else None,
    )
