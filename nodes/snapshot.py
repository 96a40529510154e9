"""Whether a start request may become a run.

The checks are generators of faults, row by row of the start table; the first fault found is the one that is told, and
nothing has been made by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..graph.errors import InvalidData, InvalidInput
from ..graph.identity import stable_chat_id
from ..graph.jsontext import Json, dumps, is_list, is_object
from ..graph.messages import Role
from ..graph.profiles.resolved import ResolvedProfile
from .activation import activation
from .context_policy import context_policy
from .frozen_input import WHERE, frozen_input
from .snapshot_messages import MARKER, MARKER_KEY, prompt_of, role_of
from .start_request import StartRequest

_PAYLOAD_KEYS = ("chatCompletionPayload", "chat_completion_payload", "generateData", "generate_data")


def payload_of(snapshot: Json) -> dict[str, Json]:
    """The chat payload in a prompt snapshot; raises InvalidInput `agent.invalid_prompt_snapshot`.

    It is the first of `chatCompletionPayload`, `chat_completion_payload`, `generateData` and `generate_data` that is
    an object, else the snapshot itself where it has `messages` or `prompt`.
    """
    payload = _payload(snapshot)
    if payload is None:
        raise InvalidInput(_NO_PAYLOAD.message, code=_NO_PAYLOAD.code)
    return payload


def check_snapshot(request: StartRequest) -> None:
    """Rows 1 to 8, which need no profile; raises InvalidInput with the row's code."""
    _raise_first(_snapshot_faults(request))


def check_start(request: StartRequest, profile: ResolvedProfile) -> None:
    """Every row of the table in its order, rows 1 to 8 again included; raises InvalidInput with the row's code.

    `profile` is resolved with the request's presentation. Resolving it (row 9) belongs between `check_snapshot` and
    this.
    """
    _raise_first(fault for group in _GROUPS for fault in group(request, profile))


def check_payload(payload: dict[str, Json]) -> None:
    """The rows that a payload by itself must pass; raises InvalidInput with the row's code."""
    _raise_first(fault for group in (_payload_faults, _prompt_faults) for fault in group(payload))


def check_activation(value: Json, where: str) -> None:
    """Whether the lore can be told; raises InvalidInput `agent.invalid_worldinfo_activation_snapshot`."""
    try:
        activation(value, where)
    except InvalidData as wrong:
        raise InvalidInput(wrong.message, code=wrong.error_code) from wrong


def frozen_input_of(request: StartRequest) -> dict[str, Json] | None:
    """The request's frozen input as it is kept: its own, else the prompt snapshot's; None where there is none.

    Raises InvalidInput as `frozen_input` does, and `agent.frozen_run_input_snapshot_invalid` where the two differ.
    """
    within = request.prompt_snapshot.get(WHERE) if is_object(request.prompt_snapshot) else None
    given = [value for value in (request.frozen_run_input_snapshot, within) if value is not None]
    frozen = [frozen_input(value, request.generation_type) for value in given]
    if any(other != frozen[0] for other in frozen[1:]):
        raise InvalidInput(
            f"{WHERE} and promptSnapshot.{WHERE} differ; give one of them",
            code="agent.frozen_run_input_snapshot_invalid",
        )
    return frozen[0] if frozen else None


class _Fault(NamedTuple):
    code: str
    message: str


_NO_PAYLOAD = _Fault(
    "agent.invalid_prompt_snapshot", "promptSnapshot must hold an object chatCompletionPayload with messages or prompt"
)


def _raise_first(faults: Iterator[_Fault]) -> None:
    fault = next(faults, None)
    if fault:
        raise InvalidInput(fault.message, code=fault.code)


def _payload(snapshot: Json) -> dict[str, Json] | None:
    if not is_object(snapshot):
        return None
    for key in _PAYLOAD_KEYS:
        payload = snapshot.get(key)
        if is_object(payload):
            return payload
    return snapshot if _has_prompt(snapshot) else None


def _has_prompt(payload: dict[str, Json]) -> bool:
    return "messages" in payload or "prompt" in payload


def _snapshot_faults(request: StartRequest) -> Iterator[_Fault]:
    if is_object(request.options) and request.options.get("stream") is True:
        yield _Fault(
            "agent.phase2b_stream_unsupported", "options.stream can't be true: runs do not stream; leave it out"
        )
    if request.prompt_snapshot is None:
        yield _Fault("agent.prompt_snapshot_required", "promptSnapshot must be given")
    yield from _payload_faults(_payload(request.prompt_snapshot) or {})
    if not request.generation_type.strip():
        yield _Fault("agent.invalid_generation_type", "generationType must not be blank; leave it out for normal")


def _payload_faults(payload: dict[str, Json]) -> Iterator[_Fault]:
    if not _has_prompt(payload):
        yield _NO_PAYLOAD
    if isinstance(payload.get("tools"), list) and payload["tools"]:
        yield _Fault(
            "agent.external_tools_unsupported_phase2b", "the payload's tools must be left out: the run has its own"
        )
    if "tool_choice" in payload:
        yield _Fault(
            "agent.external_tool_choice_unsupported_phase2b",
            "the payload's tool_choice must be left out: the run has its own",
        )
    for index, entry in _entries(payload):
        if not is_object(entry):
            continue
        role, calls = entry.get("role"), entry.get("tool_calls")
        if (isinstance(role, str) and role.strip().lower() == "tool") or (is_list(calls) and calls):
            yield _Fault(
                "agent.external_tool_turns_unsupported_phase2b",
                f"messages[{index}] is a tool turn; a prompt may hold none, so remove it",
            )


