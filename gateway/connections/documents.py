"""A stored JSON document as a checked record: one error names the field, its code and the remedy, and quotes no value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_list, is_object

T = TypeVar("T", bound=BaseModel)

_REMEDIES = {
    "missing": "is missing; add it",
    "extra_forbidden": "is not a known field; remove it",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "string_type": "must be a string",
}


class Kind(NamedTuple):
    """What a document is, and how its errors are called."""

    name: str
    """The value of `kind`."""
    what: str
    """For people, such as `the connection`."""
    codes: Mapping[str, str]
    """By field, where `[*]` stands for any index, and `.*` for unknown ones inside; any other has the code of `""`."""


class Fault(NamedTuple):
    field: str
    message: str
    code: str = ""
    """Blank: the field's own."""


def parsed(model: type[T], document: Json, kind: Kind) -> T:
    """The record, its shape checked; raises InvalidInput for version, kind, missing, unknown and wrong fields."""
    if not is_object(document):
        raise InvalidInput(f"{kind.what} must be a JSON object", code=kind.codes[""], details={"path": "$"})
    version = document.get("schemaVersion")
    if type(version) is not int or version != 1:
        raise refusal(Fault("schemaVersion", "must be 1"), kind)
    if document.get("kind") != kind.name:
        raise refusal(Fault("kind", f'must be "{kind.name}"'), kind)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = _path(first["loc"], document)
        message = _REMEDIES.get(first["type"]) or first["msg"].replace("Input should", "must", 1)
        code = _code_of_unknown(path, kind) if first["type"] == "extra_forbidden" else ""
    raise refusal(Fault(path, message, code), kind)  # outside: the cause would quote the document


def raise_first(faults: Iterator[Fault], kind: Kind) -> None:
    fault = next(faults, None)
    if fault is not None:
        raise refusal(fault, kind)


def refusal(fault: Fault, kind: Kind) -> InvalidInput:
    general = re.sub(r"\[\d+\]", "[*]", fault.field)
    code = fault.code or kind.codes.get(general) or kind.codes.get(general.split(".")[0]) or kind.codes[""]
    path = f"$.{fault.field}"
    return InvalidInput(f"{kind.what}'s {path} {fault.message}", code=code, details={"path": path})


def _code_of_unknown(path: str, kind: Kind) -> str:
    return kind.codes.get(f"{path.rpartition('.')[0]}.*") or kind.codes[""]


def _path(location: Sequence[int | str], document: Json) -> str:
    """The JSON path of a pydantic location, without the names of union members that it holds."""
    path = ""
    value = document
    for place, part in enumerate(location):
        is_last = place == len(location) - 1
        if isinstance(part, int):
            path += f"[{part}]"
            value = value[part] if is_list(value) and part < len(value) else None
        elif is_object(value) and (part in value or is_last):
            path += f"{'.' if path else ''}{part}"
            value = value.get(part)
    return path
