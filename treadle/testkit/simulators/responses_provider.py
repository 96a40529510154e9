"""What a Responses provider makes of each request, however it came: it holds the script, the rules and the memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...graph.jsontext import Json, dumps, is_object, loads
from ..replies import Reply, error
from ..turns import Refusal, Turn
from .http_server import Received
from .responses_history import Ledger
from .responses_refusals import RequestRefused, no_such_response
from .responses_rules import Asked, InputItem, read
from .responses_script import Answer, Broken, Done, Step
from .responses_turns import scripted, spoilt
from .responses_writing import Writer, document, events


@dataclass(slots=True)
class Memory:
    """What one socket remembers: its last response, and all items up to that response's end."""

    response_id: str | None = None
    items: tuple[InputItem, ...] = ()

    def recalled(self, response_id: str | None) -> tuple[InputItem, ...]:
        """The items that a continuation of this response goes on from; raises RequestRefused for an unknown one."""
        if response_id is None:
            return ()
        if response_id != self.response_id:
            raise no_such_response(response_id)
        return self.items

    def forget(self) -> None:
        self.response_id, self.items = None, ()


@dataclass(frozen=True, slots=True)
class Sending:
    """What is sent for one request; `cut` tells after how many events it breaks off, if it does."""

    reply: Reply
    """Over HTTP."""
    frames: Iterator[bytes]
    """On a socket."""
    delay: float = 0.0
    cut: Broken | None = None


class Provider:
    """Answers from the script what the rules let through."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps = deque(steps)
        self.requests: list[Received] = []
        self.refusals: list[str] = []
        self.aborted = 0
        self._ledger = Ledger()
        self._writer = Writer()

    def refused(self, refused: RequestRefused) -> Reply:
        self.refusals.append(refused.message)
        return refused.reply()

    def take(self, request: Received, memory: Memory | None) -> Sending:
        """What to send; without a memory the request came over HTTP."""
        self.requests.append(request)
        held = Memory() if memory is None else memory
        try:
            asked = read(request.body, on_socket=memory is not None)
            recalled = held.recalled(asked.previous)
            self._ledger.check(recalled, asked.items)
        except RequestRefused as refused:
            _evict_continued(request, held)
            return said(self.refused(refused))
        step = self._step(request)
        cut = step if isinstance(step, Broken) else None
        made = step.turn if isinstance(step, Broken) else step
        if isinstance(made, Reply):
            if made.status >= 400:
                _evict_continued(request, held)
            return said(made, cut)
        return self._answered(asked, made, held, recalled, cut)

    def _step(self, request: Received) -> Done:
        if not self.steps:
            return error(400, "The script has no answer left.", code="script_exhausted")
        step = self.steps.popleft()
        said = step(request) if callable(step) else step
        return scripted(said) if isinstance(said, Turn | Refusal) else said

    def _answered(
        self, asked: Asked, answer: Answer, memory: Memory, recalled: tuple[InputItem, ...], cut: Broken | None
    ) -> Sending:
        response_id = self._writer.response_id()
        output = self._writer.items(answer, encrypted=asked.wants_encrypted)
        sent = self._ledger.record(output)
        memory.forget()
        if answer.status != "failed" and not answer.forgotten:
            memory.response_id, memory.items = response_id, (*recalled, *asked.items, *sent)
        body = spoilt(answer.fault, document(asked, response_id, answer, output))
        reply = Reply(body, delay=answer.delay)
        frames = _frames(answer, events(asked, response_id, answer, output))
        return Sending(_cut(reply, cut), frames, answer.delay, cut)


def said(reply: Reply, cut: Broken | None = None) -> Sending:
    """A reply as it is over HTTP; on a socket one frame: an error event, or the body where it is no error."""
    if reply.drop != "never":
        cut = Broken(reply, 0)
    return Sending(_cut(reply, cut), iter((_frame(reply),)), reply.delay, cut)


def _cut(reply: Reply, cut: Broken | None) -> Reply:
    if cut is None or reply.drop != "never":
        return reply
    return replace(reply, drop="inside_body" if cut.events else "before_answer")


def _frame(reply: Reply) -> bytes:
    document = _parsed(reply.body)
    if reply.status < 400 or not is_object(document) or "error" not in document:
        return reply.body
    headers = {"headers": dict(reply.headers)} if reply.headers else {}
    return dumps({"type": "error", "status": reply.status, "error": document["error"], **headers})


def _frames(answer: Answer, made: Iterator[bytes]) -> Iterator[bytes]:
    *begun, end = made
    yield from answer.ahead
    yield from begun
    yield spoilt(answer.fault, end)


def _evict_continued(request: Received, memory: Memory) -> None:
    """A continuation that fails evicts what it refers to."""
    body = _parsed(request.body)
    if is_object(body) and body.get("previous_response_id") == memory.response_id:
        memory.forget()


def _parsed(data: bytes) -> Json:
    try:
        return loads(data)
    except ValueError:
        return None
