"""Exact slices of JSON text, and bodies made by joining them: nothing that was received is ever printed anew.

Every spelling survives: integers of any size, `1.10`, `1e2`, `-0.0`, lone surrogate escapes, key order, duplicate keys.
msgspec.Raw finds the slices; what it refuses (lone surrogates) or does not tell (the spelling of keys, duplicates) is
found with the standard library's scanner, which says where a value ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ..graph.jsontext import Json, is_list, is_object, loads

_SPACE = re.compile(r"[ \t\n\r]*")
_BOM = b"\xef\xbb\xbf"
_SURROGATE = b"\xed"
"""How a surrogate begins, and much else."""


class Unreadable(ValueError):
    """A body that is not the JSON that was due; the text says what came instead."""


class Member(NamedTuple):
    """One member of an object: the key as a value, then key and value exactly as written."""

    key: str
    raw_key: str
    raw: str


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON object as received: its text without a byte order mark, and its value."""

    raw: bytes
    value: dict[str, Json]

    @property
    def text(self) -> str:
        return to_text(self.raw)


def read(data: bytes) -> Body:
    """The JSON object in a reply's body; raises Unreadable for everything else."""
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise Unreadable("an empty body")
    if data.lstrip().startswith((b"data:", b"event:", b": ")):
        raise Unreadable("an event stream, though none was asked for")
    try:
        value = loads(data)
        if _SURROGATE in data:
            data.decode("utf-8")  # `loads` takes surrogates that are not escaped
    except UnicodeDecodeError:
        raise Unreadable("text that is not UTF-8") from None
    except (ValueError, RecursionError):
        raise Unreadable("an HTML page" if data.lstrip()[:1] == b"<" else "text that is not JSON") from None
    if is_list(value) and len(value) == 1 and is_object(value[0]) and "error" in value[0]:
        return Body(slices(data)[0], value[0])
    if not is_object(value):
        raise Unreadable("JSON that is not an object")
    return Body(data, value)


def documents(data: bytes) -> list[str]:
    """The JSON texts that stand one after another in `data` (lines, as a rule), each exactly as written.

    Raises Unreadable where one of them is no JSON.
    """
    try:
        text = data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("text that is not UTF-8") from None
    found: list[str] = []
    at = _skip(text, 0)
    while at < len(text):
        try:
            _, end = _scan(text, at)
        except ValueError:
            raise Unreadable("text that is not JSON") from None
        found.append(text[at:end])
        at = _skip(text, end)
    return found


def value_of(text: str) -> Json:
    """The value of a JSON text; raises ValueError, for text nested too deeply as well."""
    try:
        return loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def members(text: str) -> list[Member]:
    """The members of a JSON object in the order written, duplicates too; raises ValueError if it is none."""
    found: list[Member] = []
    at = _open(text, "{", "}")
    while at is not None:
        start = at
        key, at = _scan(text, start)
        raw_key = text[start:at]
        at = _skip(text, at)
        if raw_key[0] != '"' or text[at : at + 1] != ":":
            raise ValueError("a quoted key and a colon were due")
        start = _skip(text, at + 1)
        _, at = _scan(text, start)
        found.append(Member(key, raw_key, text[start:at]))
        at = _next(text, at, "}")
    return found


def slices(data: bytes) -> list[bytes]:
    """The elements of a JSON array, each exactly as written; raises ValueError if it is none."""
    try:
        return list(map(bytes, _ARRAY.decode(data)))
    except _REFUSED:
        return list(map(to_bytes, _scanned_elements(to_text(data))))


def slice_of(data: bytes, key: str) -> bytes | None:
    """The value of one member, exactly as written; of duplicates the last, as parsers have it. Raises ValueError."""
    try:
        raw = _OBJECT.decode(data).get(key)
    except _REFUSED:
        return next((to_bytes(found.raw) for found in reversed(members(to_text(data))) if found.key == key), None)
    return None if raw is None else bytes(raw)


def slice_at(data: bytes, *path: str | int) -> bytes | None:
    """The value that the keys and places lead to, exactly as written, in one pass; None where a key is missing.

    Raises ValueError where another kind of value stands on the way, or too few elements.
    """
    try:
        return _followed(_decoder(path).decode(data), path)
    except (*_REFUSED, IndexError):
        return _slice_step_by_step(data, path)


