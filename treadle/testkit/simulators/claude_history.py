"""The order that Anthropic's Messages keeps: who speaks when, each call answered at once, thinking as it was sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...gateway.wire import elements, member, to_text
from ...graph.jsontext import Json, is_list, is_object, loads
from .provider import RequestRefused
from .sent import Ledger, stands_in

_THINKING = ("thinking", "redacted_thinking")
_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


@dataclass(frozen=True, slots=True)
class _Message:
    """One message; a content that is a string has no slices."""

    place: int
    role: str
    blocks: list[dict[str, Json]]
    slices: list[str]

    def of(self, *kinds: str) -> Iterator[tuple[int, dict[str, Json]]]:
        return ((place, block) for place, block in enumerate(self.blocks) if block["type"] in kinds)

    @property
    def call_ids(self) -> list[str]:
        return [block["id"] for _, block in self.of("tool_use")]


class History:
    """What a server has sent, and whether a conversation keeps the rules."""

    def __init__(self, *, alternating: bool) -> None:
        self._alternating = alternating
        self._ledger = Ledger()

    def record(self, blocks: Sequence[bytes], *, paused: bool) -> None:
        """Remember an answer; bytes that are no JSON are sent, but never known again."""
        values = [block for block in map(_parsed, blocks) if is_object(block)]
        marks = [
            block[key] for block in values for key in ("id", "signature", "data") if isinstance(block.get(key), str)
        ]
        self._ledger.record(marks, blocks, paused=paused)

    def check(self, data: bytes, body: dict[str, Json]) -> None:
        """Raises RequestRefused where the messages of a body that is well formed break a rule."""
        messages = list(_messages(data, body))
        self._check_roles(messages)
        _check_answers(messages)
        loop = messages[_loop_start(messages) :]
        for message in messages:
            if message.role == "assistant":
                self._check_sent(message, current=message in loop)
        self._check_end(messages[-1])
        thinking = body.get("thinking")
        if is_object(thinking) and thinking["type"] == "enabled":
            _check_thinking_first(loop)

    def _check_roles(self, messages: Sequence[_Message]) -> None:
        if messages[0].role != "user":
            raise RequestRefused('messages: first message must use the "user" role')
        for before, after in pairwise(messages):
            if self._alternating and before.role == after.role:
                raise RequestRefused(
                    'messages: roles must alternate between "user" and "assistant", '
                    f'but found multiple "{after.role}" roles in a row'
                )

    def _check_end(self, last: _Message) -> None:
        if last.role == "assistant" and not self._ledger.was_paused(last.slices):
            raise RequestRefused(
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )

    def _check_sent(self, message: _Message, *, current: bool) -> None:
        """`current`: in the turn that is going on, where nothing of an answer may be left out either."""
        for place, block in message.of("tool_use"):
            answer = self._ledger.answer(block["id"])
            if current and answer is not None and not stands_in(answer, message.slices):
                raise self._changed(answer, message, place)
        for place, block in message.of(*_THINKING):
            if not self._ledger.holds(message.slices[place]):
                raise self._unsigned(block, f"messages.{message.place}.content.{place}", current=current)

    def _changed(self, answer: tuple[str, ...], message: _Message, place: int) -> RequestRefused:
        where = f"messages.{message.place}.content.{place}"
        thoughts = [block for block in answer if loads(block).get("type") in _THINKING]
        given = [message.slices[at] for at, _ in message.of(*_THINKING)]
        if not set(thoughts) <= set(given):
            return RequestRefused(f"{where}: {_MODIFIED}")
        return RequestRefused(
            f"{where}: the blocks of this answer are not, byte for byte and in order, what this server sent"
        )

    def _unsigned(self, block: dict[str, Json], where: str, *, current: bool) -> RequestRefused:
        kind, key = block["type"], "signature" if block["type"] == "thinking" else "data"
        mark = block.get(key)
        if current and isinstance(mark, str) and self._ledger.answer(mark) is not None:
            return RequestRefused(f"{where}: {_MODIFIED}")
        return RequestRefused(f"{where}: Invalid `{key}` in `{kind}` block")


def _messages(data: bytes, body: dict[str, Json]) -> Iterator[_Message]:
    raws = elements(member(to_text(data), "messages") or "[]")
    for place, (message, raw) in enumerate(zip(body["messages"], raws, strict=True)):
        content = message["content"]
        if is_list(content):
            yield _Message(place, message["role"], content, elements(member(raw, "content") or "[]"))
        else:
            yield _Message(place, message["role"], [{"type": "text", "text": content}], [])


def _loop_start(messages: Sequence[_Message]) -> int:
    """Where the turn that is going on begins: behind the last message of a user that holds more than results."""
    said = [
        at
        for at, message in enumerate(messages)
        if message.role == "user" and not any(True for _ in message.of("tool_result"))
    ]
    return said[-1] if said else 0


def _check_answers(messages: Sequence[_Message]) -> None:
    """Each call has its one result at the head of the next message, and no result has no call."""
    seen: set[str] = set()
    calls: list[str] = []
    for message in messages:
        head: list[str] = []
        for place, block in message.of("tool_result"):
            given, where = block["tool_use_id"], f"messages.{message.place}.content.{place}"
            if given not in calls:
                raise RequestRefused(
                    f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {given}. Each `tool_result` "
                    "block must have a corresponding `tool_use` block in the previous message."
                )
            if given in head:
                raise RequestRefused(
                    f"{where}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {given}"
                )
            if place == len(head):
                head.append(given)
        _check_answered(message.place - 1, [call for call in calls if call not in head])
        calls = message.call_ids
        if len(seen | set(calls)) != len(seen) + len(calls):
            raise RequestRefused("messages: `tool_use` ids must be unique")
        seen |= set(calls)
    _check_answered(len(messages) - 1, calls)


def _check_answered(place: int, unanswered: Sequence[str]) -> None:
    if unanswered:
        raise RequestRefused(
            f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(unanswered)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )


def _check_thinking_first(loop: Sequence[_Message]) -> None:
    """With thinking on a budget, the answer whose calls are being answered begins with its thinking."""
    asked = [message for message in loop if message.role == "assistant"]
    if not asked or asked[-1].blocks[0]["type"] in _THINKING or not asked[-1].call_ids:
        return
    raise RequestRefused(
        f"messages.{asked[-1].place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        f"`{asked[-1].blocks[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start with a "
        "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include "
        "thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
    )


def _parsed(block: bytes) -> Json:
    try:
        return loads(block)
    except ValueError:
        return None
