"""The tools there are, in the order they are offered."""

from __future__ import annotations

from ..graph.messages import ToolSpec
from ..graph.profile import SEED_TOOLS
from .tool import Tool
from .tools import (
    apply_patch,
    chat_search,
    commit,
    finish,
    list_files,
    read_activated,
    read_file,
    read_messages,
    search_files,
    skill_list,
    skill_read,
    skill_search,
    write_file,
)

KNOWN_TOOLS = SEED_TOOLS
"""Every name that a profile may allow, in order."""

TOOLS: dict[str, Tool] = {
    room.SPEC.name: Tool(room.SPEC, room.run)
    for room in (
        chat_search,
        read_messages,
        read_activated,
        skill_list,
        skill_search,
        skill_read,
        list_files,
        search_files,
        read_file,
        write_file,
        apply_patch,
        commit,
        finish,
    )
}
"""Those that can be called, by canonical name, in the order of `KNOWN_TOOLS`."""

_CANONICAL = {name.replace(".", "_"): name for name in KNOWN_TOOLS}


def canonical_name(name: str) -> str:
    """The dotted name of a known tool, given by it or by its alias; any other name as it is."""
    return _CANONICAL.get(name, name)


def find(name: str) -> Tool | None:
    """The tool of this canonical name or alias; None where there is none."""
    return TOOLS.get(canonical_name(name))


def specs() -> tuple[ToolSpec, ...]:
    """Every tool's spec, unchanged by any profile."""
    return tuple(tool.spec for tool in TOOLS.values())
