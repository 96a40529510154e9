"""A run's message is put back, or taken away, only as long as it is as the run left it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.graph.errors import HostFailed
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.ports import MessageRewind
from treadle.storage.chats.commits import save_commit, save_persist_notes
from treadle.storage.chats.file import ChatFile, Message
from treadle.storage.chats.rewinds import rewind_message

from .samples import DATE, GREETING, QUESTION, chat_bytes, commit_request, head_of, write_chat

SEEN = head_of(GREETING, QUESTION)
FIRST, SECOND = commit_request("A fox.", SEEN), commit_request(" Or two.", SEEN, seq=2, message_id="2", mode="append")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A chat whose last message two commits made."""
    path = write_chat(tmp_path, GREETING, QUESTION)
    for request in (FIRST, SECOND):
        with ChatFile(path).opened(to_save=True) as chat:
            save_commit(chat, request, DATE)
    return path


def rewind(path: Path, text: str | None, *commits: int, repeated: bool = False, **payload: Json) -> int | None:
    """To `text`, made by the commits of these numbers."""
    kept = ("commitId", "checkpointId", "path", "mode", "sha256", "chars", "words")
    entries = [{"seq": seq, **{key: (FIRST, SECOND)[seq - 1].payload[key] for key in kept}} for seq in commits]
    asked: dict[str, Json] = {"runId": "run_a", "messageId": "2", "commits": entries, **payload}
    with ChatFile(path).opened(to_save=True) as chat:
        return rewind_message(chat, MessageRewind(asked, text, repeated), DATE)


def messages(path: Path) -> list[Message]:
    return [loads(line) for line in path.read_bytes().split(b"\n")[1:] if line]


def notes(message: Message) -> Message:
    return dict(message["extra"]["tauritavern"]["agent"])


def change_last(path: Path, change: Callable[[Message], object]) -> None:
    *others, last = messages(path)
    change(last)
    path.write_bytes(chat_bytes(*others, last))


def test_text_and_notes_become_what_the_first_commit_made_them(tmp_path: Path, path: Path) -> None:
    once = write_chat(tmp_path / "once", GREETING, QUESTION)
    with ChatFile(once).opened(to_save=True) as chat:
        save_commit(chat, FIRST, DATE)

    assert rewind(path, "A fox.", 1) == 2
    assert messages(path) == messages(once)


def test_it_goes_forward_again_to_the_same_bytes(path: Path) -> None:
    both = path.read_bytes()
    rewind(path, "A fox.", 1)
    rewind(path, "A fox. Or two.", 1, 2)

    assert messages(path) == [loads(line) for line in both.split(b"\n")[1:] if line]


def test_the_persist_state_stays_promoted_and_what_others_noted_stays(path: Path) -> None:
    change_last(path, lambda last: last["extra"].update(mood="calm"))
    marked = {"runId": "run_a", "messageId": "2", "stateId": "run_a", "baseStateId": None, "changeCount": 3}
    with ChatFile(path).opened(to_save=True) as chat:
        save_persist_notes(chat, marked)
    rewind(path, "A fox.", 1)

    last = messages(path)[2]
    assert last["extra"]["mood"] == "calm"
    assert (notes(last)["persistStateStatus"], notes(last)["persistStateId"]) == ("committed", "run_a")


def test_a_message_that_is_already_so_is_not_written(path: Path) -> None:
    before = path.stat().st_ino

    assert rewind(path, "A fox. Or two.", 1, 2, repeated=True) == 2
    assert path.stat().st_ino == before


def test_later_messages_do_not_keep_the_text_from_being_put_back(path: Path) -> None:
    path.write_bytes(path.read_bytes() + dumps(QUESTION) + b"\n")
    rewind(path, "A fox.", 1)

    assert [message["mes"] for message in messages(path)[1:]] == [QUESTION["mes"], "A fox.", QUESTION["mes"]]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"", b"\n\n"])
def test_without_a_commit_the_message_goes_and_the_chat_is_as_it_was(tmp_path: Path, end: bytes) -> None:
    path = write_chat(tmp_path, GREETING, QUESTION)
    body = chat_bytes(GREETING, QUESTION)
    path.write_bytes((body.replace(b"\n", b"\r\n") if end == b"\r\n" else body).rstrip() + end)
    before = path.read_bytes()
    with ChatFile(path).opened(to_save=True) as chat:
        save_commit(chat, FIRST, DATE)

    assert rewind(path, None) is None
    assert path.read_bytes() == before


