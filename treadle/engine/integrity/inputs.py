"""What a run was given: the files are there, and are what the journal, the record and the profile say."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import product

from ...graph.canonical import canonical_sha256
from ...graph.errors import InvalidData, InvalidInput, NotFound, TreadleError
from ...graph.events import EventType
from ...graph.jsontext import Json, is_object
from ...graph.profiles.resolved import ResolvedProfile, resolved_profile
from ...graph.text import sha256_bytes
from ...nodes.snapshot import check_snapshot, frozen_input_of
from ...nodes.start_request import StartRequest
from ...storage.persist_records import SNAPSHOT
from ...storage.runs import FROZEN_INPUT, GENERATION_INTENT, MANIFEST, PROMPT_SNAPSHOT, RESOLVED_PROFILE, RunRecord
from .evidence import RECORD, Evidence
from .report import Finding

_COPY = "put the file back from a copy; without it the run can't go on"
_UNTOLD = (
    "the request held what no file keeps (a profile document, options), or an input file was changed: compare the prompt "
    "snapshot with your own copy"
)


def inputs(evidence: Evidence) -> Generator[Finding]:
    if evidence.is_slim:
        return
    profile = yield from _profile(evidence)
    yield from _prompt(evidence)
    yield from _as_told(evidence)
    if profile is not None:
        yield from _of_the_profile(evidence, profile)


def _profile(evidence: Evidence) -> Generator[Finding, None, ResolvedProfile | None]:
    try:
        data = evidence.read(RESOLVED_PROFILE)
        profile = resolved_profile(evidence.read_json(RESOLVED_PROFILE))
    except TreadleError as error:
        if not _is_told_by_the_end(evidence):
            yield Finding(RESOLVED_PROFILE, "the profile that the run froze", error.message, _COPY)
        return None
    kept = _kept_sha256(evidence)
    if kept is not None and kept != sha256_bytes(data):
        yield Finding(RESOLVED_PROFILE, f"sha256 {kept}, as {RECORD} has it", f"sha256 {sha256_bytes(data)}", _COPY)
    return profile


def _is_told_by_the_end(evidence: Evidence) -> bool:
    """The run itself met the damage and ended with it: the journal says so."""
    payload: Json = None if evidence.end is None else evidence.end.event.payload
    return is_object(payload) and RESOLVED_PROFILE in str(payload.get("message"))


def _kept_sha256(evidence: Evidence) -> str | None:
    """Of the profile's file, where the record keeps it."""
    try:
        stored = evidence.read_json(RECORD)
    except TreadleError:
        return None
    kept: Json = stored.get("profile") if is_object(stored) else None
    return kept.get("sha256") if is_object(kept) else None


def _is_kept_whole(record: RunRecord) -> bool:
    """A profile document that the start request held is kept as it was resolved only, so its request can't be told."""
    return record.beginning is None or record.beginning.profile_from != "request"


def _prompt(evidence: Evidence) -> Generator[Finding]:
    record = evidence.record
    try:
        snapshot = evidence.read_json(PROMPT_SNAPSHOT)
        if isinstance(record, RunRecord):
            asked = StartRequest(record.chat_ref, snapshot, generation_type=record.generation_type)
            check_snapshot(asked)
            yield from _frozen(evidence, asked)
            if _is_kept_whole(record) and record.input_sha256 not in _possible_sha256s(evidence, record, snapshot):
                found = "the files that are kept give no request of that hash"
                where = f"a start request of sha256 {record.input_sha256}"
                yield Finding(RECORD, where, found, _UNTOLD, path="$.inputSha256", is_fault=False)
    except (NotFound, InvalidData, InvalidInput) as error:
        yield Finding(PROMPT_SNAPSHOT, "the prompt snapshot that the run was started with", error.message, _COPY)


