"""What the engine and the readers of runs hand out: plain records, made from what is stored, without any I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .graph.errors import InvalidData, InvalidInput
from .graph.events import Event, EventType
from .graph.jsontext import Json
from .graph.status import RunStatus
from .graph.text import cut, narration
from .storage.runs import RunRecord

MODEL_TURN_CHARS = 40_000


@dataclass(frozen=True, slots=True)
class RunHandle:
    """What a start gives back."""

    run_id: str
    workspace_id: str
    stable_chat_id: str
    generation_type: str
    status: RunStatus

    def to_json(self) -> dict[str, Json]:
        return {
            "runId": self.run_id,
            "workspaceId": self.workspace_id,
            "stableChatId": self.stable_chat_id,
            "generationType": self.generation_type,
            "status": str(self.status),
        }


def handle_of(record: RunRecord) -> RunHandle:
    return RunHandle(record.id, record.workspace_id, record.stable_chat_id, record.generation_type, record.status)


def own_events(events: Sequence[Event]) -> Sequence[Event]:
    """What the run itself did: of a fork, the events since it left its origin."""
    forks = [place for place, event in enumerate(events) if event.type == EventType.RUN_FORKED]
    return events[forks[-1] :] if forks else events


@dataclass(frozen=True, slots=True)
class TakenEdge:
    """One edge of the machine as a run took it, and how long its step lasted."""

    step: str
    outcome: str
    next: str
    elapsed_ms: int


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A call that a person is asked about, or will be."""

    run_id: str
    round: int
    call_id: str
    name: str
    """The tool's canonical name: `workspace.write_file`."""
    arguments: Json
    """As the model sent them."""
    state: Literal["waiting", "decided", "later"]
    """`decided`: an answer is left for the run's driver. `later`: it comes to its turn when the call before it is done."""

    def to_json(self) -> dict[str, Json]:
        return {
            "runId": self.run_id,
            "round": self.round,
            "callId": self.call_id,
            "name": self.name,
            "arguments": self.arguments,
            "state": self.state,
        }


def check_model_turn(round_number: int, max_chars: int) -> None:
    """Raises InvalidInput for a round or a limit below 1."""
    if round_number < 1:
        raise InvalidInput("round must be an integer from 1", code="agent.model_turn_round_invalid")
    if max_chars < 1:
        raise InvalidInput("maxChars must be an integer from 1", code="agent.model_turn_max_chars_invalid")


def model_turn(run_id: str, round_number: int, path: str, stored: Json, max_chars: int) -> dict[str, Json]:
    """The readModelTurn record: no native block, no signature, no arguments, no raw answer."""
    try:
        if stored["round"] != round_number:
            raise InvalidData(f"{path} holds round {stored['round']}", code="agent.model_response_round_mismatch")
        response = stored["response"]
        metadata = response["providerMetadata"]
        calls = response["toolCalls"]
        return {
            "runId": run_id,
            "round": round_number,
            "modelResponsePath": path,
            "provider": {
                "source": metadata.get("chatCompletionSource"),
                "format": metadata.get("providerFormat"),
                "model": metadata.get("model"),
                "responseId": metadata.get("id"),
                "usage": metadata.get("usage"),
            },
            "assistant": cut(response["text"], max_chars),
            "narration": narration(response["text"], max_chars) if calls else None,
            "reasoning": [_reasoning(part, max_chars) for part in response["message"]["parts"] if _is_reasoning(part)],
            "toolCalls": [
                {"callId": call["id"], "name": call["name"], "modelName": call["providerMetadata"].get("modelName")}
                for call in calls
            ],
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidData(
            f"{path} is not a model response: {error}", code="agent.model_response_parse_failed"
        ) from error


def _is_reasoning(part: dict[str, Json]) -> bool:
    return part["type"] == "reasoning" and bool((part.get("text") or "").strip())


def _reasoning(part: dict[str, Json], max_chars: int) -> dict[str, Json]:
    metadata: dict[str, Json] = part.get("providerMetadata") or {}
    source = metadata.get("source") or "reasoning_content"
    return {"source": source, **cut(part["text"].strip(), max_chars)}
