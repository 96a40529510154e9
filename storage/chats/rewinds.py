"""A run's message put back as an earlier commit left it, or taken away: only as long as it is as the run left it."""

from __future__ import annotations

from ...graph.errors import HostFailed
from ...graph.jsontext import Json, is_object
from ...graph.ports import MessageRewind
from ...graph.text import sha256_text
from .commits import notes_of_commits, required_text
from .file import ChatLine, Message, OpenChat
from .messages import agent_notes, list_of, merge_agent_notes, remove_swipe, set_text, shown_agent_notes, text_of


def rewind_message(chat: OpenChat, request: MessageRewind, date: str) -> int | None:
    """The message's index, None where it or the swipe is gone; writes nothing where all is as asked already.

    Raises HostFailed: `agent.rollback_target_{invalid,missing}`, `agent.rollback_message_{mismatch,answered}`,
    `agent.rollback_strategy_unsupported`, `agent.rollback_swipe_{id,state}_invalid`, `commit.cursor_integrity`,
    `commit.save_failed`, `agent.host_payload_invalid`.
    """
    run_id = required_text(request.payload, "runId")
    index = _index(request)
    line = next(chat.lines(index, index + 1), None)
    message = None if line is None else chat.message(line)
    if line is None or message is None or not _carries(message, run_id):
        if request.text is None and request.repeated and not _run_speaks(chat, run_id):
            return None  # it was carried out, and the answer was lost
        if line is None:
            raise HostFailed(f"The chat has no message {index} any more.", code="agent.rollback_target_missing")
        raise _not_ours(index)
    notes = shown_agent_notes(message)
    if notes is None or notes.get("runId") != run_id:
        raise _not_ours(index)
    if notes.get("bodySha256") != sha256_text(text_of(message)):
        raise HostFailed(
            f"The text of message {index} was changed since the run wrote it. Nothing was written.",
            code="commit.cursor_integrity",
        )
    if request.text is None:
        _remove(chat, line, message, notes)
        return None
    wanted = notes_of_commits(list_of(request.payload.get("commits")), request.text)
    if any(notes.get(key) != value for key, value in wanted.items()):
        set_text(message, request.text, date)
        merge_agent_notes(message, wanted)
        chat.rewrite(chat.cursor(line), message)
    return index


def _index(request: MessageRewind) -> int:
    index = required_text(request.payload, "messageId")
    if not (index.isascii() and index.isdigit()):
        raise HostFailed(f"messageId {index!r} is not the index of a message.", code="agent.rollback_target_invalid")
    return int(index)


def _carries(message: Message, run_id: str) -> bool:
    """The message, or one of its alternatives, is the run's."""
    return any(notes.get("runId") == run_id for notes in agent_notes(message))


def _run_speaks(chat: OpenChat, run_id: str) -> bool:
    """Somewhere in the chat there is a message of the run."""
    spelled = run_id.encode()
    return any(spelled in line.data and _carries(chat.message(line), run_id) for line in chat.lines())


def _remove(chat: OpenChat, line: ChatLine, message: Message, notes: Message) -> None:
    """Message or swipe, as the run's first commit noted."""
    if next(chat.lines(line.index + 1), None) is not None:
        raise HostFailed(
            f"Later messages answer message {line.index}, so it can't be removed. Remove them first, or roll back to a "
            "checkpoint at which the run had committed something.",
            code="agent.rollback_message_answered",
        )
    match _strategy(notes):
        case "deleteMessage":
            _check_alone(line, message)
            chat.remove_last(chat.cursor(line))
        case "deleteSwipe":
            _check_swipe(message, notes["rollback"].get("swipeId"))
            remove_swipe(message)
            chat.rewrite(chat.cursor(line), message)
        case other:
            raise HostFailed(
                f"The message's notes name no way to remove it that is known: {other!r}.",
                code="agent.rollback_strategy_unsupported",
            )


def _strategy(notes: Message) -> Json:
    noted = notes.get("rollback")
    return noted.get("strategy") if is_object(noted) else None


def _check_alone(line: ChatLine, message: Message) -> None:
    """Alternatives that somebody added to the run's message would go with it."""
    if len(list_of(message.get("swipes"))) > 1:
        raise HostFailed(
            f"Message {line.index} has other swipes than the run's, which would be lost with it. Remove them first.",
            code="agent.rollback_swipe_state_invalid",
        )


def _check_swipe(message: Message, swipe_id: Json) -> None:
    if message.get("swipe_id") != swipe_id:
        raise HostFailed(
            f"The run's swipe was the one with swipe_id {swipe_id!r}; the one shown is {message.get('swipe_id')!r}, so "
            "swipes were changed since.",
            code="agent.rollback_swipe_id_invalid",
        )


def _not_ours(index: int) -> HostFailed:
    return HostFailed(
        f"Message {index} of the chat, as it is shown now, was not written by this run.",
        code="agent.rollback_message_mismatch",
    )
