"""A call's arguments: the closed schema that the model reads, and the fields taken from what it sent.

Nothing is coerced: `3.0`, `"3"` and `null` are not whole numbers. Unknown keys are left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json, dumps, is_list, is_object
from ...graph.paths import WorkspacePath, parse

INVALID = "tool.invalid_arguments"

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def schema(properties: dict[str, Json], *, required: tuple[str, ...] = ()) -> dict[str, Json]:
    """A closed object schema; limits stand in the descriptions, and each tool enforces its own."""
    closed: dict[str, Json] = {"type": "object", "properties": properties}
    if required:
        closed["required"] = list(required)
    closed["additionalProperties"] = False
    return closed


def string(description: str, *, one_of: tuple[str, ...] = ()) -> Json:
    return (
        {"type": "string", "enum": list(one_of), "description": description}
        if one_of
        else _typed("string", description)
    )


def integer(description: str) -> Json:
    return _typed("integer", description)


def boolean(description: str) -> Json:
    return _typed("boolean", description)


def array(description: str, items: dict[str, Json]) -> Json:
    """A list of one or more of what the schema `items` describes."""
    return {"type": "array", "minItems": 1, "items": items, "description": description}


@dataclass(frozen=True, slots=True)
class Given:
    """The fields of a call; every getter raises ToolRefused `tool.invalid_arguments` naming its field."""

    fields: dict[str, Json]
    where: str = ""
    """What stands before a field's name where it is told: `entries[0].` for those of an item."""

    def text(self, key: str) -> str:
        """A required string, trimmed; not blank."""
        value = self.raw(key).strip()
        if not value:
            raise refused(f"{self.where}{key} must not be blank.")
        return value

    def raw(self, key: str) -> str:
        """A required string as it was sent, perhaps empty."""
        if key not in self.fields:
            raise refused(f"{self.where}{key} is missing; it must be a string.")
        return _string(self.where + key, self.fields[key])

    def optional_text(self, key: str) -> str | None:
        """A string, trimmed; None where it is absent, null or blank."""
        value = self.fields.get(key)
        return None if value is None else _string(self.where + key, value).strip() or None

    def optional_number(self, key: str) -> int | None:
        """A whole number of 0 or more; None where it is absent."""
        if key not in self.fields:
            return None
        value = self.fields[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise refused(f"{self.where}{key} must be a whole number of 0 or more, not {shown(value)}.")
        return value

    def required_number(self, key: str) -> int:
        """A whole number of 0 or more."""
        value = self.optional_number(key)
        if value is None:
            raise refused(f"{self.where}{key} is missing; it must be a whole number of 0 or more.")
        return value

    def number(self, key: str, default: int) -> int:
        value = self.optional_number(key)
        return default if value is None else value

    def flag(self, key: str, default: bool) -> bool:
        value = self.fields.get(key, default)
        if not isinstance(value, bool):
            raise refused(f"{self.where}{key} must be true or false, not {shown(value)}.")
        return value

    def items(self, key: str, most: int) -> list[Given]:
        """A required list of 1 to `most` objects, each with its place in the names of its fields."""
        name = self.where + key
        if key not in self.fields:
            raise refused(f"{name} is missing; it must be a list of 1 to {most} objects.")
        value = self.fields[key]
        if not is_list(value):
            raise refused(f"{name} must be a list of 1 to {most} objects, not {shown(value)}.")
        if not 1 <= len(value) <= most:
            raise refused(f"{name} must have 1 to {most} items, not {len(value)}.")
        for place, item in enumerate(value):
            if not is_object(item):
                raise refused(f"{name}[{place}] must be an object, not {shown(item)}.")
        return [Given(item, f"{name}[{place}].") for place, item in enumerate(value)]

    def start(self, key: str = "path") -> WorkspacePath | None:
        """Where to list or search; None, the workspace root, where it is absent, null, blank or only dots."""
        value = self.fields.get(key)
        text = "" if value is None else _string(self.where + key, value).strip()
        if not text.replace("\\", "/").strip("./") and text[:1] not in ("/", "\\") and ".." not in text:
            return None
        try:
            return parse(text)
        except ToolRefused as error:
            raise refused(error.message) from error


def given(arguments: Json) -> Given:
    """The call's fields; raises ToolRefused where `arguments` is no object."""
    if isinstance(arguments, dict):
        return Given(cast(dict[str, Json], arguments))
    if isinstance(arguments, str) and stops_midway(arguments):
        raise unfinished()
    if isinstance(arguments, str):
        raise refused(
            "The arguments must be an object, but what was sent is not valid JSON of one; send the call again."
        )
    raise refused(f"The arguments must be an object, not {shown(arguments)}.")


def stops_midway(text: str) -> bool:
    """Whether the text begins as an object and is cut off inside it."""
    if not text.lstrip().startswith("{"):
        return False
    bare = _STRING.sub("", text)
    return '"' in bare or sum(map(bare.count, "{[")) > sum(map(bare.count, "}]"))


def refused(message: str) -> ToolRefused:
    return ToolRefused(INVALID, message)


def unfinished() -> ToolRefused:
    """Of arguments that were cut off: the call must not be carried out, whatever it asks for."""
    return refused(
        "The arguments must be a whole object, but are cut off in the middle, so nothing was done; send the call again."
    )


def is_whole(text: str) -> bool:
    """Whether the text holds no half of a character, so that it can be written as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def halved(name: str) -> str:
    return f"{name} holds half of a character (a lone surrogate); send whole characters."


def shown(value: Json, limit: int = 60) -> str:
    """`value` as short JSON, for a message."""
    try:
        text = dumps(value).decode()
    except ValueError:  # nested past what can be written
        return "what was sent"
    return text if len(text) <= limit else text[:limit] + "…"


def _string(key: str, value: Json) -> str:
    if not isinstance(value, str):
        raise refused(f"{key} must be a string, not {shown(value)}.")
    if not is_whole(value):
        raise refused(halved(key))
    return value


def _typed(kind: str, description: str) -> Json:
    return {"type": kind, "description": description}
