"""The `input` of an interaction in its two schemas: the current one of steps, and the older one of turns.

A fragment's items are blocks that both schemas share, or the provider's own, of its one schema; behind them stands the
name of each call as it is written there. A result's items are what stands before the name, its alias, and what follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from ...graph.errors import NativeMetadataLost
from ...graph.jsontext import is_list, is_object
from ...graph.messages import Role
from ..outgoing import Fragment
from ..wire import elements, member, spliced, to_bytes, to_text, value_of
from .media import is_text_block, text_of


class Schema(StrEnum):
    """What a server calls the blocks of its answer, and thereby which schema it speaks."""

    STEPS = "steps"
    OUTPUTS = "outputs"


_Said = tuple[Fragment, Sequence[bytes]]

_SHARED = ("thought", "function_call")
"""Blocks that are written alike in both schemas."""


def schema_of(fragments: Sequence[Fragment]) -> Schema:
    """The schema to send: that of the newest answer of this server; the current one where there is none."""
    return next((Schema(held.schema) for held in reversed(fragments) if held.schema), Schema.STEPS)


def input_pieces(fragments: Sequence[Fragment], schema: Schema) -> list[bytes]:
    """The elements of `input` with commas between them, in pieces; system messages are no part of it.

    Raises NativeMetadataLost where an answer in the other schema can't be said in this one.
    """
    said = _named_results(held for held in fragments if held.role is not Role.SYSTEM and held.items)
    pieces: list[bytes] = []
    if schema is Schema.OUTPUTS:
        for turn in _turns(said):
            pieces += (*turn, b",")
        return pieces[:-1]
    for held, items in said:
        if held.role is Role.TOOL:
            pieces += (*items, b",")
        elif held.schema == Schema.STEPS:
            for step in items:
                pieces += (step, b",")
        else:
            for made in _steps(held, items):
                pieces += (*made, b",")
    return pieces[:-1]


def system_instruction(fragments: Iterable[Fragment]) -> bytes | None:
    """All system texts with a blank line between them, as one JSON string; None where there are none."""
    texts = [item[1:-1] for held in fragments if held.role is Role.SYSTEM for item in held.items]
    return b'"' + rb"\n\n".join(texts) + b'"' if texts else None


def _named_results(fragments: Iterable[Fragment]) -> Iterator[_Said]:
    """The fragments and their items without the names of calls: each result has the one that its call was written with."""
    names: dict[str, bytes] = {}
    for held in fragments:
        if held.role is Role.TOOL:
            before, alias, behind = held.items
            yield held, (before, names.get(held.answers or "", alias), behind)
            continue
        at = len(held.items) - len(held.calls)
        names = dict(zip(held.calls, held.items[at:], strict=True))
        yield held, held.items[:at]


def _steps(held: Fragment, items: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """The steps of a message that does not hold them yet, each in pieces."""
    if held.schema:
        yield from ((step,) for step in _as_steps(items))
    elif held.role is Role.ASSISTANT:
        at = len(items) - len(held.calls)
        if at:
            yield spliced(b'{"type":"model_output","content":[', items[:at], b"]}")
        yield from ((call,) for call in items[at:])
    else:
        yield spliced(b'{"type":"user_input","content":[', items, b"]}")


def _turns(fragments: Iterable[_Said]) -> Iterator[Sequence[bytes]]:
    """Turns of the older schema, each in pieces: the results of one answer stand in one of them."""
    results: list[bytes] = []
    for held, items in fragments:
        if held.role is Role.TOOL:
            results.append(b"".join(items))
            continue
        if results:
            yield _turn(b"user", results)
            results = []
        role = b"model" if held.role is Role.ASSISTANT else b"user"
        yield _turn(role, _blocks(held, items)) if held.native else _short_turn(role, items)
    if results:
        yield _turn(b"user", results)


def _short_turn(role: bytes, blocks: Sequence[bytes]) -> Sequence[bytes]:
    """A turn of our own blocks: a single text stands without its block."""
    if len(blocks) == 1 and is_text_block(blocks[0]):
        return (b'{"role":"%b","content":' % role, text_of(blocks[0]), b"}")
    return _turn(role, blocks)


def _turn(role: bytes, blocks: Sequence[bytes]) -> Sequence[bytes]:
    return spliced(b'{"role":"%b","content":[' % role, blocks, b"]}")


def _blocks(held: Fragment, items: Sequence[bytes]) -> Sequence[bytes]:
    return list(_as_outputs(items)) if held.schema == Schema.STEPS else items


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
