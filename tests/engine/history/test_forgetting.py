"""A chat that is deleted takes its runs and its persistent files with it, unless one of its runs is under way."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from treadle.engine.engine import Engine
from treadle.engine.history.forgetting import ForgottenChat, WorkspaceInUse
from treadle.graph.errors import InvalidInput, StorageFailed
from treadle.graph.identity import workspace_id
from treadle.graph.jsontext import Json
from treadle.graph.status import RunStatus
from treadle.host.chat_folder import ChatFolderHost
from treadle.storage.run_deletion import unfinished_deletions
from treadle.storage.run_summaries import RunSummaries
from treadle.storage.runs import DATABASE
from treadle.testkit.faults import Operation

from ...scenarios import words
from ...scenarios.hosts import never
from ...scenarios.stage import Stage
from ...storage.chats.samples import CHAT_REF, GREETING, STABLE_ID, write_chat
from .desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk.at(tmp_path)


def chat(name: str) -> dict[str, Json]:
    return {"chatRef": {"kind": "character", "characterId": "Wren", "fileName": name}, "stableChatId": name}


async def forget(desk: Desk, *chats: Json) -> Sequence[ForgottenChat]:
    async with Engine(desk.shelf.data_root, desk.services.host, clock=desk.clock, disk=desk.shelf.disk) as engine:
        return await engine.forget_chats(*chats)


async def test_a_chat_takes_its_runs_and_its_persistent_files_and_leaves_the_others(desk: Desk) -> None:
    mine, other = desk.shelf.put("run_1", chat="tea"), desk.shelf.put("run_2", chat="soup")
    desk.shelf.put("run_3", chat="tea", status=RunStatus.CALLING_MODEL)  # nobody drives it
    RunSummaries(desk.shelf.store, desk.shelf.disk).of(mine)
    folder = desk.shelf.store.chat_folder(mine.workspace_id)
    desk.shelf.disk.replace(folder / "persist" / "notes.md", b"x")

    (gone,) = await forget(desk, chat("tea"))

    assert gone.to_json() == {
        "chatRef": {"kind": "character", "characterId": "Wren", "fileName": "tea"},
        "workspaceId": mine.workspace_id,
        "removed": True,
        "runIds": ["run_1", "run_3"],
    }
    assert not folder.exists()
    assert desk.listed() == [other.id]
    assert [path for path in desk.shelf.files() if "run_1" in path or "run_3" in path] == []


async def test_what_is_not_there_is_fine_and_nothing_is_made(desk: Desk) -> None:
    (gone,) = await forget(desk, chat("tea"))

    assert (gone.removed, gone.run_ids, gone.workspace_id) == (False, (), workspace_id("character", "tea"))
    assert not desk.shelf.store.root.exists()


async def test_a_run_under_way_keeps_its_chat_and_all_that_were_to_go_with_it(desk: Desk) -> None:
    for name, of in (("run_1", "tea"), ("run_2", "soup"), ("run_3", "soup"), ("run_4", "soup")):
        record = desk.shelf.put(name, chat=of, status=RunStatus.CALLING_MODEL)
        if name in ("run_3", "run_2"):
            desk.driven(record)
        elif name == "run_1":
            desk.driven(record)
            desk.clock.advance(31)
    before = sorted(desk.shelf.files())

    with pytest.raises(WorkspaceInUse) as refused:
        await forget(desk, chat("tea"), chat("soup"))

    assert refused.value.error_code == "agent.workspace_in_use"
    assert refused.value.details == {"runIds": ["run_2", "run_3"]}
    assert "nothing was deleted" in refused.value.message
    assert sorted(desk.shelf.files()) == before
    desk.clock.advance(31)
    assert [each.removed for each in await forget(desk, chat("tea"), chat("soup"))] == [True, True]


async def test_a_run_that_was_looked_at_is_free_again_after_the_refusal(desk: Desk) -> None:
    free = desk.shelf.put("run_1", status=RunStatus.CALLING_MODEL)
    database = desk.driven(free)
    desk.clock.advance(31)
    desk.driven(desk.shelf.put("run_2", status=RunStatus.CALLING_MODEL))

    with pytest.raises(WorkspaceInUse):
        await forget(desk, chat("chat-1"))

    assert database.lease() is None
    database.close()


async def test_several_chats_go_at_once_and_one_that_is_named_twice_goes_once(desk: Desk) -> None:
    desk.shelf.put("run_1", chat="tea")
    desk.shelf.put("run_2", chat="soup")

    gone = await forget(desk, chat("tea"), chat("soup"), chat("tea"))

    assert [(each.removed, each.run_ids) for each in gone] == [(True, ("run_1",)), (True, ("run_2",)), (False, ())]
    assert desk.listed() == []


async def test_what_is_damaged_goes_too(desk: Desk) -> None:
    lost, broken, bare = (desk.shelf.put(f"run_{number}") for number in range(3))
    desk.shelf.store.index_file(lost.id).write_bytes(b"{")
    (desk.shelf.store.folder(broken) / DATABASE).write_bytes(b"no database" * 100)
    desk.shelf.disk.remove(desk.shelf.store.folder(bare))

    await forget(desk, chat("chat-1"))

    assert desk.shelf.files() == {}


async def test_a_fault_at_any_operation_leaves_what_is_finished_when_repeated(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def laid_down() -> Desk:
        desk = Desk.at(tmp_path_factory.mktemp("data"))
        for number in range(2):
            desk.shelf.put(f"run_{number}", created=number)
        desk.shelf.put("run_other", chat="soup")
        desk.shelf.disk.log.clear()
        return desk

    whole = laid_down()
    await forget(whole, chat("chat-1"))
    wanted = whole.shelf.files()
    operations: list[Operation] = [
        touch.operation for touch in whole.shelf.disk.log if touch.operation in ("move", "remove")
    ]
    assert len(operations) > 6

    for place, operation in enumerate(operations):
        desk = laid_down()
        skipped = operations[:place].count(operation)
        desk.shelf.disk.fail(operation, skip=skipped, times=1, error=errno.EIO)
        with pytest.raises(StorageFailed):
            await forget(desk, chat("chat-1"))
        assert desk.listed()  # which looks for damage
        await forget(desk, chat("chat-1"))
        assert (desk.shelf.files(), unfinished_deletions(desk.shelf.store)) == (wanted, []), (place, operation)


async def test_the_host_tells_the_id_and_a_chat_without_one_has_no_runs(tmp_path: Path) -> None:
    write_chat(tmp_path / "chats", GREETING)
    desk = Desk.at(tmp_path / "data", host=ChatFolderHost(tmp_path / "chats"))
    desk.shelf.put("run_1", chat=STABLE_ID)
    nameless = tmp_path / "chats" / "Wren" / "nameless.jsonl"
    nameless.write_text('{"chat_metadata": {"integrity": " "}}\n')
    odd = nameless.with_name("odd.jsonl")
    odd.write_text('{"chat_metadata": {"integrity": 5}}\n')

    (none,) = await forget(desk, {"chatRef": {**CHAT_REF, "fileName": "nameless"}})
    (gone,) = await forget(desk, {"chatRef": CHAT_REF})

    assert (none.workspace_id, none.removed) == (None, False)
    assert gone.run_ids == ("run_1",)
    with pytest.raises(Exception, match="integrity must be a string") as refused:
        await forget(desk, {"chatRef": {**CHAT_REF, "fileName": "odd"}})
    assert getattr(refused.value, "error_code", "") == "agent.invalid_chat_integrity"
    assert (tmp_path / "chats" / "Wren" / "tea.jsonl").exists()


async def test_a_group_chat_is_known_by_its_own_id(desk: Desk) -> None:
    (gone,) = await forget(desk, {"chatRef": {"kind": "group", "chatId": "g1"}})

    assert gone.workspace_id == workspace_id("group", "g1")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("tea", "each chat must be an object"),
        ({"chatRef": None}, "chatRef must be an object"),
        ({**chat("tea"), "force": True}, "an unknown field force"),
        ({**chat("tea"), "stableChatId": 5}, "stableChatId must be a string"),
        ({**chat("tea"), "stableChatId": " "}, "stableChatId is blank"),
        ({"chatRef": chat("tea")["chatRef"]}, "no chat host can tell it"),
    ],
)
async def test_what_can_not_be_asked_is_refused_before_anything_goes(desk: Desk, asked: Any, words: str) -> None:
    desk.shelf.put("run_1", chat="soup")

    with pytest.raises(InvalidInput, match=words):
        await forget(desk, chat("soup"), asked)

    assert desk.listed() == ["run_1"]


async def test_a_run_that_this_engine_drives_keeps_its_chat(stage: Stage) -> None:
    async with stage.show(never) as show:
        run = await show.start()
        await show.asked(1)
        with pytest.raises(WorkspaceInUse, match=run):
            await show.engine.forget_chats({"chatRef": CHAT_REF})
        assert (await show.engine.read_run(run)).status == "calling_model"
        await show.engine.cancel(run)
        await show.end()
        (gone,) = await show.engine.forget_chats({"chatRef": CHAT_REF})

        assert gone.run_ids == (run,)
        assert (await show.engine.list_runs()).runs == ()


async def test_the_next_run_of_a_forgotten_chat_begins_from_nothing(stage: Stage) -> None:
    await stage.play(words.WRITE_NOTES, words.FINISH, presentation="background")
    async with stage.show(words.LIST, words.FINISH) as show:
        await show.engine.forget_chats({"chatRef": CHAT_REF})
        await show.start(presentation="background")
        played = await show.end()

    assert played.record is not None
    assert (played.record.status, played.record.persist_base_state_id) == ("completed", None)
    assert "persist/notes.md" not in played.files
