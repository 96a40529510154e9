"""What the checks of a profile share: the fault they tell, what names are held against, and the rule of ids."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .schema import Profile

ID_BYTES = 128

_ID = re.compile(r"[a-z0-9_-]+")


class Fault(NamedTuple):
    code: str
    path: str
    """Where in the document, as a JSON path without the leading `$.`."""
    message: str
    """What must be so: it reads on after the path."""


PresetExists = Callable[[str, str], bool]
"""Whether there is a preset of this API id and name; may block."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a profile's names are held against."""

    tools: Collection[str]
    properties: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    """The top-level arguments of tools, by name; of a tool that is not among them every argument is taken as there."""
    preset_exists: PresetExists | None = None
    """None: presets are not looked for."""


Group = Callable[[Profile, Known], Iterator[Fault]]
"""A part of a profile's rules."""


def is_name(value: str) -> bool:
    """1 to 128 of `a-z 0-9 _ -`."""
    return _ID.fullmatch(value) is not None and len(value) <= ID_BYTES


def id_faults(value: str, path: str) -> Iterator[Fault]:
    if not value:
        yield Fault("agent.profile_id_empty", path, "must not be blank")
    if len(value.encode("utf-8", "surrogatepass")) > ID_BYTES:
        yield Fault("agent.profile_id_too_long", path, f"must be at most {ID_BYTES} bytes")
    if not _ID.fullmatch(value):
        yield Fault("agent.profile_id_invalid", path, "must be made of a-z 0-9 _ -")


def keyed(path: str, key: str) -> str:
    """The path of a member of an object whose keys are names of the user's."""
    return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
