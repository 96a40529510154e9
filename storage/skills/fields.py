"""The fields of a JSON object as they must be; the first that is not is told with its path and what to do."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...graph.jsontext import Json, is_list, is_object
from .shelf import SkillRefused


class Fields:
    """Null counts as left out. `where` is the object's own path; "" is the whole document."""

    def __init__(self, value: Json, where: str, known: Collection[str]) -> None:
        self.where = where
        if not is_object(value):
            raise refused(where, "must be an object")
        self._value = value
        for key in value:
            if key not in known:
                raise refused(self.path(key), f"is not known; known are {', '.join(known)}")

    def path(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else str(key)

    def any(self, key: str) -> Json:
        return self._value.get(key)

    def text(self, key: str) -> str:
        """It must be there, and not blank."""
        if self.any(key) is None:
            raise refused(self.path(key), "is missing; add it")
        return self.optional_text(key) or ""

    def optional_text(self, key: str) -> str | None:
        value = self.any(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise refused(self.path(key), "must be a string")
        if not value.strip():
            raise refused(self.path(key), "must not be blank; give it a value or leave it out")
        return value

    def content(self, key: str) -> str:
        """A string that may be empty; it must be there."""
        value = self.any(key)
        if not isinstance(value, str):
            raise refused(self.path(key), "must be a string" if value is not None else "is missing; add it")
        return value

    def integer(self, key: str, least: int, most: int | None = None) -> int | None:
        value = self.any(key)
        if value is None:
            return None
        if type(value) is not int or value < least or (most is not None and value > most):
            span = f"{least} or more" if most is None else f"{least} to {most}"
            raise refused(self.path(key), f"must be an integer, {span}")
        return value

    def flag(self, key: str) -> bool | None:
        value = self.any(key)
        if value is not None and not isinstance(value, bool):
            raise refused(self.path(key), "must be true or false")
        return value

    def choice(self, key: str, choices: Collection[str]) -> str | None:
        value = self.any(key)
        if value is not None and (not isinstance(value, str) or value not in choices):
            raise refused(self.path(key), f"must be one of {', '.join(choices)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        items = self._list(key)
        for place, item in enumerate(items):
            if not isinstance(item, str):
                raise refused(f"{self.path(key)}[{place}]", "must be a string")
        return tuple(items)

    def objects(self, key: str, known: Collection[str]) -> Iterator[Fields]:
        for place, item in enumerate(self._list(key)):
            yield Fields(item, f"{self.path(key)}[{place}]", known)

    def count(self, key: str) -> int:
        return len(self._list(key))

    def _list(self, key: str) -> list[Json]:
        value = self.any(key)
        if value is None:
            return []
        if not is_list(value):
            raise refused(self.path(key), "must be a list")
        return value


def refused(path: str, message: str) -> SkillRefused:
    """The error for a field; the document itself has the path ""."""
    return SkillRefused(f"{path or 'the request'} {message}", details={"path": path})
