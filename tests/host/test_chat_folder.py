"""A folder of chats hosts runs: it knows each chat, guards it, and queues who writes."""

from __future__ import annotations

import asyncio
import errno
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from treadle.graph.errors import HostFailed, InvalidData, InvalidInput, NotFound, TreadleError
from treadle.graph.identity import ChatRef
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.ports import ChatHead, ChatHost, CommitReceipt
from treadle.graph.text import sha256_bytes
from treadle.host.chat_folder import ChatFolderHost
from treadle.storage.chats.file import Message
from treadle.storage.disk import RealDisk
from treadle.testkit.faults import FaultyDisk

from ..storage.chats.samples import GREETING, HEADER, QUESTION, chat_bytes, commit_request, head_of, write_chat
from ..storage.doubles import StillClock

REF = ChatRef("character", character_id="Wren", file_name="tea")
SYSTEM: Message = {**GREETING, "is_system": True}


@pytest.fixture
def host(tmp_path: Path) -> ChatFolderHost:
    return ChatFolderHost(tmp_path, clock=StillClock())


def sha(message: Message) -> str:
    return sha256_bytes(dumps(message))


async def test_the_stable_id_is_the_headers_integrity(tmp_path: Path, host: ChatFolderHost) -> None:
    write_chat(tmp_path, header={**HEADER, "chat_metadata": {"integrity": "  int-7\n"}})

    assert await host.stable_chat_id(REF) == "int-7"


@pytest.mark.parametrize("metadata", [{}, {"integrity": None}, {"integrity": " "}, None])
async def test_a_chat_without_a_stable_id_is_told_what_to_do(
    tmp_path: Path, host: ChatFolderHost, metadata: Json
) -> None:
    path = write_chat(tmp_path, header={**HEADER, "chat_metadata": metadata})

    with pytest.raises(InvalidInput) as refused:
        await host.stable_chat_id(REF)

    assert refused.value.error_code == "agent.stable_chat_id_required"
    assert all(word in refused.value.message for word in (str(path), "SillyTavern", '"integrity"'))


async def test_a_stable_id_that_is_no_text_is_refused(tmp_path: Path, host: ChatFolderHost) -> None:
    write_chat(tmp_path, header={**HEADER, "chat_metadata": {"integrity": 7}})

    with pytest.raises(InvalidData) as refused:
        await host.stable_chat_id(REF)

    assert refused.value.error_code == "agent.invalid_chat_integrity"


@pytest.mark.parametrize(
    ("ref", "code"),
    [
        (ChatRef("group", chat_id="g"), "agent.group_chat_unsupported"),
        (ChatRef("character", character_id="..", file_name="tea"), "agent.invalid_chat_ref"),
        (ChatRef("character", character_id="Wren", file_name="../../tea"), "agent.invalid_chat_ref"),
        (ChatRef("character", character_id="Wren\\x", file_name="tea"), "agent.invalid_chat_ref"),
        (ChatRef("character", character_id="Wren", file_name="a\0b"), "agent.invalid_chat_ref"),
        (ChatRef("character", character_id="Wren", file_name="no such"), "agent.not_found"),
    ],
)
async def test_references_that_name_no_chat_here_are_refused(host: ChatFolderHost, ref: ChatRef, code: str) -> None:
    with pytest.raises(TreadleError) as refused:
        await host.stable_chat_id(ref)

    assert refused.value.error_code == code


@pytest.mark.parametrize(
    ("chat", "generation_type", "count"),
    [
        ((), "normal", 0),
        ((), "swipe", 0),
        ((QUESTION, GREETING), "normal", 2),
        ((QUESTION, GREETING), "swipe", 1),
        ((QUESTION, GREETING), "regenerate", 1),
        ((QUESTION, SYSTEM), "regenerate", 1),
        ((GREETING, QUESTION), "regenerate", 2),
        ((GREETING,), "swipe", 0),
        ((QUESTION, GREETING), "continue", 2),
    ],
)
async def test_the_head_is_what_a_run_may_see(
    tmp_path: Path, host: ChatFolderHost, chat: tuple[Message, ...], generation_type: str, count: int
) -> None:
    write_chat(tmp_path, *chat)

    assert await host.head(REF, generation_type) == ChatHead(count, sha(chat[count - 1]) if count else None)


@pytest.mark.parametrize("last", [QUESTION, SYSTEM])
async def test_only_a_reply_can_be_swiped(tmp_path: Path, host: ChatFolderHost, last: Message) -> None:
    write_chat(tmp_path, GREETING, last)

    with pytest.raises(InvalidInput) as refused:
        await host.head(REF, "swipe")

    assert refused.value.error_code == "agent.swipe_target_invalid"


async def test_a_run_does_not_start_on_a_damaged_chat(tmp_path: Path, host: ChatFolderHost) -> None:
    path = write_chat(tmp_path, GREETING)
    path.write_bytes(path.read_bytes() + b'{"name":"W\n' + dumps(QUESTION))

    with pytest.raises(InvalidData, match="line 3"):
        await host.head(REF, "normal")


async def test_the_hash_is_of_the_line_without_its_end(tmp_path: Path, host: ChatFolderHost) -> None:
    path = write_chat(tmp_path, GREETING)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert await host.head(REF, "normal") == head_of(GREETING)


async def test_a_commit_gives_the_index_and_the_message_can_be_read(tmp_path: Path) -> None:
    path = write_chat(tmp_path, GREETING)
    single, ref = ChatFolderHost.for_chat(path, clock=StillClock())
    host: ChatHost = single

    receipt = await host.commit(commit_request("A fox.", await host.head(ref, "normal")))

    assert receipt == CommitReceipt("1")
    assert ref == REF
    message = await single.read_message(ref, 1)
    assert (message["mes"], message["send_date"]) == ("A fox.", "2026-01-01T00:00:00.250Z")


