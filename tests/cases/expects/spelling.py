"""JSON values whose numbers remember how they were written, and comparisons that hold them to it."""

from __future__ import annotations

import json
from typing import Self

from treadle.gateway.wire import elements, member
from treadle.graph.jsontext import Json, is_list, is_object


class SpelledInt(int):
    """An integer, and its text."""

    spelling: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.spelling = text
        return number


class SpelledFloat(float):
    """A float, and its text."""

    spelling: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.spelling = text
        return number


def loads_spelled(data: bytes) -> Json:
    """Raises ValueError."""
    return json.loads(data.decode("utf-8", "surrogatepass"), parse_int=SpelledInt, parse_float=SpelledFloat)


def same(held: Json, wanted: Json, *, ordered: bool = False) -> bool:
    """Equal, numbers in their spelling; the order of keys counts only if it is asked for."""
    if is_object(held) and is_object(wanted):
        keys = list(held) == list(wanted) if ordered else held.keys() == wanted.keys()
        return keys and all(same(held[key], wanted[key], ordered=ordered) for key in wanted)
    if is_list(held) and is_list(wanted):
        pairs = zip(held, wanted, strict=False)
        return len(held) == len(wanted) and all(same(*pair, ordered=ordered) for pair in pairs)
    if isinstance(held, bool) or isinstance(wanted, bool):
        return held is wanted
    return _spelling(held) == _spelling(wanted) and isinstance(held, str) == isinstance(wanted, str)


def is_within(wanted: Json, held: Json) -> bool:
    """`held` has at least the members of `wanted`."""
    if is_object(wanted) and is_object(held):
        return all(key in held and is_within(value, held[key]) for key, value in wanted.items())
    return same(held, wanted)


def slice_at(text: str, path: list[str | int]) -> str | None:
    """The text of the value at a path, exactly as it is written; None where there is none."""
    for step in path:
        if isinstance(step, str):
            found = member(text, step) if text.lstrip().startswith("{") else None
        else:
            held = elements(text) if text.lstrip().startswith("[") else []
            found = held[step] if -len(held) <= step < len(held) else None
        if found is None:
            return None
        text = found
    return text


def _spelling(value: Json) -> object:
    if isinstance(value, SpelledInt | SpelledFloat):
        return value.spelling
    return repr(value) if isinstance(value, int | float) else value