def test_without_a_commit_the_runs_swipe_goes_and_the_reply_is_as_it_was(tmp_path: Path) -> None:
    reply: Message = {**GREETING, "mes": "The cat.", "extra": {"mood": "calm"}}
    path = write_chat(tmp_path, GREETING, QUESTION, reply)
    with ChatFile(path).opened(to_save=True) as chat:
        save_commit(chat, commit_request("A fox.", SEEN, generation_type="swipe"), DATE)

    assert messages(path)[2]["mes"] == "A fox."
    assert rewind(path, None) is None
    restored = messages(path)[2]
    assert (restored["mes"], restored["swipes"], restored["swipe_id"]) == ("The cat.", ["The cat."], 0)
    assert restored["extra"] == reply["extra"]
    assert restored["send_date"] == DATE


def test_a_repeated_removal_is_answered_from_the_chat(tmp_path: Path, path: Path) -> None:
    rewind(path, None)
    gone = path.read_bytes()

    assert rewind(path, None, repeated=True) is None
    assert path.read_bytes() == gone


def test_a_removal_that_was_not_asked_for_before_finds_nothing(path: Path) -> None:
    rewind(path, None)

    with pytest.raises(HostFailed) as refused:
        rewind(path, None)

    assert refused.value.error_code == "agent.rollback_target_missing"


def add_question(path: Path) -> None:
    path.write_bytes(path.read_bytes() + dumps(QUESTION) + b"\n")


def remove_last(path: Path) -> None:
    path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:-2]) + b"\n")


def remove_first(path: Path) -> None:
    path.write_bytes(chat_bytes(*messages(path)[1:]))


def edit_text(path: Path) -> None:
    change_last(path, lambda last: last.update(mes="Two foxes."))


def of_another_run(path: Path) -> None:
    change_last(path, lambda last: last["extra"]["tauritavern"]["agent"].update(runId="run_b"))


def swiped_on(path: Path) -> None:
    """The person looks at another alternative now."""
    change_last(
        path,
        lambda last: last.update(
            mes="A dog.", extra={}, swipe_id=1, swipes=[*last["swipes"], "A dog."], swipe_info=[*last["swipe_info"], {}]
        ),
    )


def another_swipe(path: Path) -> None:
    change_last(
        path,
        lambda last: last.update(swipes=[*last["swipes"], "A dog."], swipe_info=[*last["swipe_info"], {"extra": {}}]),
    )


def no_strategy(path: Path) -> None:
    change_last(path, lambda last: last["extra"]["tauritavern"]["agent"].update(rollback={"strategy": "burn"}))


def wrong_swipe(path: Path) -> None:
    rollback = {"strategy": "deleteSwipe", "swipeId": 4}
    change_last(path, lambda last: last["extra"]["tauritavern"]["agent"].update(rollback=rollback))


def only_swipe(path: Path) -> None:
    rollback = {"strategy": "deleteSwipe", "swipeId": 0}
    change_last(path, lambda last: last["extra"]["tauritavern"]["agent"].update(rollback=rollback))


@pytest.mark.parametrize(
    ("spoil", "text", "code"),
    [
        (remove_last, "A fox.", "agent.rollback_target_missing"),
        (remove_first, "A fox.", "agent.rollback_target_missing"),
        (edit_text, "A fox.", "commit.cursor_integrity"),
        (edit_text, None, "commit.cursor_integrity"),
        (of_another_run, "A fox.", "agent.rollback_message_mismatch"),
        (swiped_on, "A fox.", "agent.rollback_message_mismatch"),
        (swiped_on, None, "agent.rollback_message_mismatch"),
        (add_question, None, "agent.rollback_message_answered"),
        (another_swipe, None, "agent.rollback_swipe_state_invalid"),
        (no_strategy, None, "agent.rollback_strategy_unsupported"),
        (wrong_swipe, None, "agent.rollback_swipe_id_invalid"),
        (only_swipe, None, "agent.rollback_swipe_state_invalid"),
    ],
)
@pytest.mark.parametrize("repeated", [False, True])
def test_a_chat_that_is_not_as_the_run_left_it_is_not_touched(
    path: Path, spoil: Callable[[Path], None], text: str | None, code: str, repeated: bool
) -> None:
    spoil(path)
    before = path.read_bytes()

    with pytest.raises(HostFailed) as refused:
        rewind(path, text, *([1] if text else []), repeated=repeated)

    assert refused.value.error_code == code
    assert path.read_bytes() == before


@pytest.mark.parametrize("message_id", ["two", "-1", "²"])
def test_a_request_that_names_no_message_is_refused(path: Path, message_id: str) -> None:
    with pytest.raises(HostFailed) as refused:
        rewind(path, "A fox.", 1, messageId=message_id)

    assert refused.value.error_code == "agent.rollback_target_invalid"
