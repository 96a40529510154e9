"""What a run begins under, and what of it is not the same any more: a resume is refused then. Blocking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..graph.errors import InvalidData, InvalidInput, RunFailed
from ..graph.jsontext import Json, is_list, is_object
from ..graph.profiles.resolved import BUILT_IN, Profile, ResolvedProfile, default_writer, resolve, resolved_profile
from ..graph.state import VERSION
from ..graph.table import signature
from ..graph.text import sha256_bytes
from ..nodes.start_request import StartRequest
from ..storage.folder import RunFolder, pretty
from ..storage.runs import ASKED_PROFILE, RESOLVED_PROFILE, Beginning
from .services import Services

_SHOWN_PATHS = 8

What = Literal["machine", "profile"]


class MachineChanged(RunFailed):
    """This is not the machine that the run began on."""

    code = "agent.resume_machine_changed"


class ProfileChanged(RunFailed):
    """The profile is not the one that the run began under."""

    code = "agent.resume_profile_changed"


@dataclass(frozen=True, slots=True)
class Changed:
    """One thing that is not as it was at the start."""

    what: What
    message: str
    paths: tuple[str, ...] = ()
    """Of a profile: where it differs, as JSON paths."""


def beginning(request: StartRequest, frozen: ResolvedProfile) -> Beginning:
    """What a run that begins now is to be held against later."""
    named = request.profile_id is not None and bool(request.profile_id.strip())
    return Beginning(
        signature(),
        VERSION,
        sha256_bytes(pretty(frozen.to_json())),
        "request" if request.profile is not None else "id" if named else "default",
        request.presentation,
    )


def changes(services: Services, folder: RunFolder) -> tuple[Changed, ...]:
    """What changed since the run's start, the machine first; raises StorageFailed where that can't be read."""
    began = folder.record.beginning
    if began is None:
        unknown = "its record, of an older Treadle, does not say"
        return (
            Changed("machine", f"on which machine it began, {unknown}"),
            Changed("profile", f"nor under which profile, {unknown}"),
        )
    return (*_machine(began), *(_frozen(folder, began) or _named(services, folder, began)))


def refusal(run_id: str, changed: Sequence[Changed]) -> MachineChanged | ProfileChanged:
    """Why the run does not go on, and how it does; `details` are `{changes: [{what, message, paths}]}`."""
    kind = MachineChanged if changed[0].what == "machine" else ProfileChanged
    reasons = "; ".join(each.message for each in changed)
    return kind(
        f"run {run_id} does not go on by itself: {reasons}. To go on all the same, with the profile as the run folder has "
        f"it and the machine of this Treadle: treadle resume {run_id} --force, or resume_run with force=True",
        details={
            "changes": [{"what": each.what, "message": each.message, "paths": list(each.paths)} for each in changed]
        },
    )


def differences(before: Json, after: Json, path: str = "$") -> Iterator[str]:
    """The JSON paths at which two values differ, in order; of lists of different lengths, the list's own."""
    if is_object(before) and is_object(after):
        for key in sorted({*before, *after}):
            below = f"{path}.{key}" if key.isidentifier() else f'{path}["{key}"]'
            if key not in before or key not in after:
                yield below
            else:
                yield from differences(before[key], after[key], below)
    elif is_list(before) and is_list(after) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif before != after or type(before) is not type(after):
        yield path


def _machine(began: Beginning) -> Iterator[Changed]:
    now = signature()
    if began.signature != now:
        yield Changed(
            "machine",
            f"it began on the machine {began.signature} (state version {began.state_version}), and this Treadle has "
            f"the machine {now} (state version {VERSION})",
        )


def _frozen(folder: RunFolder, began: Beginning) -> tuple[Changed, ...]:
    """Whether the run's own copy of the profile is what the start wrote."""
    try:
        is_same = sha256_bytes(folder.read(RESOLVED_PROFILE)) == began.profile_sha256
    except InvalidData:
        return (Changed("profile", f"the profile that it froze, {RESOLVED_PROFILE}, is missing"),)
    if is_same:
        return ()
    return (Changed("profile", f"the profile that it froze, {RESOLVED_PROFILE}, is not as the start wrote it"),)


def _named(services: Services, folder: RunFolder, began: Beginning) -> Iterator[Changed]:
    """Whether the profile's name still means what it meant. A profile that was deleted means nothing else."""
    if began.profile_from == "request":
        return
    frozen = resolved_profile(folder.read_json(RESOLVED_PROFILE))
    try:
        named = _profile_now(services, frozen, began)
    except (InvalidInput, InvalidData) as broken:
        yield Changed("profile", f"its profile was changed and can't be used any more: {broken.message}", ("$",))
        return
    if named is None:
        return
    before = folder.read_json(ASKED_PROFILE) if folder.has(ASKED_PROFILE) else frozen.definition.to_json()
    override = frozen.presentation if began.presentation is not None else None
    paths = tuple(differences(before, resolve(named, frozen.source, override).definition.to_json()))
    if paths:
        more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
        where = ", ".join(paths[:_SHOWN_PATHS]) + more
        yield Changed("profile", f"the profile {frozen.id} was changed since, at {where}", paths)


def _profile_now(services: Services, frozen: ResolvedProfile, began: Beginning) -> Profile | None:
    """What the start would find; None where there is none any more."""
    if began.profile_from == "default":
        return default_writer()
    stored = services.profiles.get(frozen.id)
    if stored is not None:
        return stored
    return default_writer() if frozen.source == BUILT_IN else None
