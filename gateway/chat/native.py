"""A chat-completions assistant turn on its way back: the exact slice, changed only where servers would refuse it."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...graph.identity import CallId
from ...graph.jsontext import Json, dumps, is_list, is_object, loads
from ...graph.messages import ToolCall, arguments_text
from ..calls import arguments, wire_name
from ..connections.connection import Dialect
from ..wire import Member, array_text, elements, member, members, object_text

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
    return message if _is_clean(loads(message), dialect) else rebuilt(message, dialect)


def rebuilt(message: str, dialect: Dialect) -> str:
    """`replayed` by the long way: slice by slice. A message that needs no change comes out as it is."""
    given = [found for found in members(message) if not _left_out(found, dialect)]
    pairs = _edited(given, lambda found: _value(found, dialect))
    keys = {found.key for found in given}
    if "content" not in keys:
        pairs.insert(1 if given and given[0].key == "role" else 0, ('"content"', empty_content(dialect)))
    if "role" not in keys:
        pairs.insert(0, ('"role"', '"assistant"'))
    if dialect.echo_reasoning == "all" and "reasoning_content" not in keys:
        pairs.append(('"reasoning_content"', '""'))
    return _rejoined(message, pairs)


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


def _is_clean(message: Json, dialect: Dialect) -> bool:
    """Whether the message surely needs no change: seen in its value, which is far quicker than in its slices."""
    if not is_object(message) or message.get("role") != "assistant" or "content" not in message:
        return False
    if dialect.empty_content != "as_received" and not message["content"]:
        return False
    if dialect.echo_reasoning == "none" and not _REASONING_KEYS.isdisjoint(message):
        return False
    if dialect.echo_reasoning == "all" and message.get("reasoning_content") is None:
        return False
    calls: Json = message.get("tool_calls") or []
    return is_list(calls) and all(is_object(call) and is_fit_function(call.get("function")) for call in calls)


def is_fit_function(function: Json) -> bool:
    """Whether name and argument text are such as servers take."""
    if not is_object(function) or not isinstance(function.get("name"), str):
        return False
    given, name = function.get("arguments"), function["name"]
    if not isinstance(given, str) or not given.strip() or given.strip() == "null":
        return False
    return wire_name(name) == name and not arguments(given)[1]


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
    return _rejoined(
        call, _edited(members(call), lambda found: fit_function(found.raw) if found.key == "function" else found.raw)
    )


def fit_function(function: str) -> str:
    """An object with `name` and `arguments`, these made such as servers take; everything else stays as it is."""
    given = members(function)
    pairs = _edited(given, _function_value)
    if not any(found.key == "arguments" for found in given):
        pairs.append(('"arguments"', '"{}"'))
    return _rejoined(function, pairs)


def _function_value(found: Member) -> str:
    if found.key == "arguments":
        return _arguments(found.raw)
    name = loads(found.raw) if found.key == "name" else None
    if not isinstance(name, str) or wire_name(name) == name:
        return found.raw
    return dumps(wire_name(name)).decode()


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


def _edited(given: list[Member], edit: Callable[[Member], str]) -> Pairs:
    """The members with their values edited; of duplicates only the last, which is the one that counts."""
    last = {found.key: place for place, found in enumerate(given)}
    return [
        (found.raw_key, edit(found) if last[found.key] == place else found.raw) for place, found in enumerate(given)
    ]


def _rejoined(original: str, pairs: Pairs) -> str:
    unchanged = pairs == [(found.raw_key, found.raw) for found in members(original)]
    return original if unchanged else object_text(pairs)
