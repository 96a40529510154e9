"""The tools there are, in the order they are offered."""

from __future__ import annotations

from ..graph.messages import ToolSpec
from ..graph.profiles.resolved import SEED_TOOLS
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
    tool.spec.name: tool
    for tool in (
        Tool(chat_search.SPEC, chat_search.run, judges=chat_search.JUDGES),
        Tool(read_messages.SPEC, read_messages.run),
        Tool(read_activated.SPEC, read_activated.run, closed=True),
        Tool(skill_list.SPEC, skill_list.run, ignores_arguments=True),
        Tool(skill_search.SPEC, skill_search.run, judges=skill_search.JUDGES),
        Tool(skill_read.SPEC, skill_read.run, judges=skill_read.JUDGES),
        Tool(list_files.SPEC, list_files.run, judges=list_files.JUDGES),
        Tool(search_files.SPEC, search_files.run, judges=search_files.JUDGES),
        Tool(read_file.SPEC, read_file.run),
        Tool(write_file.SPEC, write_file.run, judges=write_file.JUDGES),
        Tool(apply_patch.SPEC, apply_patch.run),
        Tool(commit.SPEC, commit.run, judges=commit.JUDGES),
        Tool(finish.SPEC, finish.run, ignores_arguments=True),
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
