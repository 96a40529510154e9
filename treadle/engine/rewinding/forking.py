"""A fork: a new run that stands where another one stood, and goes on from there by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json
from ...graph.mcp_tools import thawed
from ...graph.ports import ChatHead
from ...graph.profiles.resolved import Presentation, ResolvedProfile, resolved_profile
from ...nodes.deps import Run, in_thread
from ...nodes.start_request import StartRequest
from ...storage.runs import FROZEN_INPUT, MCP_TOOLS, PROMPT_SNAPSHOT, RESOLVED_PROFILE, Beginning, RunRecord, timestamp
from ..beginning import beginning
from ..driving import Driving
from ..opening import AskFor, open_run
from ..services import Services
from ..starting import Equipped, check_equipped, equipped
from .fork_files import Fork, lay_down
from .fork_request import ForkRequest
from .journal_state import read_json
from .origin import Origin, origin_of
from .rebuilding import rebuilt


async def fork(services: Services, driving: Driving, ask_for: AskFor, asked: ForkRequest) -> RunRecord:
    """The fork's record once it is driven, or that of the fork of this name that is there already.

    Raises NotFound, InvalidInput and InvalidData before anything is made; the origin is not touched.
    """
    stored = await in_thread(lambda: _existing(services, asked))
    if stored is not None:
        return stored
    origin = await in_thread(lambda: origin_of(services, asked))
    made = await _checked(services, origin, asked)
    if not await in_thread(lambda: lay_down(services, made)):
        return await in_thread(lambda: _existing(services, asked)) or made.record
    run = await in_thread(lambda: open_run(services, made.record, ask_for))
    try:
        await _place(driving, run)
    except BaseException:
        await in_thread(run.folder.close)
        raise
    driving.begin(run, None)
    return run.folder.record


async def _place(driving: Driving, run: Run) -> None:
    point = await in_thread(lambda: rebuilt(run))
    assert point is not None, "a fork begins at a settled point"
    run.folder.resumed = True
    await driving.place(run, point)


def _existing(services: Services, asked: ForkRequest) -> RunRecord | None:
    """The run of the fork's name, if it is this fork; raises `agent.run_id_conflict` if it is another."""
    if not services.store.exists(asked.new_run_id):
        return None
    stored = services.store.load(asked.new_run_id)
    if stored.input_sha256 != asked.input_sha256():
        raise InvalidInput(
            f"run {stored.id} exists and is not this fork; choose another newRunId, or give the same input",
            code="agent.run_id_conflict",
        )
    return stored


async def _checked(services: Services, origin: Origin, asked: ForkRequest) -> Fork:
    """The fork as it may be made: its equipment is there, and it has seen the chat as it is now."""
    request = await in_thread(lambda: _request(services, origin, asked))
    equipment = await _equipment(services, origin, asked, request)
    profile = equipment.profile
    head = ChatHead(0, None)
    if services.host is not None:
        head = await services.host.head(request.chat_ref, request.generation_type)
    now = timestamp(services.clock.now())
    record = replace(
        origin.record,
        id=asked.new_run_id,
        profile_id=profile.id,
        presentation=profile.presentation,
        status=origin.status,
        created_at=now,
        updated_at=now,
        input_sha256=asked.input_sha256(),
        chat_head=head,
        beginning=_began_under(origin, asked, request, profile),
    )
    place = {"checkpointId": asked.checkpoint_id} if asked.at_seq is None else {"atSeq": asked.at_seq}
    return Fork(origin, record, equipment, asked.keeps_profile, place)


def _began_under(origin: Origin, asked: ForkRequest, request: StartRequest, profile: ResolvedProfile) -> Beginning:
    """What a resume of the fork is held against: this machine, and the profile where the fork, or its origin, got it."""
    here, before = beginning(request, profile), origin.record.beginning
    if not asked.keeps_profile or before is None:
        return here
    return replace(here, profile_from=before.profile_from, presentation=before.presentation)


async def _equipment(services: Services, origin: Origin, asked: ForkRequest, request: StartRequest) -> Equipped:
    """The origin's own profile and tools as they were frozen; another profile is checked as for a start."""
    if not asked.keeps_profile:
        return await equipped(services, request)

    def read() -> Equipped:
        profile = resolved_profile(_read(services, origin, RESOLVED_PROFILE))
        document = _read(services, origin, MCP_TOOLS, missing_is_fine=True)
        mcp_tools = () if document is None else thawed(document)
        check_equipped(services, profile, request, mcp_tools)
        return Equipped(profile, profile, mcp_tools)

    return await in_thread(read)


def _request(services: Services, origin: Origin, asked: ForkRequest) -> StartRequest:
    """The start that the fork's equipment is checked by."""
    record = origin.record
    return StartRequest(
        chat_ref=record.chat_ref,
        prompt_snapshot=_read(services, origin, PROMPT_SNAPSHOT),
        stable_chat_id=record.stable_chat_id,
        generation_type=record.generation_type,
        profile=asked.profile,
        profile_id=asked.profile_id,
        presentation=cast(Presentation, record.presentation),
        frozen_run_input_snapshot=_read(services, origin, FROZEN_INPUT, missing_is_fine=True),
        run_id=asked.new_run_id,
    )


def _read(services: Services, origin: Origin, path: str, *, missing_is_fine: bool = False) -> Json:
    if missing_is_fine and not (origin.folder / path).exists():
        return None
    return read_json(origin.folder, path, services.disk)
