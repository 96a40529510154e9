"""Calls that wait for a person: which they are, what the person may answer, and what follows from the answer.

The answer is journalled before anything is done with it. Arguments that a person changed stand in a file of their own:
the stored answer and the wire keep the model's, and the model is told of the change beside the call's result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from ..graph.errors import InvalidInput, ToolRefused
from ..graph.events import Event, EventType
from ..graph.jsontext import Json, dumps, is_object, loads
from ..graph.messages import ToolCall, ToolResult, ToolSpec
from ..graph.profiles.resolved import ResolvedProfile
from ..storage.folder import Change, Log, Put, pretty
from .arguments.check import check_arguments
from .deps import Run
from .tool import Tool

INVALID = "agent.tool_approval_resolve_invalid"
DENIED = "agent.tool_denied"

_FIELDS = ("approved", "reason", "editedArguments")


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's answer."""

    approved: bool
    reason: str | None = None
    edited: dict[str, Json] | None = None
    """What the call is to run with in place of the model's arguments; only of a call that is approved."""

    def to_json(self) -> dict[str, Json]:
        return {"approved": self.approved, "reason": self.reason, "editedArguments": self.edited}


def needed(profile: ResolvedProfile, spec: ToolSpec) -> bool:
    """Whether the profile lets this tool run only with a person's word."""
    return spec.annotations.mutating if profile.approval == "mutating" else spec.name in profile.approval


def question(round_number: int, call_id: str, name: str) -> dict[str, Json]:
    """The payload of `tool_call_awaiting_approval`."""
    return {"round": round_number, "callId": call_id, "name": name}


def decision_of(answer: Json, tool: Tool | None = None) -> Decision:
    """A person's answer, checked; raises InvalidInput that names the field.

    With the tool, changed arguments are held to what it takes; without, only to their form.
    """
    if not is_object(answer):
        raise _invalid(f"the answer is an object {{approved, reason?, editedArguments?}}, not {answer!r}")
    unknown = [key for key in answer if key not in _FIELDS]
    if unknown:
        raise _invalid(f"{unknown[0]} is not known; the fields are {', '.join(_FIELDS)}")
    approved, reason, edited = (answer.get(key) for key in _FIELDS)
    if not isinstance(approved, bool):
        raise _invalid(f"approved must be true or false, not {approved!r}")
    if reason is not None and not isinstance(reason, str):
        raise _invalid(f"reason must be a string, not {reason!r}")
    if edited is not None:
        _check_edit(approved, edited, tool)
    return Decision(approved, (reason or "").strip() or None, edited)


def decided(run: Run, round_number: int, call_id: str) -> Event | None:
    """The event that tells the answer, if it was given."""
    find = run.folder.ledger.find
    return find(EventType.TOOL_CALL_APPROVED, round=round_number, callId=call_id) or find(
        EventType.TOOL_CALL_DENIED, round=round_number, callId=call_id
    )


def deciding(run: Run, asked: dict[str, Json], decision: Decision) -> list[Change]:
    """What journals the answer: changed arguments first, in their own file. Blocking, since it reads the model's own."""
    told = asked if decision.reason is None else {**asked, "reason": decision.reason}
    if not decision.approved:
        return [Log(EventType.TOOL_CALL_DENIED, told)]
    own = arguments_ref(run, asked)
    if decision.edited is None or dumps(decision.edited) == dumps(run.folder.read_json(own)):
        return [Log(EventType.TOOL_CALL_APPROVED, told)]
    path = f"{own.removesuffix('.json')}.edited.json"
    told = {**told, "editedArgumentsRef": path}
    return [Put(path, pretty(decision.edited)), Log(EventType.TOOL_CALL_APPROVED, told)]


def arguments_ref(run: Run, asked: dict[str, Json]) -> str:
    """Where the run folder keeps what the model sent."""
    requested = run.folder.ledger.find(EventType.TOOL_CALL_REQUESTED, round=asked["round"], callId=asked["callId"])
    assert requested is not None, "a call is requested before a person is asked"
    return cast(str, requested.payload["argumentsRef"])


def edited_arguments(run: Run, round_number: int, call_id: str) -> Json:
    """The arguments that a person put in the place of the model's; None where nobody did. Blocking."""
    path = run.edited.get((round_number, call_id))
    if path is None:
        approved = run.folder.ledger.find(EventType.TOOL_CALL_APPROVED, round=round_number, callId=call_id)
        path = None if approved is None else approved.payload.get("editedArgumentsRef")
    return None if path is None else run.folder.read_json(path)


def denial(call: ToolCall, told: Json) -> ToolRefused:
    """What the model is told of a call that was denied."""
    reason = told.get("reason")
    why = "They gave no reason." if reason is None else f"Their reason: {reason}"
    return ToolRefused(DENIED, f"A person was asked, and did not allow this call of {call.model_name}. {why}")


def with_word_of_edit(run: Run, round_number: int, result: ToolResult) -> ToolResult:
    """The result as the model hears it: where a person changed the arguments, it says so, and to what. Blocking."""
    edited = edited_arguments(run, round_number, result.call_id)
    if edited is None:
        return result
    note = f"A person changed this call's arguments before it ran. It ran with: {dumps(edited).decode()}"
    return replace(result, content=f"{result.content}\n\n{note}")


def _check_edit(approved: bool, edited: Json, tool: Tool | None) -> None:
    if not approved:
        raise _invalid("editedArguments goes only with approved: true")
    if not is_object(edited):
        raise _invalid(f"editedArguments must be an object, not {edited!r}")
    try:
        is_json = loads(dumps(edited)) == edited
    except (TypeError, ValueError) as error:
        raise _invalid(f"editedArguments is not JSON: {error}") from error
    if not is_json:
        raise _invalid("editedArguments holds something that JSON can't")
    if tool is None:
        return
    try:
        check_arguments(tool, edited)
    except ToolRefused as refusal:
        raise _invalid(f"editedArguments: {refusal.message}") from refusal


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(message, code=INVALID)
