"""What a Responses server knows of earlier turns: the items it sent, and how they must come back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...graph.jsontext import loads
from .responses_refusals import RequestRefused, missing
from .responses_rules import InputItem, check_shape

ID_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fc", "reasoning": "rs"}


@dataclass(frozen=True, slots=True)
class _Sent:
    raw: bytes
    follower: str | None
    """The id of the item that came next in its response."""
    reasoning: str | None
    """The id of the reasoning item that came just before it."""


class Ledger:
    """Every item that a server has sent."""

    def __init__(self) -> None:
        self._sent: dict[str, _Sent] = {}

    def record(self, output: Sequence[bytes]) -> tuple[InputItem, ...]:
        """Remember a response's items; what they are to later requests."""
        items = tuple(InputItem(raw, loads(raw), "input") for raw in output)
        for place, item in enumerate(items):
            if item.id is None:
                continue
            before = items[place - 1] if place else None
            after = items[place + 1] if place + 1 < len(items) else None
            reasoning = before.id if before is not None and before.kind == "reasoning" else None
            self._sent[item.id] = _Sent(item.raw, None if after is None else after.id, reasoning)
        return items

    def check(self, held: Sequence[InputItem], given: Sequence[InputItem]) -> None:
        """Raises RequestRefused where `given`, after the items that a continuation `held`, breaks a rule."""
        for item in given:
            self._check_known(item)
        whole = [*held, *given]
        _check_unique(whole)
        self._check_neighbours(whole)
        _check_calls(whole)

    def _check_known(self, item: InputItem) -> None:
        sent = None if item.id is None else self._sent.get(item.id)
        if item.kind == "item_reference" or (item.kind == "reasoning" and not item.value.get("encrypted_content")):
            raise missing(f"{item.where}.id") if item.id is None else _not_found(item.id)
        if sent is not None:
            if item.raw != sent.raw:
                raise _changed(item, sent)
        elif item.kind == "reasoning":
            raise missing(f"{item.where}.id") if item.id is None else _not_verified(item)
        else:
            check_shape(item)
            if item.id is not None:
                raise _unknown_id(item)

    def _check_neighbours(self, items: Sequence[InputItem]) -> None:
        for before, after in pairwise([None, *items, None]):
            if before is not None and before.kind == "reasoning" and before.id in self._sent:
                follower = self._sent[before.id].follower
                if follower is None or after is None or after.id != follower:
                    raise _without(before, "its required following item")
            if after is not None and after.id in self._sent:
                needed = self._sent[after.id].reasoning
                if needed is not None and (before is None or before.id != needed):
                    raise _without(after, f"its required 'reasoning' item: '{needed}'")


def _check_unique(items: Iterable[InputItem]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id is None:
            continue
        if item.id in seen:
            message = f"Duplicate item found with id {item.id}. Remove duplicate items from your input and try again."
            raise RequestRefused(message, "input")
        seen.add(item.id)


def _check_calls(items: Iterable[InputItem]) -> None:
    """Every call is answered exactly once, after it was made; no answer is an orphan."""
    made: set[str] = set()
    answered: set[str] = set()
    for item in items:
        call_id = str(item.value.get("call_id"))
        if item.kind == "function_call":
            if call_id in made:
                raise RequestRefused(f"Duplicate function_call for call_id {call_id}.", "input")
            made.add(call_id)
        elif item.kind == "function_call_output":
            if call_id not in made:
                message = f"No tool call found for function call output with call_id {call_id}."
                raise RequestRefused(message, "input")
            if call_id in answered:
                raise RequestRefused(f"Duplicate function_call_output for call_id {call_id}.", "input")
            answered.add(call_id)
    for call_id in sorted(made - answered):
        raise RequestRefused(f"No tool output found for function call {call_id}.", "input")


def _without(item: InputItem, what: str) -> RequestRefused:
    return RequestRefused(f"Item '{item.id}' of type '{item.kind}' was provided without {what}.", "input")


def _not_found(item_id: str) -> RequestRefused:
    return RequestRefused(
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. "
        "Try again with `store` set to true, or remove this item from your input.",
        "input",
    )


def _not_verified(item: InputItem) -> RequestRefused:
    content = str(item.value.get("encrypted_content"))
    return RequestRefused(
        f"The encrypted content {content[:4]}...{content[-4:]} could not be verified. "
        "Reason: Encrypted content could not be decrypted or parsed.",
        None,
        "invalid_encrypted_content",
    )


def _changed(item: InputItem, sent: _Sent) -> RequestRefused:
    if item.value.get("encrypted_content") != loads(sent.raw).get("encrypted_content"):
        return _not_verified(item)
    message = f"Item '{item.id}' is not, byte for byte, the item that this server sent."
    return RequestRefused(message, item.where, "item_changed")


def _unknown_id(item: InputItem) -> RequestRefused:
    prefix = ID_PREFIXES[item.kind]
    if item.id is not None and item.id.startswith(f"{prefix}_"):
        return _not_found(item.id)
    message = f"Invalid '{item.where}.id': '{item.id}'. Expected an ID that begins with '{prefix}'."
    return RequestRefused(message, f"{item.where}.id", "invalid_value")