def slices_at(data: bytes, key: str) -> list[bytes]:
    """The elements of the array that one member is, in one pass; none where the key is missing. Raises ValueError."""
    try:
        return list(map(bytes, getattr(_lists(key).decode(data), _FIELD) or ()))
    except _REFUSED:
        return slices(slice_of(data, key) or b"[]")


def elements(text: str) -> list[str]:
    """`slices` of text."""
    return list(map(to_text, slices(to_bytes(text))))


def member(text: str, key: str) -> str | None:
    """`slice_of` text."""
    raw = slice_of(to_bytes(text), key)
    return None if raw is None else to_text(raw)


def object_text(pairs: Iterable[tuple[str, str]]) -> str:
    """An object from (key, value) pairs that are JSON text already."""
    return "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"


def array_text(values: Iterable[str]) -> str:
    return "[" + ",".join(values) + "]"


def object_bytes(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """An object from pairs that are encoded already: joining copies, it never encodes."""
    return b"{" + b",".join(b'"%b":%b' % pair for pair in pairs) + b"}"


def array_bytes(fragments: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(fragments) + b"]"


def spliced(head: bytes, items: Iterable[bytes], tail: bytes) -> list[bytes]:
    """`head`, the items with commas between them, `tail`: pieces to be joined once, however long the items are."""
    held = list(items)
    if not held:
        return [head, tail]
    pieces = [b","] * (2 * len(held) + 1)
    pieces[1::2] = held
    pieces[0], pieces[-1] = head, tail
    return pieces


def to_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FIELD = "value"
_REFUSED = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)

# Numbers stay text: their size can't fail, and only the place where they end is wanted.
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)


@lru_cache(maxsize=32)
def _decoder(path: tuple[str | int, ...]) -> msgspec.json.Decoder[Any]:
    wanted: Any = msgspec.Raw
    for step in reversed(path):
        wanted = list[wanted] if isinstance(step, int) else _holding(step, wanted)
    return msgspec.json.Decoder(wanted)


@lru_cache(maxsize=32)
def _lists(key: str) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_holding(key, list[msgspec.Raw]))


def _holding(key: str, wanted: Any) -> type[msgspec.Struct]:
    """An object of which one member is wanted."""
    return msgspec.defstruct("Holding", [(_FIELD, wanted, None)], rename={_FIELD: key})


def _followed(value: Any, path: tuple[str | int, ...]) -> bytes | None:
    for step in path:
        if value is None:
            return None
        value = value[step] if isinstance(step, int) else getattr(value, _FIELD)
    return None if value is None else bytes(value)


def _slice_step_by_step(data: bytes, path: tuple[str | int, ...]) -> bytes | None:
    found: bytes | None = data
    for step in path:
        if found is None:
            return None
        found = slice_of(found, step) if isinstance(step, str) else _element(found, step)
    return found


def _element(data: bytes, place: int) -> bytes:
    try:
        return slices(data)[place]
    except IndexError:
        raise ValueError(f"an array of more than {place} elements was due") from None


def _scanned_elements(text: str) -> list[str]:
    found: list[str] = []
    at = _open(text, "[", "]")
    while at is not None:
        start = at
        _, at = _scan(text, start)
        found.append(text[start:at])
        at = _next(text, at, "]")
    return found


def _scan(text: str, at: int) -> tuple[Json, int]:
    """The value that begins at `at`, and where it ends; raises ValueError."""
    try:
        return _SCANNER.raw_decode(text, at)
    except RecursionError:
        raise Unreadable("JSON that is nested too deeply") from None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _open(text: str, opening: str, closing: str) -> int | None:
    """Where the first item begins; None for an empty container."""
    at = _skip(text, 0)
    if text[at : at + 1] != opening:
        raise ValueError(f"JSON text that begins with {opening} was due")
    at = _skip(text, at + 1)
    return None if text[at : at + 1] == closing else at


def _next(text: str, at: int, closing: str) -> int | None:
    """Where the next item begins; None after the last."""
    at = _skip(text, at)
    mark = text[at : at + 1]
    if mark == ",":
        return _skip(text, at + 1)
    if mark != closing:
        raise ValueError(f"a comma or {closing} was due")
    return None
