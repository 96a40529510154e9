"""The lore that was active when a run began: the entries of a `worldInfoActivation`, each with a reference of its own."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import cast

from ..graph.errors import InvalidData
from ..graph.jsontext import Json, dumps, is_list, is_object

INVALID = "agent.invalid_worldinfo_activation_snapshot"

POSITIONS = ("before", "after", "an_top", "an_bottom", "depth", "em_top", "em_bottom", "outlet")
"""Where an entry may stand in a prompt; a number names one by its place here."""

_OWN = "activated"
"""The world of the references that are made from an entry's place; a book of that name gets such references too."""
_UNSHOWABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class ActivatedEntry:
    ref: str
    """`worldinfo:<world>#<uid>`, or `worldinfo:activated#<place>`; no two entries share one."""
    world: str
    uid: str
    """A text uid as it came, a number's digits, or empty."""
    display_name: str
    constant: bool
    position: Json
    """One of POSITIONS, what came instead of one, or None."""
    content: str

    @property
    def label(self) -> str:
        """The entry's name, else its uid; as all labels here, on one line."""
        return _on_one_line(self.display_name) or _on_one_line(self.uid)

    @property
    def world_label(self) -> str:
        return _on_one_line(self.world)

    @property
    def position_label(self) -> str | None:
        """None where the entry has no position."""
        if self.position is None:
            return None
        return _on_one_line(self.position if isinstance(self.position, str) else dumps(self.position).decode())


@dataclass(frozen=True, slots=True)
class Activation:
    timestamp_ms: Json
    trigger: Json
    entries: tuple[ActivatedEntry, ...]

    def find(self, ref: str) -> ActivatedEntry | None:
        return next((entry for entry in self.entries if entry.ref == ref), None)


def activation(value: Json, where: str = "worldInfoActivation") -> Activation:
    """The record of one scan; `where` is its place, for messages.

    Fields that say what an entry is called may be missing or odd. Raises InvalidData
    `agent.invalid_worldinfo_activation_snapshot`, naming the place, where entries or their texts can't be told.
    """
    entries = value.get("entries") if is_object(value) else None
    if not is_object(value) or not is_list(entries):
        raise InvalidData(f"{where}.entries must be a list; leave {where} out where nothing was scanned", code=INVALID)
    taken: set[str] = set()
    told = tuple(_entry(entry, index, f"{where}.entries[{index}]", taken) for index, entry in enumerate(entries))
    return Activation(value.get("timestampMs"), value.get("trigger"), told)


def _entry(value: Json, index: int, where: str, taken: set[str]) -> ActivatedEntry:
    if not is_object(value):
        raise InvalidData(f"{where} must be an object", code=INVALID)
    content = value.get("content")
    if not isinstance(content, str):
        raise InvalidData(f'{where}.content must be a string; give "" for an entry without text', code=INVALID)
    world, uid = _text(value.get("world")), _uid(value.get("uid"))
    ref = _named(world, uid)
    if ref is None or ref in taken:
        ref = f"worldinfo:{_OWN}#{index}"
    taken.add(ref)
    return ActivatedEntry(
        ref=ref,
        world=world,
        uid=uid,
        display_name=_text(value.get("displayName")),
        constant=value.get("constant") is True,
        position=_position(value.get("position")),
        content=content,
    )


def _named(world: str, uid: str) -> str | None:
    """The reference by the entry's names; None where they are blank, or are nothing that a model could send back."""
    ref = f"worldinfo:{world}#{uid}".rstrip()
    if not world.strip() or not uid.strip() or world == _OWN:
        return None
    return None if any(unicodedata.category(char) in _UNSHOWABLE for char in ref) else ref


def _uid(value: Json) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return value if isinstance(value, str) else str(value)


def _position(value: Json) -> Json:
    if type(value) is int and 0 <= value < len(POSITIONS):
        return POSITIONS[value]
    return cast(Json, value)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
