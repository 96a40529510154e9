"""A schema with its `$ref`s put in place, for providers that know no references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from ...graph.jsontext import Json, is_list, is_object

MAX_NESTING = 128
"""Levels of JSON in a schema, before and after its references are put in place."""

MAX_REFERENCES = 8
"""References inside what references stand for."""

MAX_SCHEMAS = 10_000
"""Subschemas once the references are put in place: each may be asked for many times."""

Path = tuple[str, ...]

_LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


class SchemaFault(ValueError):
    """The schema can't be written for this provider."""

    def __init__(self, path: Path, fault: str) -> None:
        super().__init__(f"at {pointer(path)}: {fault}")


def pointer(path: Path) -> str:
    return "#" + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


def check_nesting(schema: Json) -> None:
    """Raises SchemaFault for a value that is nested too deeply to be walked."""
    waiting: list[tuple[Path, Json]] = [((), schema)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > MAX_NESTING:
            raise SchemaFault(path, f"it is nested deeper than {MAX_NESTING} levels")
        if is_object(value):
            waiting += [((*path, key), member) for key, member in value.items()]
        elif is_list(value):
            waiting += [((*path, str(place)), member) for place, member in enumerate(value)]


def inlined(schema: Json) -> Json:
    """The schema without `$ref` wherever Gemini reads a schema; a reference into itself becomes `{"type": "object"}`.

    What stands beside a reference stays, and the target goes under `allOf`. Raises SchemaFault.
    """
    return _Document(schema).placed(schema, (), {"#": ()})


@dataclass(slots=True)
class _Document:
    root: Json
    left: int = MAX_SCHEMAS

    def placed(self, schema: Json, path: Path, entered: Mapping[str, Path]) -> Json:
        """`entered`: the references that this schema stands in, and where each was put in place."""
        self._count(path)
        if isinstance(schema, bool):
            return schema
        if not is_object(schema):
            raise SchemaFault(path, "a schema must be an object, true or false")
        for keyword in _DYNAMIC:
            if keyword in schema:
                raise SchemaFault(path, f"{keyword} can't be put in place; use $ref to a definition of this schema")
        own = {
            keyword: self._inside(keyword, value, (*path, keyword), entered)
            for keyword, value in schema.items()
            if keyword != "$ref"
        }
        if "$ref" not in schema:
            return own
        target = self._target(schema["$ref"], path, entered)
        return {**own, "allOf": [target, *own.get("allOf", [])]} if own else target

    def _inside(self, keyword: str, value: Json, path: Path, entered: Mapping[str, Path]) -> Json:
        if keyword == "properties" and is_object(value):
            return {name: self.placed(schema, (*path, name), entered) for name, schema in value.items()}
        if keyword == "items" and not is_list(value):
            return self.placed(value, path, entered)
        if keyword in _LISTED or keyword == "items":
            if not is_list(value):
                raise SchemaFault(path, "it must be a list of schemas")
            return [self.placed(schema, (*path, str(place)), entered) for place, schema in enumerate(value)]
        return value

    def _target(self, reference: Json, path: Path, entered: Mapping[str, Path]) -> Json:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise SchemaFault(path, f"the $ref {reference!r} is not one into this schema, as #/$defs/Name is")
        if entered.get(reference) == path:
            raise SchemaFault(path, f"the $ref {reference!r} leads only to itself")
        if reference in entered:
            return {"type": "object"}
        if len(entered) > MAX_REFERENCES:
            raise SchemaFault(path, f"more than {MAX_REFERENCES} references stand inside one another")
        return self.placed(self._found(reference, path), path, {**entered, reference: path})

    def _found(self, reference: str, path: Path) -> Json:
        found = self.root
        for step in reference.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if is_object(found) and key in found:
                found = found[key]
            elif is_list(found) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                raise SchemaFault(path, f"the $ref {reference!r} leads nowhere; define what it names, or take it out")
        return found

    def _count(self, path: Path) -> None:
        self.left -= 1
        if self.left < 0:
            raise SchemaFault(path, f"with its $refs put in place it has more than {MAX_SCHEMAS} subschemas")
        if len(path) > MAX_NESTING:
            raise SchemaFault(path, f"with its $refs put in place it is deeper than {MAX_NESTING} levels")
