"""One commit into an open chat: once per commitId, and only onto the chat that the run saw."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import HostFailed
from ...graph.jsontext import Json, dumps, is_object
from ...graph.ports import CommitRequest
from ...graph.text import count_chars, count_words, sha256_bytes, sha256_text
from .file import ChatLine, Message, OpenChat
from .messages import (
    add_swipe,
    agent_notes,
    is_assistant,
    list_of,
    merge_agent_notes,
    new_reply,
    set_text,
    shown_agent_notes,
    text_of,
)

NOTES_VERSION = 2
_NO_NAME = ("", "unused")  # newer SillyTavern headers say "unused"


def save_commit(chat: OpenChat, request: CommitRequest, date: str) -> int:
    """Write the text and its notes; gives the message's index, also where this commit was saved before.

    Raises HostFailed: `commit.cursor_integrity` where the chat is not as the run saw or left it,
    `agent.chat_commit_message_mismatch` where the message is another run's, `agent.host_payload_invalid`,
    `agent.host_workspace_file_invalid`, `agent.chat_commit_mode_invalid`, `commit.save_failed`.
    """
    if sha256_text(request.text) != required_text(request.payload, "sha256"):
        raise HostFailed(
            "The text to commit is not the file that the run announced.", code="agent.host_workspace_file_invalid"
        )
    if request.payload.get("mode") not in ("replace", "append"):
        raise HostFailed(
            f"There is no commit mode {request.payload.get('mode')!r}.", code="agent.chat_commit_mode_invalid"
        )
    seen = _survey(chat, request)
    if seen.committed is not None:
        return seen.committed
    if request.message_id is None:
        return _first(chat, request, seen, date)
    return _later(chat, request, seen, date)


def save_persist_notes(chat: OpenChat, payload: dict[str, Json]) -> None:
    """Mark the run's message with the state it left behind; writes nothing if it is marked so already.

    Raises HostFailed `agent.persistent_state_message_{id_invalid,missing,mismatch}`, `agent.host_payload_invalid`.
    """
    index = required_text(payload, "messageId")
    if not (index.isascii() and index.isdigit()):
        raise HostFailed(
            f"messageId {index!r} is not the index of a message.", code="agent.persistent_state_message_id_invalid"
        )
    line = next(chat.lines(int(index), int(index) + 1), None)
    if line is None:
        raise HostFailed(f"The chat has no message {index}.", code="agent.persistent_state_message_missing")
    message = chat.message(line)
    run_id = required_text(payload, "runId")
    mine = [notes for notes in agent_notes(message) if notes.get("runId") == run_id]
    if not mine:
        raise HostFailed(
            f"Message {index} of the chat was not written by this run.", code="agent.persistent_state_message_mismatch"
        )
    changes = payload.get("changeCount")
    if not isinstance(changes, int):
        raise HostFailed("The request's changeCount must be an integer.", code="agent.host_payload_invalid")
    wanted: Message = {
        "persistBaseStateId": payload.get("baseStateId"),
        "persistStateId": required_text(payload, "stateId"),
        "persistStateStatus": "committed",
        "persistChangeCount": changes,
    }
    if any(key not in notes or notes[key] != value for notes in mine for key, value in wanted.items()):
        for notes in mine:
            notes.update(wanted)
        chat.rewrite(chat.cursor(line), message)


def required_text(payload: dict[str, Json], key: str) -> str:
    """A non-blank string of a request; raises HostFailed `agent.host_payload_invalid`."""
    value = payload.get(key)
    if not isinstance(value, str) or not value.strip():
        raise HostFailed(f"The request's {key} must be a non-blank string.", code="agent.host_payload_invalid")
    return value


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one pass over the chat showed."""

    count: int
    last: ChatLine | None
    prefix_sha256: str | None
    """SHA-256 of the last line that the run was allowed to see."""
    committed: int | None
    """The message that already has this commit."""


def _survey(chat: OpenChat, request: CommitRequest) -> _Seen:
    commit_id = required_text(request.payload, "commitId")
    spelled = dumps(commit_id)
    last, prefix, committed = None, None, None
    for line in chat.lines():
        last = line
        if line.index == request.head.message_count - 1:
            prefix = sha256_bytes(line.data)
        if spelled in line.data and _has_commit(chat.message(line), commit_id):
            committed = line.index
    return _Seen(last.index + 1 if last else 0, last, prefix, committed)


