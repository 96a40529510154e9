"""What the model is told of its work: the agent system prompt, the tools as the profile words them, the reminder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json, is_object
from ..graph.messages import ToolSpec
from ..graph.profiles.resolved import ResolvedProfile


def agent_system_prompt(profile: ResolvedProfile, specs: Sequence[ToolSpec]) -> str:
    """The profile's own prompt verbatim, or the default one for those of `specs` that the profile shows."""
    if profile.system_prompt is not None:
        return profile.system_prompt
    visible = _visible(profile, specs)
    roots = {f"{root}/" for root in profile.writable_roots}
    have = {spec.name for spec in visible} | roots | {profile.presentation}
    aliases = ", ".join(spec.model_name for spec in visible)
    words = _words(profile) | {"aliases": aliases}
    return "\n\n".join(
        section.text.format_map(words)
        for section in _SECTIONS
        if have.issuperset(section.needs) and (not section.any_of or have.intersection(section.any_of))
    )


def render_specs(profile: ResolvedProfile, specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Copies of those of `specs` that the profile shows, in its order, worded for it; then with its overrides.

    A visible tool that has no spec is left out. Raises InvalidInput `agent.profile_unknown_tool_property`,
    `agent.profile_tool_properties_invalid` or `agent.profile_tool_property_schema_invalid`.
    """
    return tuple(_overridden(_in_context(spec, profile), profile) for spec in _visible(profile, specs))


def drift_reminder(profile: ResolvedProfile, commit_count: int) -> str:
    """The user message that follows an answer in plain text: the run is open, and how it is to go on."""
    commits = "workspace.commit" in profile.visible_tools
    if commit_count:
        times = "once" if commit_count == 1 else f"{commit_count} times"
        way = (
            f"You have committed {times}. If the reply stands as you want it, call workspace_finish now. If it needs "
            "a change, edit the file and commit it again first: an edit that is not committed does not reach the chat."
        )
    elif commits:
        way = (
            f"Nothing is committed yet. Write the reply into a file such as {profile.message_body_path} with "
            "workspace_write_file, publish it with workspace_commit, then call workspace_finish."
        )
    else:
        way = (
            f"Write what you have into a file such as {profile.message_body_path} with workspace_write_file, then "
            "call workspace_finish."
        )
    return (
        "The run is still open: an answer in plain text does not end it and is not published. Every step has to be a "
        f"tool call, and workspace_finish is the one that completes the run. {way} Do not repeat the text outside a "
        "tool call."
    )


class _Section(NamedTuple):
    """A paragraph, and what must be there for it: visible tools, the presentation, writable roots (`persist/`)."""

    text: str
    needs: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()


_WORKSPACE = ("workspace.list_files", "workspace.search_files", "workspace.read_file")

_SECTIONS = (
    _Section(
        "You are working in agent mode. Everything you do here is done by calling tools, and you must use them: "
        "{aliases}."
    ),
    _Section(
        "What tools return, and what you write into files, is your private desk. Nobody in the chat sees it until it "
        "is published. Text outside a tool call goes nowhere."
    ),
    _Section(
        "Chat history: the prompt may hold only a part of it. Look for what you need with chat_search first, and only "
        "with the query you need.",
        needs=("chat.search",),
    ),
    _Section(
        "Read messages by their index with chat_read_messages; take long ones in ranges.",
        needs=("chat.read_messages",),
    ),
    _Section(
        "Lore: call worldinfo_read_activated without arguments for the list of active entries, then read only those "
        "that matter here.",
        needs=("worldinfo.read_activated",),
    ),
    _Section("Skills: skill_list shows what guidance is installed.", needs=("skill.list",)),
    _Section("Of a skill, read SKILL.md first with skill_read.", needs=("skill.read",)),
    _Section("Search a big skill with skill_search before you read ranges of it.", needs=("skill.search",)),
    _Section("Workspace: you see {visible}; you may write under {writable}."),
    _Section(
        "Get your bearings by listing or searching files, and read a file before you edit it. Line numbers in what "
        "you read are put there for you: they are not in the file, so keep them out of anything you write or patch.",
        any_of=_WORKSPACE,
    ),
    _Section(
        "Write new files and whole rewrites with workspace_write_file; its append mode adds to the end.",
        needs=("workspace.write_file",),
    ),
    _Section(
        "Change parts of a file with workspace_apply_patch. old_string must be the exact text and occur once, unless "
        "replace_all is set. If a patch fails, read the whole file again before the next try.",
        needs=("workspace.apply_patch",),
    ),
    _Section(
        "persist/ is kept from run to run of this chat. Use it for short, lasting facts: the plot so far, open "
        "threads, relationships, what the user likes. It is no place for chat history, finished replies, tool results "
        "or working notes.",
        needs=("persist/",),
    ),
    _Section(
        "workspace_commit publishes a file you can see as this run's one message in the chat; without arguments it "
        "takes {body} and replaces what the run published before. Mode append adds the file's text to that message, "
        "or starts it.",
        needs=("workspace.commit",),
    ),
    _Section(
        "A reader is waiting: commit at least once, and see it succeed, before you finish.",
        needs=("foreground", "workspace.commit"),
    ),
    _Section(
        "This run works in the background: you may finish without publishing anything.",
        needs=("background",),
    ),
    _Section(
        "When all is written and committed as it should be, call workspace_finish. Never end with plain text: the run "
        "ends only through that call.",
        needs=("workspace.finish",),
    ),
)  # fmt: skip


class _Context(NamedTuple):
    """What a tool's description gains, and what its path property says instead."""

    sentence: str
    path: str | None = None


_CONTEXTS = {
    "workspace.list_files": _Context(
        "You can see {visible}.", "A folder or file under {visible}; left out, all of these are listed."
    ),
    "workspace.search_files": _Context(
        "You can search {visible}.", "A folder or file under {visible}; left out, all of these are searched."
    ),
    "workspace.read_file": _Context(
        "You can read under {visible}. A partial read is for looking only.", "The file to read, under {visible}."
    ),
    "workspace.write_file": _Context(
        "The reply itself belongs in {body} unless you have a reason to keep it elsewhere.",
        "The file to write, under {writable}.",
    ),
    "workspace.apply_patch": _Context(
        "old_string is matched character for character and must occur exactly once unless replace_all is true.",
        "The file to change, under {writable}.",
    ),
    "workspace.commit": _Context(
        "Publishes {body} unless you name another file.", "The file to publish, under {visible}; {body} if left out."
    ),
    "workspace.finish": _Context("Call it last, when every edit and commit you need is done."),
}  # fmt: skip
_READ_FOR_PATCH = _Context(
    "You can read under {visible}. Before you patch a file, read the exact text; after a failed patch, read the whole "
    "file again.",
    "The file to read, under {visible}.",
)


def _in_context(spec: ToolSpec, profile: ResolvedProfile) -> ToolSpec:
    if spec.name == "skill.read":
        return _with_read_budgets(spec, profile)
    context = _CONTEXTS.get(spec.name)
    if spec.name == "workspace.read_file" and "workspace.apply_patch" in profile.visible_tools:
        context = _READ_FOR_PATCH
    if context is None:
        return spec
    words = _words(profile)
    described = replace(spec, description=f"{spec.description} {context.sentence.format_map(words)}")
    if context.path is None:
        return described
    return _with_property(described, "path", {"description": context.path.format_map(words)})


def _with_read_budgets(spec: ToolSpec, profile: ResolvedProfile) -> ToolSpec:
    skills = profile.definition.skills
    text = (
        f"How many characters to return: at most {skills.max_read_chars_per_call} in one call, and "
        f"{skills.max_read_chars_per_run} in the whole run."
    )
    limits: dict[str, Json] = {"description": text, "minimum": 1, "maximum": skills.max_read_chars_per_call}
    return _with_property(spec, "max_chars", limits)


def _overridden(spec: ToolSpec, profile: ResolvedProfile) -> ToolSpec:
    override = profile.definition.tools.tool_descriptions.get(spec.name)
    if override is None:
        return spec
    worded = spec if override.description is None else replace(spec, description=override.description.strip())
    for name, text in override.properties.items():
        worded = _with_property(worded, name, {"description": text.strip()})
    return worded


def _with_property(spec: ToolSpec, name: str, changes: dict[str, Json]) -> ToolSpec:
    """A copy whose top-level property `name` has `changes`; the given spec and its schema stay as they are."""
    properties = spec.input_schema.get("properties")
    if not is_object(properties):
        raise InvalidInput(f"{spec.name} takes no properties to describe", code="agent.profile_tool_properties_invalid")
    if name not in properties:
        raise InvalidInput(
            f"{spec.name} has no property {name!r}; remove it from tools.toolDescriptions",
            code="agent.profile_unknown_tool_property",
        )
    schema = properties[name]
    if not is_object(schema):
        raise InvalidInput(
            f"the schema of {spec.name}'s property {name!r} is no object",
            code="agent.profile_tool_property_schema_invalid",
        )
    return replace(spec, input_schema={**spec.input_schema, "properties": {**properties, name: {**schema, **changes}}})


def _visible(profile: ResolvedProfile, specs: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    by_name = {spec.name: spec for spec in specs}
    return tuple(by_name[name] for name in profile.visible_tools if name in by_name)


def _words(profile: ResolvedProfile) -> dict[str, str]:
    """What the texts may name: the roots with a trailing slash, and the file of the reply."""
    return {
        "visible": _listed(profile.visible_roots),
        "writable": _listed(profile.writable_roots),
        "body": profile.message_body_path,
    }


def _listed(roots: tuple[str, ...]) -> str:
    return ", ".join(f"{root}/" for root in roots)
