"""The `input` of an interaction in its two schemas: the current one of steps, and the older one of turns.

A fragment's items are blocks that both schemas share; a native fragment's are the provider's own, of its one schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from ...graph.errors import NativeMetadataLost
from ...graph.jsontext import is_list, is_object
from ...graph.messages import Role
from ..outgoing import Fragment
from ..wire import array_bytes, elements, member, to_bytes, to_text, value_of
from .interactions_media import is_text_block, text_of


class Schema(StrEnum):
    """What a server calls the blocks of its answer, and thereby which schema it speaks."""

    STEPS = "steps"
    OUTPUTS = "outputs"


_SHARED = ("thought", "function_call")
"""Blocks that are written alike in both schemas."""


def schema_of(fragments: Sequence[Fragment]) -> Schema:
    """The schema to send: that of the newest answer of this server; the current one where there is none."""
    return next((Schema(held.schema) for held in reversed(fragments) if held.schema), Schema.STEPS)


def input_items(fragments: Sequence[Fragment], schema: Schema) -> list[bytes]:
    """The elements of `input`, in pieces; system messages are no part of it.

    Raises NativeMetadataLost where an answer in the other schema can't be said in this one.
    """
    said = [held for held in fragments if held.role is not Role.SYSTEM and held.items]
    if schema is Schema.STEPS:
        return [step for held in said for step in _steps(held)]
    return list(_turns(said))


def system_instruction(fragments: Iterable[Fragment]) -> bytes | None:
    """All system texts with a blank line between them, as one JSON string; None where there are none."""
    texts = [item[1:-1] for held in fragments if held.role is Role.SYSTEM for item in held.items]
    return b'"' + rb"\n\n".join(texts) + b'"' if texts else None


def _steps(held: Fragment) -> Sequence[bytes]:
    if held.schema:
        return held.items if held.schema == Schema.STEPS else list(_as_steps(held.items))
    match held.role:
        case Role.TOOL:
            return held.items
        case Role.ASSISTANT:
            said, called = _parted(held)
            return [b'{"type":"model_output","content":' + array_bytes(said) + b"}", *called] if said else called
        case _:
            return [b'{"type":"user_input","content":' + array_bytes(held.items) + b"}"]


def _turns(fragments: Sequence[Fragment]) -> Iterator[bytes]:
    """Turns of the older schema: the results of one answer stand in one of them."""
    results: list[bytes] = []
    for held in fragments:
        if held.role is Role.TOOL:
            results += held.items
            continue
        if results:
            yield _turn(b"user", array_bytes(results))
            results = []
        yield _turn(b"model" if held.role is Role.ASSISTANT else b"user", _content(held))
    if results:
        yield _turn(b"user", array_bytes(results))


def _turn(role: bytes, content: bytes) -> bytes:
    return b'{"role":"%b","content":%b}' % (role, content)


def _content(held: Fragment) -> bytes:
    if held.schema:
        return array_bytes(held.items if held.schema == Schema.OUTPUTS else _as_outputs(held.items))
    if len(held.items) == 1 and is_text_block(held.items[0]):
        return text_of(held.items[0])
    return array_bytes(held.items)


def _parted(held: Fragment) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """What an answer of ours says, and what it calls."""
    at = len(held.items) - len(held.calls)
    return held.items[:at], held.items[at:]


def _as_steps(outputs: Iterable[bytes]) -> Iterator[bytes]:
    for block in outputs:
        kind = _kind(block)
        if kind == "text":
            yield b'{"type":"model_output","content":[' + block + b"]}"
        elif kind in _SHARED:
            yield block
        else:
            raise _lost(kind, Schema.STEPS)


def _as_outputs(steps: Iterable[bytes]) -> Iterator[bytes]:
    for step in steps:
        kind = _kind(step)
        if kind in _SHARED:
            yield step
        elif _is_mere_text(step):
            yield from map(to_bytes, elements(member(to_text(step), "content") or "[]"))
        else:
            raise _lost(kind, Schema.OUTPUTS)


def _is_mere_text(step: bytes) -> bool:
    """Whether a step is model_output that holds texts and nothing that its blocks would not carry along."""
    value = value_of(to_text(step))
    if not is_object(value) or value.get("type") != "model_output" or not value.keys() <= {"type", "content"}:
        return False
    content = value.get("content", [])
    return is_list(content) and all(is_object(block) and block.get("type") == "text" for block in content)


def _kind(block: bytes) -> object:
    value = value_of(to_text(block))
    return value.get("type") if is_object(value) else None


def _lost(kind: object, schema: Schema) -> NativeMetadataLost:
    return NativeMetadataLost(
        f"the server went over to the schema of {schema}, in which its earlier block of type {kind!r} can't be said; "
        "nothing was sent",
        details={"blockType": kind, "schema": schema.value},
    )
