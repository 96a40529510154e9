"""The user's own headers and body keys: as objects, as JSON text, or as the `name: value` lines that frontends keep."""

from __future__ import annotations

from collections.abc import Iterable

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_list, is_object, loads

_OURS = frozenset(
    {
        "messages", "input", "contents", "system", "systeminstruction", "system_instruction", "tools", "tool_choice",
        "toolconfig", "tool_config", "previous_response_id", "store", "include", "stream",
    }
)  # fmt: skip


def header_lines(given: Json, what: str) -> dict[str, str]:
    """Header names and values; null and blank are none. Raises InvalidInput that names `what`, never a value."""
    return {name: value if isinstance(value, str) else str(value) for name, value in _pairs(given, what, parse=False)}


def key_values(given: Json, what: str) -> dict[str, Json]:
    """Body keys and their JSON values; a line's value that is not JSON is a string."""
    return dict(_pairs(given, what, parse=True))


def key_list(given: Json, what: str) -> list[str]:
    """Body keys: a list, its JSON text, or lines that may begin with a dash."""
    value = _parsed(given, what)
    if isinstance(value, str):
        value = [line.strip().removeprefix("-").strip() for line in value.splitlines() if line.strip()]
    if is_object(value):
        value = list(value)
    if not is_list(value) or not all(isinstance(key, str) for key in value):
        raise InvalidInput(f"{what} must be a list of keys")
    return value


def check_body_keys(keys: Iterable[str]) -> None:
    """The transcript, the tools and what continues a conversation are the run's own; raises InvalidInput."""
    for key in keys:
        if key.lower() in _OURS or key.startswith("_"):
            raise InvalidInput(f"custom body keys must not touch {key!r}: the run owns it")


def check_post_processing(given: Json) -> None:
    """Each message is sent as it stands: modes that drop tool turns are refused, those that keep them merge nothing.

    Raises InvalidInput.
    """
    if given is None or given == "":
        return
    if not isinstance(given, str) or not (given == "none" or given.endswith("_tools")):
        raise InvalidInput(
            "custom_prompt_post_processing must be none or a mode that keeps tool turns (its name ends in _tools): "
            "other modes merge or drop the messages that a tool's result answers"
        )


def _pairs(given: Json, what: str, *, parse: bool) -> list[tuple[str, Json]]:
    value = _parsed(given, what)
    if isinstance(value, str):
        return [_line(line, what, parse=parse) for line in value.splitlines() if line.strip()]
    if is_list(value) and not value:
        return []
    if not is_object(value):
        raise InvalidInput(f"{what} must be an object or lines of `name: value`")
    return [(key, kept) for key, kept in value.items() if kept is not None]


def _line(line: str, what: str, *, parse: bool) -> tuple[str, Json]:
    name, colon, value = line.strip().removeprefix("- ").partition(":")
    if not colon or not name.strip():
        raise InvalidInput(f"{what} must be an object or lines of `name: value`")
    text = value.strip()
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return name.strip().strip("\"'"), text[1:-1]
    if not parse:
        return name.strip().strip("\"'"), text
    try:
        return name.strip().strip("\"'"), loads(text)
    except ValueError:
        return name.strip().strip("\"'"), text


def _parsed(given: Json, what: str) -> Json:
    """The value that a JSON text holds, if it is one; null and blank are an empty list."""
    if given is None or given == "":
        return []
    if not isinstance(given, str):
        return given
    if not given.strip():
        return []
    if given.lstrip()[0] not in "{[":
        return given
    try:
        return loads(given)
    except ValueError:
        raise InvalidInput(f"{what} is not valid JSON") from None  # the cause would quote it