def _has_commit(message: Message, commit_id: str) -> bool:
    return any(
        is_object(entry) and entry.get("commitId") == commit_id
        for notes in agent_notes(message)
        for entry in list_of(notes.get("commits"))
    )


def _first(chat: OpenChat, request: CommitRequest, seen: _Seen, date: str) -> int:
    head = request.head
    if seen.count < head.message_count or seen.prefix_sha256 != head.last_sha256:
        raise _moved("its messages are not those that the run saw at its start")
    swipe = request.payload.get("generationType") == "swipe" and request.payload["mode"] == "replace"
    if swipe and seen.last is not None:
        target = chat.message(seen.last)
        if seen.count != head.message_count + 1 or not is_assistant(target):
            raise _moved("the reply to be swiped is no longer its last message")
        swipe_id = add_swipe(target, request.text, date)
        rollback: Message = {"strategy": "deleteSwipe", "swipeId": swipe_id}
        merge_agent_notes(target, _notes(request, {"rollback": rollback}, request.text))
        chat.rewrite(chat.cursor(seen.last), target)
        return seen.last.index
    reply = new_reply(_character_name(chat, request), request.text, date)
    merge_agent_notes(reply, _notes(request, {"rollback": {"strategy": "deleteMessage"}}, request.text))
    chat.append(chat.cursor(), reply)
    return seen.count


def _later(chat: OpenChat, request: CommitRequest, seen: _Seen, date: str) -> int:
    if seen.last is None or str(seen.last.index) != request.message_id:
        raise _moved(f"the run's message {request.message_id} is no longer its last one")
    message = chat.message(seen.last)
    notes = shown_agent_notes(message)
    if notes is None or notes.get("runId") != request.payload.get("runId"):
        raise HostFailed(
            f"Message {seen.last.index} of the chat, as it is shown now, was not written by this run.",
            code="agent.chat_commit_message_mismatch",
        )
    if notes.get("bodySha256") != sha256_text(text_of(message)):
        raise _moved(f"the text of the run's message {seen.last.index} was changed since the run wrote it")
    text = text_of(message) + request.text if request.payload["mode"] == "append" else request.text
    set_text(message, text, date)
    merge_agent_notes(message, _notes(request, notes, text))
    chat.rewrite(chat.cursor(seen.last), message)
    return seen.last.index


def _notes(request: CommitRequest, before: Message, body: str) -> Message:
    """`extra.tauritavern.agent` after this commit, and `bodySha256`, by which a later commit knows that nobody changed
    the message's text."""
    payload = request.payload
    entry: Message = {
        "seq": request.commit_seq,
        **{key: payload.get(key) for key in ("commitId", "checkpointId", "path", "mode")},
        **({"reason": payload["reason"]} if payload.get("reason") is not None else {}),
        "sha256": payload["sha256"],
        "chars": count_chars(request.text),
        "words": count_words(request.text),
    }
    return {
        "version": NOTES_VERSION,
        "runId": required_text(payload, "runId"),
        **{key: payload.get(key) for key in ("workspaceId", "stableChatId", "profileId", "persistBaseStateId")},
        "persistStateStatus": "not_committed",
        "rollback": before.get("rollback"),
        **notes_of_commits([*list_of(before.get("commits")), entry], body),
    }


def notes_of_commits(commits: list[Message], body: str) -> Message:
    """What the notes say of the commits that made a message's text, the latest last."""
    last = commits[-1]
    size = {key: last[key] for key in ("sha256", "chars", "words")}
    return {
        "checkpointId": last["checkpointId"],
        "commitId": last["commitId"],
        "commitSeq": last["seq"],
        "commits": commits,
        "artifacts": [{"path": last["path"], "target": "message_body", **size}],
        "bodySha256": sha256_text(body),
    }


def _character_name(chat: OpenChat, request: CommitRequest) -> str:
    """Who speaks: the header's name, else that of the chat's latest reply, else the character's folder."""
    named = chat.header().get("character_name")
    if isinstance(named, str) and named.strip() not in _NO_NAME:
        return named
    for message in chat.newest_first():
        name = message.get("name")
        if is_assistant(message) and isinstance(name, str) and name.strip():
            return name
    return str(request.chat_ref["characterId"])


def _moved(fault: str) -> HostFailed:
    return HostFailed(
        f"The chat was changed under the run: {fault}. Nothing was written.", code="commit.cursor_integrity"
    )
