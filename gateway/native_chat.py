"""A chat-completions assistant turn on its way back: the exact slice, changed only where servers would refuse it."""

from __future__ import annotations

import re

from ..graph.identity import CallId
from ..graph.jsontext import dumps, is_object, loads
from ..graph.messages import ToolCall, arguments_text
from .calls import arguments, wire_name
from .connection import Dialect
from .wire import Member, array_text, elements, member, members, object_text

_REASONING_KEYS = frozenset({"reasoning", "reasoning_content", "reasoning_details"})
_UNWANTED = r"unsupported|not supported|not permitted|not allowed|unexpected|unrecogni[sz]ed|unknown|extra|remove"
_PROPERTY = r"\breasoning(?:_content|_details)?\b"
_REFUSES_REASONING = re.compile(rf"(?is){_PROPERTY}.*(?:{_UNWANTED})|(?:{_UNWANTED}).*{_PROPERTY}")

Pairs = list[tuple[str, str]]


def replayed(message: str, dialect: Dialect) -> str:
    """The message as received, byte for byte, unless the host's rules or the call's own faults ask for a change.

    Then it is rebuilt key by key from exact slices: the role and `content` are put in where they are missing,
    argument text that holds no object travels inside one, a tool name that servers refuse is made fit, and reasoning
    is left out or made to be there as the dialect says.
    """
    given = members(message)
    pairs: Pairs = [(found.raw_key, _value(found, dialect)) for found in given if not _left_out(found, dialect)]
    keys = {found.key for found in given}
    if "content" not in keys:
        pairs.insert(1 if given and given[0].key == "role" else 0, ('"content"', empty_content(dialect)))
    if "role" not in keys:
        pairs.insert(0, ('"role"', '"assistant"'))
    if dialect.echo_reasoning == "all" and "reasoning_content" not in keys:
        pairs.append(('"reasoning_content"', '""'))
    unchanged = pairs == [(found.raw_key, found.raw) for found in given]
    return message if unchanged else object_text(pairs)


def empty_content(dialect: Dialect) -> str:
    """The `content` of an assistant message without text."""
    return '""' if dialect.empty_content == "string" else "null"


def without_reasoning(message: str) -> str:
    """The message without the reasoning keys; itself where it has none."""
    given = members(message)
    if member(message, "role") != '"assistant"' or not any(found.key in _REASONING_KEYS for found in given):
        return message
    return object_text((found.raw_key, found.raw) for found in given if found.key not in _REASONING_KEYS)


def body_without_reasoning(body: str) -> str:
    """A request body whose messages carry no reasoning; everything else stays as it is."""
    pairs: Pairs = []
    for found in members(body):
        raw = found.raw
        if found.key == "messages":
            raw = array_text(without_reasoning(message) for message in elements(raw))
        pairs.append((found.raw_key, raw))
    return object_text(pairs)


def refuses_reasoning(words: str) -> bool:
    """Whether a refusal says that a `reasoning…` property of a message is not wanted."""
    return _REFUSES_REASONING.search(words) is not None


def _left_out(found: Member, dialect: Dialect) -> bool:
    return dialect.echo_reasoning == "none" and found.key in _REASONING_KEYS


def _value(found: Member, dialect: Dialect) -> str:
    match found.key:
        case "role":
            return found.raw if loads(found.raw) == "assistant" else '"assistant"'
        case "content" if found.raw == "null" and dialect.empty_content == "string":
            return '""'
        case "content" if found.raw == '""' and dialect.empty_content == "null":
            return "null"
        case "reasoning_content" if found.raw == "null" and dialect.echo_reasoning == "all":
            return '""'
        case "tool_calls" if found.raw.startswith("["):
            return _mended_list(found.raw, [_call(call) for call in elements(found.raw)])
        case _:
            return found.raw


def _mended_list(raw: str, mended: list[str]) -> str:
    return raw if mended == elements(raw) else array_text(mended)


def _call(call: str) -> str:
    """One call, its `function` changed only where it must be."""
    pairs: Pairs = [
        (found.raw_key, _function(found.raw) if found.key == "function" else found.raw) for found in members(call)
    ]
    return _rejoined(call, pairs)


def _function(function: str) -> str:
    pairs: Pairs = []
    keys: set[str] = set()
    for found in members(function):
        keys.add(found.key)
        raw = found.raw
        if found.key == "name":
            name = loads(raw)
            raw = raw if wire_name(name) == name else dumps(wire_name(name)).decode()
        elif found.key == "arguments":
            raw = _arguments(raw)
        pairs.append((found.raw_key, raw))
    if "arguments" not in keys:
        pairs.append(('"arguments"', '"{}"'))
    return _rejoined(function, pairs)


def _arguments(raw: str) -> str:
    """Argument text as it came if it holds an object; an object written bare becomes text of the same spelling."""
    given = loads(raw)
    value, invalid = arguments(given)
    if isinstance(given, str) and given.strip() and is_object(value) and not invalid and given.strip() != "null":
        return raw
    if is_object(given):
        return dumps(raw).decode()
    held = ToolCall(CallId(""), "", value, "", arguments_invalid=invalid)
    return dumps(arguments_text(held)).decode()


def _rejoined(original: str, pairs: Pairs) -> str:
    unchanged = pairs == [(found.raw_key, found.raw) for found in members(original)]
    return original if unchanged else object_text(pairs)
