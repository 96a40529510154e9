"""A start request becomes a run: everything is checked first, and only then does a folder exist."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..graph.canonical import canonical_sha256
from ..graph.errors import InvalidData, InvalidInput
from ..graph.events import EventType
from ..graph.identity import RunId, segment, stable_chat_id, workspace_id
from ..graph.mcp_tools import McpTool, frozen
from ..graph.ports import ChatHead
from ..graph.profiles.resolved import ResolvedProfile
from ..graph.status import RunStatus
from ..nodes.deps import Run, in_thread
from ..nodes.equipment import equip
from ..nodes.snapshot import check_snapshot, check_start, frozen_input_of
from ..nodes.start_request import StartRequest
from ..storage.disk import Disk, storage_failed
from ..storage.folder import Log, pretty
from ..storage.folder_lock import folder_lock
from ..storage.persist import newest_state_id
from ..storage.run_deletion import finish_deletion
from ..storage.runs import (
    ASKED_PROFILE,
    EVENTS,
    FROZEN_INPUT,
    GENERATION_INTENT,
    MCP_TOOLS,
    PROMPT_SNAPSHOT,
    RESOLVED_PROFILE,
    RunRecord,
    timestamp,
)
from .beginning import beginning
from .mcp.offer import offer
from .opening import AskFor, open_run
from .profiles.choice import chosen_profile
from .services import Services


class Equipped(NamedTuple):
    """What a run is given beside its prompt."""

    asked: ResolvedProfile
    """The profile as it was named."""
    profile: ResolvedProfile
    """As the run follows it: the tools that its `*` stood for are spelled out."""
    mcp_tools: tuple[McpTool, ...]


class Checked(NamedTuple):
    """What a run that may be made is to be frozen as."""

    record: RunRecord
    equipped: Equipped


async def checked_start(services: Services, request: StartRequest) -> Checked:
    """The run that the request asks for, not yet made; raises what refuses it, and changes nothing."""
    equipment = await equipped(services, request)
    profile = equipment.profile
    stable = await _stable_chat_id(services, request)
    head = ChatHead(0, None)
    if services.host is not None:
        head = await services.host.head(request.chat_ref, request.generation_type)
    now = timestamp(services.clock.now())
    workspace = workspace_id(request.chat_ref.kind, stable)
    newest = await in_thread(lambda: newest_state_id(services.store.chat_folder(workspace), services.disk))
    if request.persist_base_state_id is not None and request.persist_base_state_id != newest:
        raise InvalidInput(
            f"persistBaseStateId is {request.persist_base_state_id!r}, but the newest is {newest!r}",
            code="agent.persist_base_state_mismatch",
        )
    record = RunRecord(
        id=RunId(_run_id(request) if request.run_id else f"run_{services.ids.new()}"),
        workspace_id=workspace,
        stable_chat_id=stable,
        chat_ref=request.chat_ref,
        generation_type=request.generation_type,
        profile_id=profile.id,
        presentation=profile.presentation,
        status=RunStatus.CREATED,
        created_at=now,
        updated_at=now,
        input_sha256=input_sha256(request),
        chat_head=head,
        persist_base_state_id=newest,
        beginning=beginning(request, profile),
    )
    return Checked(record, equipment)


async def equipped(services: Services, request: StartRequest) -> Equipped:
    """What the request asks for; raises what refuses it."""
    check_snapshot(request)
    asked = await in_thread(lambda: _profile_of(services, request))
    check_start(request, asked)
    profile, mcp_tools = await in_thread(lambda: offer(asked, services.mcp))
    await in_thread(lambda: check_equipped(services, profile, request, mcp_tools))
    return Equipped(asked, profile, mcp_tools)


def lay_down(services: Services, checked: Checked, request: StartRequest) -> bool:
    """The input files, then the record: a run exists once its record does. Blocking.

    False, with nothing changed, where another process made the run meanwhile.
    """
    record, equipment = checked
    folder, disk = services.store.folder(record), services.disk
    finish_deletion(services.store, disk, record.id)  # of a run of this id: its files are not this one's
    try:
        with folder_lock(services.store.chat_folder(record.workspace_id)), services.store.making():
            if services.store.exists(record.id):
                return False
            disk.remove(folder / EVENTS)  # of a start that a crash cut off before its record
            disk.replace(folder / PROMPT_SNAPSHOT, pretty(request.prompt_snapshot))
            freeze(equipment, folder, disk)
            if request.generation_intent is not None:
                disk.replace(folder / GENERATION_INTENT, pretty(request.generation_intent))
            frozen_input = frozen_input_of(request)
            if frozen_input is not None:
                disk.replace(folder / FROZEN_INPUT, pretty(frozen_input))
            services.store.save(record)
    except OSError as error:
        raise storage_failed(error, f"making run {record.id}") from error
    return True


def freeze(equipment: Equipped, folder: Path, disk: Disk) -> None:
    """The profile and the outside tools into the run's folder; raises OSError."""
    asked, profile, mcp_tools = equipment
    disk.replace(folder / RESOLVED_PROFILE, pretty(profile.to_json()))
    disk.remove(folder / ASKED_PROFILE)
    if asked != profile:
        disk.replace(folder / ASKED_PROFILE, pretty(asked.definition.to_json()))
    disk.remove(folder / MCP_TOOLS)
    if mcp_tools:
        disk.replace(folder / MCP_TOOLS, pretty(frozen(mcp_tools)))


