"""What a fault in a call's arguments is called: the field's path, what is wanted there, what was sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from jsonschema.exceptions import ValidationError

from ...graph.jsontext import Json, is_list, is_object
from .given import shown

Place = tuple[str | int, ...]
"""Keys and indexes from the arguments inwards."""

_PLAIN_KEY = re.compile(r"\w+", re.ASCII)
_TYPES = {
    "string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip


def place_name(place: Place) -> str:
    """`messages[3].index`; of the arguments themselves: `The arguments`."""
    name = ""
    for step in place:
        if isinstance(step, str) and _PLAIN_KEY.fullmatch(step):
            name += f".{step}" if name else step
        else:
            name += f"[{shown(step)}]"
    return name or "The arguments"


def place_of(fault: ValidationError, missing: Sequence[str]) -> Place:
    """Where the fault is: of a key that is missing or not known, where that key stands or would stand."""
    place: Place = tuple(fault.absolute_path)
    if fault.validator == "required":
        return (*place, missing[0])
    if fault.validator == "additionalProperties":
        return (*place, *unknown(fault)[:1])
    return place


def missing_keys(fault: ValidationError) -> list[str]:
    """Those that the fault says are missing, in the schema's order."""
    wanted_keys = _list(fault.validator_value) if fault.validator == "required" else []
    return [key for key in wanted_keys if key not in _object(fault.instance)]


def unknown(fault: ValidationError) -> list[str]:
    """The keys that the schema does not name, in the order in which they were sent."""
    schema = _object(fault.schema)
    known, patterns = _object(schema.get("properties")), _object(schema.get("patternProperties"))
    return [
        key
        for key in _object(fault.instance)
        if key not in known and not any(re.search(pattern, key) for pattern in patterns)
    ]


def told(fault: ValidationError, place: Place) -> str:
    """One sentence or two: the fault at `place`, as `place_of` has it."""
    name = place_name(place)
    schema, limit, sent = _object(fault.schema), fault.validator_value, fault.instance
    match fault.validator:
        case "required":
            wish = wanted(_object(schema.get("properties")).get(str(place[-1])))
            return f"{name} is missing{f'; it must be {wish}' if wish else ''}."
        case "additionalProperties" if limit is False and place:
            known = ", ".join(_object(schema.get("properties")))
            return f"{name} is not known; {f'the fields are: {known}' if known else 'there are no fields'}."
        case "type" | "enum" | "const":
            return f"{name} must be {wanted({fault.validator: limit})}, not {shown(sent)}."
        case "anyOf" | "oneOf":
            return _told_of_choice(fault, name)
        case str() if fault.validator in _LIMITS:
            return f"{name} {_LIMITS[fault.validator](limit, sent)}."
        case str():
            return f"{name} must fit the schema ({fault.validator}: {shown(limit)}), and {shown(sent)} does not."
        case _:  # a schema of `false`, of which the library doesn't tell the place
            return f"{name} must not hold {shown(sent)} there."


def wanted(schema: Json) -> str | None:
    """What the schema asks for, as `a string or null`; None where that takes more than a few words."""
    given = _object(schema)
    if "const" in given:
        return shown(given["const"])
    if "enum" in given:
        return " or ".join(map(shown, given["enum"]))
    for choice in ("anyOf", "oneOf"):
        if choice in given:
            return _either(given[choice])
    kinds = given.get("type")
    names = [_TYPES[kind] for kind in _list(kinds) or [kinds] if kind in _TYPES]
    return " or ".join(names) or None


def _told_of_choice(fault: ValidationError, name: str) -> str:
    """Of several forms: the one that was missed farthest inside was most likely meant."""
    inner = max(fault.context, key=lambda each: len(each.absolute_path), default=None)
    if inner is None:
        return f"{name} must fit only one of the forms that there are, and {shown(fault.instance)} fits more."
    if len(inner.absolute_path) > len(fault.absolute_path):
        return told(inner, place_of(inner, missing_keys(inner)))
    wish = _either(fault.validator_value)
    if wish is None:
        forms = shown(fault.validator_value, 200)
        return f"{name} must have one of these forms, {forms}, and {shown(fault.instance)} has none."
    return f"{name} must be {wish}, not {shown(fault.instance)}."


def _either(schemas: Json) -> str | None:
    wishes = [wanted(each) for each in _list(schemas)]
    return " or ".join(dict.fromkeys(wish for wish in wishes if wish)) if all(wishes) else None


def _counts(bound: str, noun: str) -> Callable[[Json, Json], str]:
    def words(limit: Json, sent: Json) -> str:
        return f"must have {bound} {limit} {noun}{'' if limit == 1 else 's'}, not {len(sent)}"

    return words


def _bounds(bound: str) -> Callable[[Json, Json], str]:
    return lambda limit, sent: f"must be {bound} {limit}, not {shown(sent)}"


_LIMITS: dict[str, Callable[[Json, Json], str]] = {
    "minItems": _counts("at least", "item"), "maxItems": _counts("at most", "item"),
    "minLength": _counts("at least", "character"), "maxLength": _counts("at most", "character"),
    "minProperties": _counts("at least", "field"), "maxProperties": _counts("at most", "field"),
    "minimum": _bounds("at least"), "maximum": _bounds("at most"),
    "exclusiveMinimum": _bounds("more than"), "exclusiveMaximum": _bounds("less than"),
    "multipleOf": _bounds("a multiple of"),
    "pattern": lambda limit, sent: f"must match the pattern {limit}, not {shown(sent)}",
}  # fmt: skip


def _object(value: Json) -> dict[str, Json]:
    return value if is_object(value) else {}


def _list(value: Json) -> list[Json]:
    return value if is_list(value) else []
