"""Commits land once, and only on the chat that the run saw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.graph.errors import HostFailed
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.ports import ChatHead, CommitRequest
from treadle.graph.text import sha256_text
from treadle.storage.chats.commits import save_commit, save_persist_notes
from treadle.storage.chats.file import ChatFile, Message

from .samples import DATE, GREETING, HEADER, QUESTION, chat_bytes, commit_request, head_of, write_chat

SEEN = head_of(GREETING, QUESTION)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_chat(tmp_path, GREETING, QUESTION)


def commit(path: Path, request: CommitRequest) -> int:
    with ChatFile(path).opened(to_save=True) as chat:
        return save_commit(chat, request, DATE)


def mark(path: Path, **payload: Json) -> None:
    whole = {"runId": "run_a", "messageId": "2", "stateId": "run_a", "baseStateId": None, "changeCount": 3, **payload}
    with ChatFile(path).opened(to_save=True) as chat:
        save_persist_notes(chat, whole)


def messages(path: Path) -> list[Message]:
    return [loads(line) for line in path.read_bytes().split(b"\n")[1:] if line]


def change_last(path: Path, change: Callable[[Message], None]) -> None:
    *others, last = messages(path)
    change(last)
    path.write_bytes(chat_bytes(*others, last))


def agent(message: Message) -> Message:
    notes = message["extra"]["tauritavern"]["agent"]
    assert message["swipe_info"][message["swipe_id"]]["extra"]["tauritavern"]["agent"] == notes
    return dict(notes)


def test_the_first_commit_makes_a_message_with_its_notes(path: Path) -> None:
    before = path.read_bytes()

    index = commit(path, commit_request("A fox, perhaps.", SEEN, reason="draft done"))

    assert index == 2
    assert path.read_bytes().startswith(before)
    reply = messages(path)[2]
    assert (reply["name"], reply["mes"], reply["send_date"]) == ("Wren", "A fox, perhaps.", DATE)
    size = {"sha256": sha256_text("A fox, perhaps."), "chars": 15, "words": 3}
    assert agent(reply) == {
        "version": 2,
        "runId": "run_a",
        "workspaceId": "chat_0123456789abcdef",
        "stableChatId": "int-0001",
        "profileId": "default-writer",
        "persistBaseStateId": None,
        "persistStateStatus": "not_committed",
        "checkpointId": "cp_000001",
        "commitId": "commit_run_a_1",
        "commitSeq": 1,
        "commits": [
            {
                "seq": 1,
                "commitId": "commit_run_a_1",
                "checkpointId": "cp_000001",
                "path": "output/main.md",
                "mode": "replace",
                "reason": "draft done",
                **size,
            }
        ],
        "rollback": {"strategy": "deleteMessage"},
        "artifacts": [{"path": "output/main.md", "target": "message_body", **size}],
        "bodySha256": size["sha256"],
    }


@pytest.mark.parametrize("generation_type", ["normal", "regenerate", "continue", "append", "appendFinal", "odd"])
@pytest.mark.parametrize("mode", ["replace", "append"])
def test_first_commits_of_other_types_make_a_message(path: Path, generation_type: str, mode: str) -> None:
    request = commit_request("New.", SEEN, generation_type=generation_type)
    request.payload["mode"] = mode

    assert commit(path, request) == 2
    assert [message["mes"] for message in messages(path)] == ["The kettle sings.", "Who is at the door?", "New."]


def test_later_commits_replace_or_lengthen_the_same_message(path: Path) -> None:
    commit(path, commit_request("One.", SEEN))

    second = commit(path, commit_request("Two.", SEEN, seq=2, message_id="2"))
    third = commit(path, commit_request("\nThree.", SEEN, seq=3, message_id="2", mode="append"))

    assert (second, third) == (2, 2)
    assert len(messages(path)) == 3
    reply = messages(path)[2]
    assert reply["mes"] == "Two.\nThree."
    assert reply["swipes"] == ["Two.\nThree."]
    notes = agent(reply)
    assert [entry["seq"] for entry in notes["commits"]] == [1, 2, 3]
    assert (notes["commitId"], notes["rollback"]) == ("commit_run_a_3", {"strategy": "deleteMessage"})
    assert "reason" not in notes["commits"][2]


def test_what_others_put_into_the_messages_extra_stays(path: Path) -> None:
    commit(path, commit_request("One.", SEEN))
    change_last(path, lambda last: last["extra"].update(bookmark_link="b", big=2**70))

    commit(path, commit_request("Two.", SEEN, seq=2, message_id="2"))

    extra = messages(path)[2]["extra"]
    assert (extra["bookmark_link"], extra["big"]) == ("b", 2**70)


def test_a_swipe_goes_to_the_last_reply(tmp_path: Path) -> None:
    path = write_chat(tmp_path, QUESTION, GREETING)

    index = commit(path, commit_request("Other.", head_of(QUESTION), generation_type="swipe"))
    again = commit(
        path, commit_request(" More.", head_of(QUESTION), seq=2, message_id="1", mode="append", generation_type="swipe")
    )

    assert (index, again) == (1, 1)
    reply = messages(path)[1]
    assert (reply["mes"], reply["swipes"], reply["swipe_id"]) == (
        "Other. More.",
        ["The kettle sings.", "Other. More."],
        1,
    )
    assert agent(reply)["rollback"] == {"strategy": "deleteSwipe", "swipeId": 1}
    assert reply["swipe_info"][0] == {"send_date": DATE, "extra": {}}


def test_an_append_in_a_swipe_run_makes_a_message(tmp_path: Path) -> None:
    path = write_chat(tmp_path, QUESTION, GREETING)

    index = commit(path, commit_request("Next.", head_of(QUESTION), mode="append", generation_type="swipe"))

    assert index == 2
    assert agent(messages(path)[2])["rollback"] == {"strategy": "deleteMessage"}


@pytest.mark.parametrize("generation_type", ["normal", "swipe", "regenerate"])
def test_an_empty_chat_takes_its_first_message(tmp_path: Path, generation_type: str) -> None:
    path = write_chat(tmp_path)

    assert commit(path, commit_request("Hello.", ChatHead(0, None), generation_type=generation_type)) == 0
    assert messages(path)[0]["mes"] == "Hello."


def test_a_greeting_is_swiped(tmp_path: Path) -> None:
    path = write_chat(tmp_path, GREETING)

    assert commit(path, commit_request("Hello.", ChatHead(0, None), generation_type="swipe")) == 0
    assert messages(path)[0]["swipes"] == ["The kettle sings.", "Hello."]


def test_messages_that_others_added_are_kept(path: Path) -> None:
    path.write_bytes(chat_bytes(GREETING, QUESTION, {**QUESTION, "mes": "Well?"}))

    index = commit(path, commit_request("A fox.", SEEN))

    assert index == 3
    assert [message["mes"] for message in messages(path)][2:] == ["Well?", "A fox."]


@pytest.mark.parametrize(
    ("chat", "generation_type", "head"),
    [
        ((GREETING,), "normal", SEEN),
        ((GREETING, {**QUESTION, "mes": "Edited?"}), "normal", SEEN),
        ((), "normal", SEEN),
        ((GREETING, QUESTION), "normal", ChatHead(0, "0" * 64)),
        ((QUESTION, GREETING, QUESTION), "swipe", head_of(QUESTION)),
        ((QUESTION,), "swipe", head_of(QUESTION)),
        ((QUESTION, QUESTION), "swipe", head_of(QUESTION)),
    ],
)
def test_a_chat_that_moved_on_refuses_the_first_commit(
    tmp_path: Path, chat: tuple[Message, ...], generation_type: str, head: ChatHead
) -> None:
    path = write_chat(tmp_path, *chat)
    before = path.read_bytes()

    with pytest.raises(HostFailed) as refused:
        commit(path, commit_request("A fox.", head, generation_type=generation_type))

    assert refused.value.error_code == "commit.cursor_integrity"
    assert path.read_bytes() == before


def add_question(path: Path) -> None:
    path.write_bytes(path.read_bytes() + dumps(QUESTION) + b"\n")


def remove_last(path: Path) -> None:
    path.write_bytes(chat_bytes(*messages(path)[:-1]))


def insert_first(path: Path) -> None:
    path.write_bytes(chat_bytes(QUESTION, *messages(path)))


def edit_text(path: Path) -> None:
    change_last(path, lambda last: last.update(mes="mine", swipes=["mine"]))


def of_another_run(path: Path) -> None:
    change_last(path, lambda last: last["extra"]["tauritavern"]["agent"].update(runId="run_b"))


def without_notes(path: Path) -> None:
    change_last(path, lambda last: last.update(extra={}))


@pytest.mark.parametrize(
    ("meddle", "code"),
    [
        (add_question, "commit.cursor_integrity"),
        (remove_last, "commit.cursor_integrity"),
        (insert_first, "commit.cursor_integrity"),
        (edit_text, "commit.cursor_integrity"),
        (of_another_run, "agent.chat_commit_message_mismatch"),
        (without_notes, "agent.chat_commit_message_mismatch"),
    ],
)
def test_a_message_that_is_not_as_the_run_left_it_refuses_later_commits(
    path: Path, meddle: Callable[[Path], None], code: str
) -> None:
    commit(path, commit_request("One.", SEEN))
    meddle(path)
    before = path.read_bytes()

    with pytest.raises(HostFailed) as refused:
        commit(path, commit_request("Two.", SEEN, seq=2, message_id="2"))

    assert refused.value.error_code == code
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", ["replace", "append"])
def test_a_repeated_commit_is_answered_without_writing(path: Path, mode: str) -> None:
    first = commit_request("One.", SEEN)
    second = commit_request("Two.", SEEN, seq=2, message_id="2")
    second.payload["mode"] = mode
    commit(path, first)
    commit(path, second)
    before = path.stat()

    assert [commit(path, first), commit(path, second)] == [2, 2]
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_a_repeated_commit_is_found_under_later_messages_and_other_swipes(path: Path) -> None:
    first = commit_request("One.", SEEN)
    commit(path, first)
    change_last(
        path,
        lambda last: last.update(
            mes="Two.", swipe_id=1, swipes=["One.", "Two."], swipe_info=[*last["swipe_info"], {"extra": {}}], extra={}
        ),
    )
    add_question(path)

    assert commit(path, first) == 2
    assert len(messages(path)) == 4


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"mode": "insert"}, "agent.chat_commit_mode_invalid"),
        ({"sha256": "0" * 64}, "agent.host_workspace_file_invalid"),
        ({"commitId": None}, "agent.host_payload_invalid"),
        ({"runId": " "}, "agent.host_payload_invalid"),
    ],
)
def test_a_request_that_is_not_whole_is_refused(path: Path, payload: dict[str, Json], code: str) -> None:
    before = path.read_bytes()
    request = commit_request("One.", SEEN)
    request.payload.update(payload)

    with pytest.raises(HostFailed) as refused:
        commit(path, request)

    assert refused.value.error_code == code
    assert path.read_bytes() == before


@pytest.mark.parametrize("named", ["unused", "", None, 7])
def test_a_header_without_the_characters_name_leaves_it_to_the_latest_reply(tmp_path: Path, named: Json) -> None:
    header = {**HEADER, "character_name": named}
    path = write_chat(tmp_path, {**GREETING, "name": "Old"}, {**GREETING, "name": "Kit"}, QUESTION, header=header)
    empty = write_chat(tmp_path / "other", header=header)

    commit(path, commit_request("x", head_of(GREETING | {"name": "Old"}, GREETING | {"name": "Kit"}, QUESTION)))
    commit(empty, commit_request("x", ChatHead(0, None)))

    assert messages(path)[-1]["name"] == "Kit"
    assert messages(empty)[-1]["name"] == "Wren"


def test_the_persist_state_is_marked_once_where_the_message_stands(path: Path) -> None:
    commit(path, commit_request("One.", SEEN))
    add_question(path)

    mark(path)
    once = path.stat()
    mark(path)

    notes = agent(messages(path)[2])
    assert {key: value for key, value in notes.items() if key.startswith("persist")} == {
        "persistBaseStateId": None,
        "persistStateId": "run_a",
        "persistStateStatus": "committed",
        "persistChangeCount": 3,
    }
    assert path.stat().st_ino == once.st_ino
    assert path.read_bytes().endswith(dumps(QUESTION) + b"\n")


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"messageId": "9"}, "agent.persistent_state_message_missing"),
        ({"messageId": "1"}, "agent.persistent_state_message_mismatch"),
        ({"runId": "run_b"}, "agent.persistent_state_message_mismatch"),
        ({"messageId": "-1"}, "agent.persistent_state_message_id_invalid"),
        ({"messageId": "²"}, "agent.persistent_state_message_id_invalid"),
        ({"messageId": None}, "agent.host_payload_invalid"),
        ({"changeCount": None}, "agent.host_payload_invalid"),
    ],
)
def test_a_mark_on_what_is_not_the_runs_message_is_refused(path: Path, payload: dict[str, Json], code: str) -> None:
    commit(path, commit_request("One.", SEEN))
    before = path.read_bytes()

    with pytest.raises(HostFailed) as refused:
        mark(path, **payload)

    assert refused.value.error_code == code
    assert path.read_bytes() == before
