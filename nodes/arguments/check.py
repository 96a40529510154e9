"""A call's arguments against the schema of its tool: the first fault, told once, with the path of its field.

What a schema can't say (limits, paths, blank texts) is each tool's own to refuse, as are the fields that it judges.
"""

from __future__ import annotations

from jsonschema.exceptions import ValidationError

from ...graph.jsontext import Json, is_list, is_object
from ..tool import Tool
from .given import given, halved, is_whole, refused, stops_midway, unfinished
from .schema import TooMuch, compiled, faults
from .wording import Place, missing_keys, place_name, place_of, told

MOST_LEVELS = 50
"""Of lists and objects in one another."""


def check_arguments(tool: Tool, arguments: Json) -> None:
    """Raises ToolRefused `tool.invalid_arguments` for the first fault: the nearest to the top, then in schema order.

    Raises InvalidData where the tool's schema is broken.
    """
    if tool.ignores_arguments:
        if isinstance(arguments, str) and stops_midway(arguments):
            raise unfinished()
        return
    fields = given(arguments).fields
    for key, value in fields.items():
        if _is_read(tool, key):
            _check_text(value, (key,))
    validator = compiled(tool.spec.input_schema, closed=tool.closed)
    try:
        found = faults(validator, fields)
    except TooMuch:
        raise refused("The arguments are too involved to be checked; send simpler ones.") from None
    message = _first(found, tool)
    if message is not None:
        raise refused(message)


def _is_read(tool: Tool, key: str) -> bool:
    """Whether the tool takes this field, and leaves its form to the schema."""
    return key not in tool.judges and (tool.closed or key in tool.spec.input_schema.get("properties", {}))


def _check_text(value: Json, place: Place) -> None:
    """Raises where text can't be written as UTF-8, or lists and objects are nested without end."""
    if isinstance(value, str):
        if not is_whole(value):
            raise refused(halved(place_name(place)))
        return
    if not is_list(value) and not is_object(value):
        return
    if len(place) > MOST_LEVELS:
        raise refused(f"{place[0]} is nested more than {MOST_LEVELS} levels deep; send simpler arguments.")
    for step, inner in value.items() if is_object(value) else enumerate(value):
        if isinstance(step, str) and not is_whole(step):
            raise refused(halved(f"The key {place_name((step,))} in {place_name(place)}"))
        _check_text(inner, (*place, step))


def _first(found: list[ValidationError], tool: Tool) -> str | None:
    order = {key: number for number, key in enumerate(tool.spec.input_schema.get("properties", {}))}
    placed: list[tuple[Place, ValidationError]] = []
    for fault in found:
        missing = [key for key in missing_keys(fault) if fault.absolute_path or key not in tool.judges]
        if fault.validator == "required" and not missing:
            continue
        place = place_of(fault, missing)
        if not place or place[0] not in tool.judges:
            placed.append((place, fault))
    if not placed:
        return None
    # What lies equally deep stays in the order in which the schema was walked.
    place, fault = min(
        placed, key=lambda each: (len(each[0]), order.get(str(each[0][0]), len(order)) if each[0] else 0)
    )
    return told(fault, place)
