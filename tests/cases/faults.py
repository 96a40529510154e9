"""A case that can't be run as it is written, or that the product is not ready for: never passed over in silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treadle.graph.jsontext import Json, dumps, is_list, is_object


class CaseFault(Exception):
    """The case can't be run: it is malformed, or asks for what this runner does not know."""


def only(given: Mapping[str, Json], allowed: Iterable[str], where: str) -> None:
    """Raises CaseFault for a key that nobody here would read."""
    unknown = sorted(set(given) - set(allowed))
    if unknown:
        raise CaseFault(f"{where} holds what the runner does not know: {', '.join(unknown)}")


def an_object(value: Json, where: str) -> dict[str, Json]:
    if not is_object(value):
        raise CaseFault(f"{where} must be an object, not {shown(value)}")
    return value


def a_list(value: Json, where: str) -> list[Json]:
    if not is_list(value):
        raise CaseFault(f"{where} must be a list, not {shown(value)}")
    return value


def step_of(value: Json, where: str) -> tuple[str, Json]:
    """A step's name and argument: `"start"`, `{"start": {…}}` or `{"do": "start", …}` in one form."""
    if isinstance(value, str):
        return value, {}
    step = an_object(value, where)
    if len(step) != 1:
        raise CaseFault(f"{where} must name one step, not {shown(value)}")
    return next(iter(step.items()))


def shown(value: Json, limit: int = 300) -> str:
    """A value for a sentence."""
    text = value if isinstance(value, str) else dumps(value).decode("utf-8", "replace")
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