def _request_faults(request: StartRequest, profile: ResolvedProfile) -> Iterator[_Fault]:
    yield from _snapshot_faults(request)


_MODELS_NOT_READY = {
    "requiresConfiguration": _Fault(
        "agent.profile_model_requires_configuration", "the profile has no model yet; set its model.mode"
    ),
}


def _profile_faults(request: StartRequest, profile: ResolvedProfile) -> Iterator[_Fault]:
    if not profile.definition.run.direct_runnable:
        yield _Fault("agent.profile_not_direct_runnable", f"the profile {profile.id} only works for other agents")
    not_ready = _MODELS_NOT_READY.get(profile.definition.model.mode)
    if not_ready:
        yield not_ready


def _context_faults(request: StartRequest, profile: ResolvedProfile) -> Iterator[_Fault]:
    snapshot = request.prompt_snapshot  # an object: it holds a payload
    remedy = f"it must be the profile's context, {dumps(profile.context_policy).decode()}"
    if "contextPolicy" not in snapshot:
        yield _Fault("agent.context_policy_required", f"promptSnapshot.contextPolicy is missing; {remedy}")
    policy = context_policy(snapshot["contextPolicy"], "promptSnapshot.contextPolicy")
    if policy != profile.context_policy:
        yield _Fault(
            "agent.context_policy_mismatch", f"promptSnapshot.contextPolicy is {dumps(policy).decode()}; {remedy}"
        )


def _frozen_input_faults(request: StartRequest, profile: ResolvedProfile) -> Iterator[_Fault]:
    frozen_input_of(request)  # raises the codes of its own
    return iter(())


def _presentation_faults(request: StartRequest, profile: ResolvedProfile) -> Iterator[_Fault]:
    presentation = request.presentation or profile.presentation
    if presentation == "foreground" and "workspace.commit" not in profile.visible_tools:
        yield _Fault(
            "agent.foreground_commit_unavailable",
            f"the profile {profile.id} hides workspace.commit; start the run in the background, or allow that tool",
        )


def _identity_faults(request: StartRequest, profile: ResolvedProfile) -> Iterator[_Fault]:
    if request.stable_chat_id is not None:
        stable_chat_id(request.stable_chat_id)  # raises the codes of its own
    if request.persist_base_state_id is not None and not request.persist_base_state_id.strip():
        yield _Fault("agent.persist_base_state_id_empty", "persistBaseStateId must not be blank; leave it out for none")


def _message_faults(request: StartRequest, profile: ResolvedProfile) -> Iterator[_Fault]:
    yield from _prompt_faults(payload_of(request.prompt_snapshot))


def _prompt_faults(payload: dict[str, Json]) -> Iterator[_Fault]:
    if prompt_of(payload) is None:
        yield _Fault(
            "agent.tool_loop_requires_messages", "the payload's messages must be a list or a text, or its prompt a text"
        )
    entries = _entries(payload)
    for index, entry in entries:
        if not is_object(entry):
            yield _Fault("agent.invalid_prompt_snapshot", f"messages[{index}] must be an object")
    markers = [(index, entry[MARKER_KEY]) for index, entry in entries if MARKER_KEY in entry]
    for index, marker in markers:
        if not isinstance(marker, str):
            yield _Fault("agent.invalid_prompt_marker", f"messages[{index}].{MARKER_KEY} must be a string")
    for index, marker in markers:
        if marker != MARKER:
            yield _Fault(
                "agent.unknown_prompt_marker", f'messages[{index}].{MARKER_KEY} must be "{MARKER}", not {marker!r}'
            )
    if len(markers) > 1:
        places = ", ".join(f"messages[{index}]" for index, _ in markers)
        yield _Fault(
            "agent.system_prompt_marker_duplicate", f"only one message may bear the prompt marker, not {places}"
        )
    for index, entry in entries:
        if role_of(entry) is Role.TOOL:
            yield _Fault(
                "agent.invalid_model_message", f"messages[{index}] has the role of a tool; a prompt may hold none"
            )


def _activation_faults(request: StartRequest, profile: ResolvedProfile) -> Iterator[_Fault]:
    held = request.prompt_snapshot.get("worldInfoActivation")
    if held is not None:
        check_activation(held, "promptSnapshot.worldInfoActivation")  # raises its own code
    return iter(())


def _entries(payload: dict[str, Json]) -> list[tuple[int, Json]]:
    prompt = prompt_of(payload)
    return list(enumerate(prompt)) if is_list(prompt) else []


_GROUPS: tuple[Callable[[StartRequest, ResolvedProfile], Iterator[_Fault]], ...] = (
    _request_faults, _profile_faults, _context_faults, _frozen_input_faults, _presentation_faults, _identity_faults,
    _message_faults, _activation_faults,
)  # fmt: skip