def begin_run(services: Services, checked: Checked, request: StartRequest, ask_for: AskFor) -> Run | None:
    """The run on disk, its lease ours, `run_created` in its journal; None where another process made it. Blocking."""
    if not lay_down(services, checked, request):
        return None
    return _opened(services, checked.record, ask_for)


def created(record: RunRecord) -> Log:
    """The first event of a run."""
    return Log(
        EventType.RUN_CREATED,
        {
            "workspaceId": record.workspace_id,
            "stableChatId": record.stable_chat_id,
            "persistBaseStateId": record.persist_base_state_id,
            "presentation": record.presentation,
        },
    )


async def attach_or_begin(services: Services, request: StartRequest, ask_for: AskFor) -> Run:
    """The run that the request asks for, opened: a new one, or the one of this id that began with the same input."""
    stored = await in_thread(lambda: existing(services, request))
    if stored is None:
        checked = await checked_start(services, request)
        run = await in_thread(lambda: begin_run(services, checked, request, ask_for))
        if run is not None:
            return run
        stored = await in_thread(lambda: existing(services, request)) or checked.record
    return await in_thread(lambda: _opened(services, stored, ask_for))


def _opened(services: Services, record: RunRecord, ask_for: AskFor) -> Run:
    """The run, `run_created` in its journal: after a crash it may not be there yet."""
    run = open_run(services, record, ask_for)
    try:
        run.folder.apply(created(record))
    except BaseException:
        run.folder.close()
        raise
    return run


def existing(services: Services, request: StartRequest) -> RunRecord | None:
    """The run of this id, if it was started with the same input; raises `agent.run_id_conflict` if with other."""
    if request.run_id is None or not services.store.exists(_run_id(request)):
        return None
    stored = services.store.load(request.run_id)
    if stored.input_sha256 != input_sha256(request):
        raise InvalidInput(
            f"run {stored.id} exists and was started with other input; choose another runId, or give the same input",
            code="agent.run_id_conflict",
        )
    return stored


def check_equipped(
    services: Services, profile: ResolvedProfile, request: StartRequest, mcp_tools: tuple[McpTool, ...]
) -> None:
    """Raises what the run would miss: prompts, a connection, a skill that the profile names. Blocking."""
    equip(profile, request.prompt_snapshot, services.gateway, mcp_tools)
    rules = profile.definition.skills
    wanted = [name for name in rules.visible if name != "*" and name not in rules.deny and "*" not in rules.deny]
    installed = {skill.name for skill in services.skills.skills()} if wanted else set[str]()
    missing = [name for name in wanted if name not in installed]
    if missing:
        raise InvalidInput(
            f"the profile's skills.visible names {', '.join(missing)}, not installed; install with "
            "treadle skills install, or take the name out",
            code="agent.skill_visible_missing",
            details={"path": "$.skills.visible", "names": missing},
        )


def _profile_of(services: Services, request: StartRequest) -> ResolvedProfile:
    return chosen_profile(services, request.profile_id, request.profile, request.presentation, services.preset_exists)


def input_sha256(request: StartRequest) -> str:
    """SHA-256 of the request's RFC 8785 form; what that can't hold (big integers) is spelled as it came, keys sorted."""
    return canonical_sha256(request.to_json())


async def _stable_chat_id(services: Services, request: StartRequest) -> str:
    if request.stable_chat_id is not None:
        return stable_chat_id(request.stable_chat_id)
    if services.host is None:
        raise InvalidInput(
            "stableChatId is missing, and no chat host can tell it", code="agent.stable_chat_id_required"
        )
    return stable_chat_id(await services.host.stable_chat_id(request.chat_ref))


def _run_id(request: StartRequest) -> str:
    try:
        return segment(request.run_id or "", "runId")
    except InvalidData as error:
        raise InvalidInput(error.message) from error