@pytest.mark.parametrize("index", [-1, 1])
async def test_a_message_that_is_not_there_is_told(tmp_path: Path, host: ChatFolderHost, index: int) -> None:
    write_chat(tmp_path, GREETING)

    with pytest.raises(NotFound, match=f"no message {index}"):
        await host.read_message(REF, index)


def test_a_chat_file_must_be_one() -> None:
    with pytest.raises(InvalidInput, match="jsonl"):
        ChatFolderHost.for_chat(Path("Wren/tea.json"), clock=StillClock())


@pytest.mark.parametrize("metadata", [{"integrity": "int-9999"}, {"integrity": None}, {}])
async def test_another_chat_under_the_same_name_takes_no_commit(
    tmp_path: Path, host: ChatFolderHost, metadata: Json
) -> None:
    path = write_chat(tmp_path, GREETING, header={**HEADER, "chat_metadata": metadata})
    before = path.read_bytes()

    with pytest.raises(HostFailed) as refused:
        await host.commit(commit_request("A fox.", head_of(GREETING)))
    with pytest.raises(HostFailed) as refused_mark:
        await host.update_persist_metadata({**commit_request("", head_of(GREETING)).payload, "messageId": "0"})

    assert refused.value.error_code == refused_mark.value.error_code == "agent.commit_chat_mismatch"
    assert path.read_bytes() == before


async def test_a_chat_that_is_gone_takes_no_commit(host: ChatFolderHost) -> None:
    with pytest.raises(HostFailed) as refused:
        await host.commit(commit_request("A fox.", head_of(GREETING)))

    assert refused.value.error_code == "agent.commit_chat_mismatch"


async def test_a_commit_that_found_the_disk_full_can_be_repeated(tmp_path: Path) -> None:
    path = write_chat(tmp_path, GREETING)
    disk = FaultyDisk(RealDisk())
    disk.fail("replace", error=errno.ENOSPC, times=1)
    host = ChatFolderHost(tmp_path, clock=StillClock(), disk=disk)
    request = commit_request("A fox.", head_of(GREETING))

    with pytest.raises(HostFailed) as refused:
        await host.commit(request)
    after_the_fault = path.read_bytes()
    receipt = await host.commit(request)

    assert refused.value.error_code == "commit.save_failed"
    assert after_the_fault == chat_bytes(GREETING)
    assert receipt == CommitReceipt("1")


async def test_the_persist_state_is_marked_through_the_host(tmp_path: Path, host: ChatFolderHost) -> None:
    write_chat(tmp_path, GREETING)
    request = commit_request("A fox.", head_of(GREETING))
    receipt = await host.commit(request)
    marked = {"messageId": receipt.message_id, "stateId": "run_a", "baseStateId": None, "changeCount": 0}

    await host.update_persist_metadata({**request.payload, **marked})

    notes = (await host.read_message(REF, 1))["extra"]["tauritavern"]["agent"]
    assert (notes["persistStateStatus"], notes["persistStateId"]) == ("committed", "run_a")


async def test_hosts_in_one_process_take_turns(tmp_path: Path) -> None:
    path = write_chat(tmp_path, GREETING)
    before = path.read_bytes()
    hosts = [ChatFolderHost(tmp_path, clock=StillClock()) for _ in range(4)]

    receipts = await asyncio.gather(
        *(
            hosts[number % 4].commit(commit_request(f"Reply {number}.", head_of(GREETING), run=f"run_{number}"))
            for number in range(24)
        )
    )

    assert sorted(int(receipt.message_id) for receipt in receipts) == list(range(1, 25))
    assert path.read_bytes().startswith(before)
    for number, receipt in enumerate(receipts):
        assert (await hosts[0].read_message(REF, int(receipt.message_id)))["mes"] == f"Reply {number}."


COMMITS = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from treadle.graph.jsontext import loads
    from treadle.graph.ports import ChatHead, CommitRequest
    from treadle.host.chat_folder import ChatFolderHost

    class Clock:
        def now(self): return 0.0
        def monotonic(self): return 0.0
        async def sleep(self, seconds): ...

    async def main(folder, *payloads):
        host = ChatFolderHost(Path(folder), clock=Clock())
        for given in map(loads, payloads):
            first = CommitRequest(given["first"], given["text"], 1, ChatHead(0, None), None)
            index = (await host.commit(first)).message_id
            await host.update_persist_metadata({**given["first"], "messageId": index, "stateId": "s", "changeCount": 0})

    asyncio.run(main(*sys.argv[1:]))
    """
)


def test_processes_take_turns(tmp_path: Path) -> None:
    path = write_chat(tmp_path, GREETING)
    writers: list[subprocess.Popen[bytes]] = []
    for writer in range(3):
        payloads = [
            dumps({"first": commit_request(text, ChatHead(0, None), run=text).payload, "text": text}).decode()
            for text in (f"run_{writer}_{number}" for number in range(15))
        ]
        writers.append(subprocess.Popen([sys.executable, "-c", COMMITS, str(tmp_path), *payloads]))

    codes = [writer.wait(timeout=60) for writer in writers]

    assert codes == [0, 0, 0]
    _, greeting, *lines = path.read_bytes().splitlines()
    assert greeting == dumps(GREETING)
    found = [loads(line) for line in lines]
    assert sorted(message["mes"] for message in found) == sorted(f"run_{w}_{n}" for w in range(3) for n in range(15))
    assert {message["extra"]["tauritavern"]["agent"]["persistStateStatus"] for message in found} == {"committed"}
