"""JSON text that loses nothing: integers of any size, number spelling as Python can hold it, lone surrogates.

Read by msgspec, which keeps integers of any size; written by orjson. The standard library does what they refuse (lone
surrogates; integers past 64 bits, which orjson can't write).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, TypeGuard, cast

import msgspec
import orjson

Json = Any
"""Any JSON value: dict, list, str, int, float, bool or None."""


_DECODER = msgspec.json.Decoder()
_REFUSED = (msgspec.DecodeError, UnicodeError, RecursionError)


def is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict)


def is_list(value: Json) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


def text_of(value: Json) -> str | None:
    """The string that the value is; None for a blank one and for all that is none."""
    return value if isinstance(value, str) and value.strip() else None


def loads(data: bytes | str) -> Json:
    """The value of a JSON text; raises ValueError (NaN, Infinity and floats past the range of a double are refused)."""
    if (
        isinstance(data, bytes) or data.isascii()
    ):  # other text would be encoded first, which takes longer than reading it
        try:
            return _DECODER.decode(data)
        except _REFUSED:
            pass  # a lone surrogate, perhaps: the standard library decides
    text = data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")
    if text.startswith("\ufeff"):
        raise ValueError("a byte order mark is not JSON")
    try:
        return _SLOW_DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def dumps(value: Json, *, pretty: bool = False) -> bytes:
    """UTF-8 JSON, compact or with two spaces of indent; what orjson can't hold is written escaped.

    Raises ValueError for NaN and infinities, and TypeError for what is no JSON value.
    """
    try:
        written = orjson.dumps(value, option=orjson.OPT_INDENT_2 if pretty else 0)
    except TypeError:
        return _dumps_escaped(value, pretty=pretty)
    if b"null" in written and orjson.loads(written) != value:  # orjson writes NaN as null; tuples are unlike lists too
        _refuse_nonfinite(value)
    return written


def _dumps_escaped(value: Json, *, pretty: bool) -> bytes:
    separators = (",", ": ") if pretty else (",", ":")
    indent = 2 if pretty else None
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent, separators=separators)
    except RecursionError as error:
        raise ValueError("the value is nested too deeply to be written as JSON") from error
    return text.encode("ascii")


def _refuse_nonfinite(value: Json) -> None:
    waiting: list[Json] = [value]
    while waiting:
        member = waiting.pop()
        if isinstance(member, float) and not math.isfinite(member):
            raise ValueError(f"{member} is not JSON")
        if is_object(member):
            waiting.extend(member.values())
        elif isinstance(member, list | tuple):
            waiting.extend(cast(Sequence[Json], member))


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is too large for a number")
    return value


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


_SLOW_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
