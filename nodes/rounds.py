"""A round's facts read back from the run folder, and the closing of a round for the next request.

Blocking; call it in a thread. The same code serves a run that goes on and one that is rebuilt after a crash.
"""

from __future__ import annotations

from dataclasses import replace

from ..graph.errors import InvalidData, NativeMetadataLost
from ..graph.events import EventType
from ..graph.jsontext import Json, is_object
from ..graph.messages import ToolCall, ToolResult, tool_result
from ..graph.paths import WorkspacePath
from ..graph.text import count_chars, count_words
from ..storage.folder import Log
from ..storage.runs import body_path, call_path, response_path
from .approval import with_word_of_edit
from .conversation import Turn
from .deps import Run
from .prompt import drift_reminder

_HYDRATED_TOOLS = frozenset({"workspace.write_file", "workspace.apply_patch"})


def held_turn(run: Run, round_number: int) -> Turn | None:
    """The answer of a round that is under way; None where memory lacks it. It does not block."""
    conversation = run.conversation
    return conversation.turn if conversation.closed_rounds == round_number - 1 else None


def turn(run: Run, round_number: int) -> Turn:
    """The answer of a round: from memory while it is under way, else from the stored body."""
    return held_turn(run, round_number) or stored_turn(run, round_number)


def stored_turn(run: Run, round_number: int) -> Turn:
    """The answer decoded anew from the bytes as they were received; raises NativeMetadataLost if they are not."""
    path = response_path(round_number)
    stored = run.folder.read_json(path)
    try:
        response = stored["response"]
        sha256 = response["rawSha256"]
        native = [part for part in response["message"]["parts"] if part["type"] == "native"]
        born = tuple(part["sha256"] for part in native)
        origin = next((part["origin"] for part in native), None)  # another model's private words are not for this one
        state, spoken = response["providerState"], response["providerMetadata"]["providerFormat"]
    except (KeyError, TypeError) as error:
        raise InvalidData(f"{path} is not a model response: {error}") from error
    body = _body(run, round_number)
    answer = run.gateway.decode_stored(
        run.connection, body, run.known_specs, sha256=sha256, origin=origin, provider_format=spoken
    )
    return Turn(answer, born, state)


def _body(run: Run, round_number: int) -> bytes:
    try:
        return run.folder.read(body_path(round_number))
    except InvalidData as error:
        raise NativeMetadataLost(f"a stored reply is lost: {error.message}; nothing was sent") from error


def result_path(run: Run, round_number: int, call_id: str) -> str:
    return call_path("tool-results", call_id, round_number, run.first_rounds.get(call_id, round_number))


def arguments_path(run: Run, round_number: int, call_id: str) -> str:
    return call_path("tool-args", call_id, round_number, run.first_rounds.setdefault(call_id, round_number))


def result(run: Run, round_number: int, call: ToolCall) -> ToolResult:
    """A call's stored result; raises InvalidData where there is none."""
    held = run.conversation.results.get(call.id)
    if held is not None and run.conversation.closed_rounds == round_number - 1:
        return held
    read = run.results.pop((round_number, call.id), None)
    if read is not None:
        return read
    path = result_path(run, round_number, call.id)
    return stored_result(run, path)


def stored_result(run: Run, path: str) -> ToolResult:
    """A result from its file; raises InvalidData where it is missing or none."""
    try:
        return tool_result(run.folder.read_json(path))
    except (KeyError, TypeError) as error:
        raise InvalidData(f"{path} is not a tool result: {error}") from error


def close_rounds(run: Run, through: int) -> None:
    """Bring the transcript up to the end of round `through`, hydrating the results that are due."""
    conversation = run.conversation
    while conversation.closed_rounds < through:
        round_number = conversation.closed_rounds + 1
        told = turn(run, round_number)
        calls = told.answer.tool_calls
        if calls:
            results = [_as_heard(run, round_number, result(run, round_number, call)) for call in calls]
            conversation.close_round(told, results)
        else:
            conversation.close_round(told, (), _reminder(run, round_number))
    run.folder.ledger.forget_before(through)


def _as_heard(run: Run, round_number: int, stored: ToolResult) -> ToolResult:
    """The result as it goes to the model."""
    return _hydrated(run, round_number, with_word_of_edit(run, round_number, stored))


def _hydrated(run: Run, round_number: int, stored: ToolResult) -> ToolResult:
    """The result with the file's whole text, in the rounds where the model is spared a read."""
    path = _hydration_path(run, round_number, stored)
    if path is None:
        return stored
    text = _text_at_end_of_round(run, round_number, stored.call_id, path)
    if (round_number, stored.call_id) not in run.hydrated_from:
        _tell_hydrated(run, round_number, stored.call_id, path, text)
    return replace(stored, content=f"{stored.content}\n\nCurrent text of {path}:\n{text}")


def _tell_hydrated(run: Run, round_number: int, call_id: str, path: WorkspacePath, text: str) -> None:
    payload: dict[str, Json] = {
        "round": round_number,
        "callId": call_id,
        "path": path,
        "chars": count_chars(text),
        "words": count_words(text),
    }
    run.folder.apply(Log(EventType.CONTEXT_TOOL_RESULT_HYDRATED, payload))


def _hydration_path(run: Run, round_number: int, stored: ToolResult) -> WorkspacePath | None:
    if round_number <= run.told_rounds:
        due = (round_number, stored.call_id) in run.hydrated_from
    else:
        due = round_number <= run.profile.hydrate_rounds
    if not due or stored.is_error or stored.name not in _HYDRATED_TOOLS:
        return None
    path = stored.structured.get("path") if is_object(stored.structured) else None
    return WorkspacePath(path) if isinstance(path, str) and path.strip() else None


def _text_at_end_of_round(run: Run, round_number: int, call_id: str, path: WorkspacePath) -> str:
    """The file as it was when the round closed: from its checkpoint where later rounds may have changed it since."""
    checkpoint = run.hydrated_from.get((round_number, call_id))
    if checkpoint is not None:
        return run.checkpoints.file(checkpoint, path).decode("utf-8")
    return run.workspace.read_text(path)


def _reminder(run: Run, round_number: int) -> str:
    committed = run.drift_commits.get(round_number, 0)
    return drift_reminder(run.profile, committed)
