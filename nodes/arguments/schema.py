"""A tool's schema made ready to check arguments with: read once, nothing fetched, and bounded in what it may cost.

Draft 2020-12, whatever `$schema` says. A whole number is a JSON integer and nothing else; formats are not asserted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from ...graph.errors import InvalidData
from ...graph.jsontext import Json, dumps, is_list, is_object, loads

MOST_SCHEMA_BYTES = 262_144
MOST_REFERENCES = 20_000
"""Followed in one check: a few lines of schema can ask for more of them than there are atoms."""
MOST_FAULTS = 200
"""Looked at in one check."""

_DRAFT: Any = DRAFT202012
_NOTHING_ELSE: Any = cast(Any, Registry)()
"""What a schema may refer to beside itself."""

_left: ContextVar[list[int]] = ContextVar("references left in this check")
"""One number, counted down."""


class TooMuch(Exception):
    """The schema asks for more steps than a check may take."""


def compiled(schema: dict[str, Json], *, closed: bool) -> Validator:
    """The schema ready for use, made once for each content; keys that it does not know are faults where `closed`.

    Raises InvalidData for what is no schema, refers to something outside itself or to itself without end.
    """
    try:
        return _compiled(dumps(schema), closed)
    except (TypeError, ValueError) as error:
        raise InvalidData(f"the schema can't be read: {error}") from error


def faults(validator: Validator, arguments: Json) -> list[ValidationError]:
    """What is wrong, in the schema's order and at most `MOST_FAULTS`; raises TooMuch."""
    _left.set([MOST_REFERENCES])
    try:
        return list(islice(validator.iter_errors(arguments), MOST_FAULTS))
    except RecursionError as error:
        raise TooMuch from error


@lru_cache(maxsize=1024)
def _compiled(written: bytes, closed: bool) -> Validator:
    if len(written) > MOST_SCHEMA_BYTES:
        raise InvalidData(f"the schema has {len(written)} bytes; at most {MOST_SCHEMA_BYTES} are taken")
    schema = _readable(loads(written))
    try:
        _check(schema)
        validator: Validator = (_Closed if closed else _Open)(schema, registry=_NOTHING_ELSE)
        faults(validator, {})
    except SchemaError as error:
        raise InvalidData(f"the schema is broken at {error.json_path}: {error.validator} is not kept") from error
    except (Unresolvable, LookupError, ValueError) as error:
        raise InvalidData(f"the schema refers to something that is not in it: {error}") from error
    except (TooMuch, RecursionError) as error:
        raise InvalidData("the schema refers to itself without end, or is nested too deeply") from error
    return validator


def _check(schema: Json) -> None:
    """Every part that can be reached, by place or by reference, is a schema; raises for the first that is not."""
    _check_shape(schema)
    root = _DRAFT.create_resource(schema)
    waiting: list[tuple[Any, Any]] = [(root, _NOTHING_ELSE.resolver_with_root(root))]
    seen: set[int] = set()
    while waiting:
        part, resolver = waiting.pop()
        if id(part.contents) in seen or not is_object(part.contents):
            continue
        seen.add(id(part.contents))
        for reference in ("$ref", "$dynamicRef"):
            if reference in part.contents:
                found = resolver.lookup(part.contents[reference])
                _check_shape(found.contents)
                waiting.append((_DRAFT.create_resource(found.contents), found.resolver))
        waiting += [(inner, resolver.in_subresource(inner)) for inner in part.subresources()]


def _check_shape(schema: Json) -> None:
    Draft202012Validator.check_schema(schema, format_checker=cast(Any, None))


def _readable(schema: Json) -> Json:
    """The schema without the patterns that are written in another dialect than Python's: whoever wrote them asserts them."""
    if is_list(schema):
        return [_readable(each) for each in schema]
    if not is_object(schema):
        return schema
    kept = {key: _readable(value) for key, value in schema.items()}
    if isinstance(kept.get("pattern"), str) and not _is_pattern(kept["pattern"]):
        del kept["pattern"]
    named = kept.get("patternProperties")
    if is_object(named) and not all(map(_is_pattern, named)):
        kept["patternProperties"] = {key: value for key, value in named.items() if _is_pattern(key)}
        kept.pop("additionalProperties", None)  # it would refuse what the lost pattern allows
        kept.pop("unevaluatedProperties", None)
    return kept


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _counted(keyword: str) -> Any:
    follow: Any = Draft202012Validator.VALIDATORS[keyword]

    def counted(validator: Any, value: Json, instance: Json, schema: Json) -> Iterator[ValidationError]:
        left = _left.get()
        left[0] -= 1
        if left[0] < 0:
            raise TooMuch
        yield from follow(validator, value, instance, schema) or ()

    return counted


def _all_different(_validator: Any, wanted: Json, instance: Json, _schema: Json) -> Iterator[ValidationError]:
    """In one pass, where the library's own compares each item with each."""
    if wanted and is_list(instance) and len({dumps(_sorted(item)) for item in instance}) < len(instance):
        yield ValidationError("some items are the same")


def _sorted(value: Json) -> Json:
    if is_list(value):
        return [_sorted(each) for each in value]
    return {key: _sorted(value[key]) for key in sorted(value)} if is_object(value) else value


def _multiple(_validator: Any, step: Json, instance: Json, _schema: Json) -> Iterator[ValidationError]:
    """Of whole numbers only: fractions are not exact enough to judge by."""
    if _is_whole(None, instance) and _is_whole(None, step) and instance % step:
        yield ValidationError(f"no multiple of {step}")


def _anything(_validator: Any, _value: Json, _instance: Json, _schema: Json) -> Iterator[ValidationError]:
    yield from ()


def _is_whole(_checker: Any, value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_extend: Any = cast(Any, validators).extend

_Closed: Any = _extend(
    Draft202012Validator,
    {
        "$ref": _counted("$ref"), "$dynamicRef": _counted("$dynamicRef"), "uniqueItems": _all_different,
        "multipleOf": _multiple,
    },
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole),
)  # fmt: skip
_Open: Any = _extend(_Closed, {"additionalProperties": _anything, "unevaluatedProperties": _anything})
