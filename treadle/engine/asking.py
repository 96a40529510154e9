"""Waiting for the chat or for a person: a request goes out, and its answer comes from a host here or from outside."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import cast

from ..graph.errors import InvalidInput, NotFound, TreadleError
from ..graph.jsontext import Json
from ..graph.paths import WorkspacePath
from ..graph.ports import Ask, AskKind, ChatHost, CommitRequest
from ..nodes.deps import Run, in_thread

Answer = dict[str, Json]

_ID_FIELD: dict[AskKind, str] = {"chat_commit": "commitId", "persist_metadata": "updateId", "approval": "callId"}


@dataclass(frozen=True, slots=True)
class _Pending:
    run_id: str
    future: asyncio.Future[Answer]


class Asking:
    """The requests that wait for an answer, in one process."""

    def __init__(self, host: ChatHost | None) -> None:
        self._host = host
        self._pending: dict[tuple[AskKind, str], _Pending] = {}

    def for_run(self, run: Run) -> Ask:
        """How this run asks: the host here answers, or `answer` does."""

        async def ask(kind: AskKind, payload: dict[str, Json]) -> Answer:
            if self._host is not None and kind != "approval":
                return await answered_by(self._host, run, kind, payload)
            return await self._wait(run.id, kind, str(payload[_ID_FIELD[kind]]))

        return ask

    def waits(self, run_id: str) -> bool:
        """Whether a request of the run waits for its answer."""
        return any(pending.run_id == run_id for pending in self._pending.values())

    def answer(self, kind: AskKind, run_id: str, request_id: str, answer: Answer) -> None:
        """Resolve a request once; the codes are those of runtime specification 8.3 and 8.6."""
        family = _FAMILY[kind]
        if not run_id.strip() or not request_id.strip():
            raise InvalidInput(f"runId and {_ID_FIELD[kind]} must not be blank", code=f"{family}_resolve_invalid")
        pending = self._pending.get((kind, request_id))
        if pending is None or pending.future.done():
            raise NotFound(f"no request {request_id} is waiting", code=f"{family}_not_pending")
        if pending.run_id != run_id:
            raise InvalidInput(f"{request_id} belongs to run {pending.run_id}", code=f"{family}_run_mismatch")
        pending.future.set_result(answer)

    async def _wait(self, run_id: str, kind: AskKind, request_id: str) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending[kind, request_id] = _Pending(run_id, future)
        try:
            return await future
        finally:
            del self._pending[kind, request_id]


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


_FAMILY: dict[AskKind, str] = {
    "chat_commit": "agent.chat_commit",
    "persist_metadata": "agent.persistent_state_metadata_update",
    "approval": "agent.tool_approval",
}
