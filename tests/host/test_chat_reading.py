"""A folder of chats lets the tools of a run read its chat, as it was before the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.graph.errors import InvalidInput, NotFound
from treadle.graph.identity import ChatRef
from treadle.graph.jsontext import dumps
from treadle.graph.ports import ReadableHost
from treadle.host.chat_folder import ChatFolderHost

from ..nodes.desk import Desk
from ..storage.chats.samples import GREETING, QUESTION, chat_bytes, commit_request, head_of, write_chat
from ..storage.doubles import StillClock

REF = ChatRef("character", character_id="Wren", file_name="tea")


@pytest.fixture
def host(tmp_path: Path) -> ChatFolderHost:
    return ChatFolderHost(tmp_path, clock=StillClock())


async def test_a_run_does_not_see_its_own_commits_nor_what_others_add(tmp_path: Path, host: ChatFolderHost) -> None:
    path = write_chat(tmp_path, GREETING, QUESTION)
    desk = Desk(chat=host.chat_reader(REF), chat_messages=(await host.head(REF, "normal")).message_count)
    await host.commit(commit_request("The kettle answers.", head_of(GREETING, QUESTION)))
    with path.open("ab") as file:
        file.write(dumps({**QUESTION, "mes": "Another kettle?"}) + b"\n" + b'{"mes":"a kettle half wri')

    hits = desk.call("chat.search", query="kettle").structured["hits"]
    read = desk.call("chat.read_messages", messages=[{"index": 1}])
    past = desk.call("chat.read_messages", messages=[{"index": 2}])

    assert [hit["index"] for hit in hits] == [0]
    assert read.structured["messages"][0]["text"] == "Who is at the door?"
    assert past.error_code == "chat.message_not_found"


async def test_the_reply_that_is_swiped_is_not_seen_before_or_after(tmp_path: Path, host: ChatFolderHost) -> None:
    write_chat(tmp_path, QUESTION, GREETING)
    head = await host.head(REF, "swipe")
    desk = Desk(chat=host.chat_reader(REF), chat_messages=head.message_count)

    before = desk.call("chat.search", query="kettle").structured["hits"]
    await host.commit(commit_request("A kettle.", head, generation_type="swipe"))
    after = desk.call("chat.search", query="kettle").structured["hits"]

    assert (before, after) == ([], [])


def test_a_folder_of_chats_is_a_host_that_can_be_read(host: ChatFolderHost) -> None:
    assert isinstance(host, ReadableHost)


def test_the_chats_used_last_stay_known(tmp_path: Path, host: ChatFolderHost) -> None:
    refs = [ChatRef("character", character_id="Wren", file_name=f"tea{number}") for number in range(5)]
    first, *others = [host.chat_reader(ref) for ref in refs[:4]]

    assert host.chat_reader(refs[0]) is first
    host.chat_reader(refs[4])
    assert host.chat_reader(refs[0]) is first
    assert host.chat_reader(refs[1]) is not others[0]


def test_a_chat_that_is_not_there_is_told_when_it_is_read(host: ChatFolderHost) -> None:
    with pytest.raises(NotFound) as told:
        host.chat_reader(REF).count()

    assert told.value.error_code == "chat.not_found"


def test_a_group_chat_can_not_be_read(host: ChatFolderHost) -> None:
    with pytest.raises(InvalidInput) as refused:
        host.chat_reader(ChatRef("group", chat_id="g"))

    assert refused.value.error_code == "agent.group_chat_unsupported"


def test_nothing_is_left_beside_the_chat(tmp_path: Path, host: ChatFolderHost) -> None:
    path = write_chat(tmp_path, GREETING)

    host.chat_reader(REF).search({"kettle": 6}, range(1), limit=1)

    assert [entry for entry in tmp_path.rglob("*") if entry.is_file()] == [path]
    assert path.read_bytes() == chat_bytes(GREETING)