def _frozen(evidence: Evidence, asked: StartRequest) -> Generator[Finding]:
    """The frozen input that the snapshot holds is the one that was kept."""
    within = frozen_input_of(asked)
    if within is None:
        return
    try:
        if evidence.read_json(FROZEN_INPUT) != within:
            yield Finding(FROZEN_INPUT, f"the frozen input in {PROMPT_SNAPSHOT}", "another", _COPY)
    except (NotFound, InvalidData) as error:
        yield Finding(FROZEN_INPUT, f"the frozen input in {PROMPT_SNAPSHOT}", error.message, _COPY)


def _possible_sha256s(evidence: Evidence, record: RunRecord, snapshot: Json) -> Iterator[str]:
    """Of every request that the kept files allow: a field may have been given, or found out at the start."""
    presentation: list[Json] = [None, record.presentation]
    options: list[Json] = [None, {}, {"presentation": record.presentation}]
    frozen: list[Json] = [None, *([evidence.read_json(FROZEN_INPUT)] if evidence.has(FROZEN_INPUT) else [])]
    base: list[Json] = [None, *([record.persist_base_state_id] if record.persist_base_state_id else [])]
    intent = evidence.read_json(GENERATION_INTENT) if evidence.has(GENERATION_INTENT) else None
    fields = product([record.stable_chat_id, None], [None, record.profile_id], presentation, options, base, frozen)
    for stable, profile_id, shown, chosen, base_id, input_ in fields:
        request = StartRequest(
            chat_ref=record.chat_ref,
            prompt_snapshot=snapshot,
            stable_chat_id=stable,
            generation_type=record.generation_type,
            profile_id=profile_id,
            generation_intent=intent,
            presentation=shown,
            options=chosen,
            persist_base_state_id=base_id,
            frozen_run_input_snapshot=input_,
        )
        yield canonical_sha256(request.to_json())


def _as_told(evidence: Evidence) -> Generator[Finding]:
    """The intent is the one that the journal tells; what the chat lent is written down once the journal says so."""
    for line in evidence.of(EventType.GENERATION_INTENT_RECORDED):
        try:
            if evidence.read_json(GENERATION_INTENT) != line.event.payload:
                yield line.finding(f"the intent in {GENERATION_INTENT}", "tells another", _COPY)
        except (NotFound, InvalidData) as error:
            yield Finding(GENERATION_INTENT, f"the intent that event {line.event.seq} tells", error.message, _COPY)
    for line in evidence.of(EventType.PERSISTENT_PROJECTION_INITIALIZED):
        try:
            if evidence.has(SNAPSHOT):
                _ = evidence.lent
            else:
                raise NotFound(f"there is no {SNAPSHOT}")
        except (NotFound, InvalidData) as error:
            yield Finding(
                SNAPSHOT, f"what the chat lent the run, as event {line.event.seq} tells", error.message, _COPY
            )


def _of_the_profile(evidence: Evidence, profile: ResolvedProfile) -> Generator[Finding]:
    """The manifest and the first events say of the profile what it says itself."""
    record = evidence.record
    if isinstance(record, RunRecord) and any(True for _ in evidence.of(EventType.WORKSPACE_INITIALIZED)):
        made = profile.manifest_json(record.id, record.stable_chat_id, record.chat_ref.to_json(), record.created_at)
        try:
            if evidence.read_json(MANIFEST) != made:
                yield Finding(MANIFEST, f"what {RESOLVED_PROFILE} and {RECORD} come to", "something else", _COPY)
        except (NotFound, InvalidData) as error:
            yield Finding(MANIFEST, "the run's manifest", error.message, _COPY)
    held: dict[str, Json] = {
        "profileId": profile.id,
        "source": profile.source,
        "maxRounds": profile.max_rounds,
        "contextPolicy": profile.context_policy,
        "modelRetry": {"maxRetries": profile.max_retries, "intervalMs": profile.retry_interval_ms},
    }
    for line in evidence.of(EventType.PROFILE_RESOLVED, EventType.CONTEXT_ASSEMBLED):
        told: Json = line.event.payload
        for key in held.keys() & (set(told) if is_object(told) else set()):
            if told[key] != held[key]:
                yield line.finding(
                    f"{held[key]!r}, as {RESOLVED_PROFILE} has it", f"tells {told[key]!r}", path=f"$.payload.{key}"
                )
