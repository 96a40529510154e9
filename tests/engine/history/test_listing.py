"""The list of runs: pages, filters, cursors, and what can't be read beside what can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treadle.engine.engine import Engine
from treadle.engine.history.listing import RunPage
from treadle.engine.history.query import RunCursor
from treadle.graph.errors import InvalidInput
from treadle.graph.identity import ChatRef
from treadle.graph.status import RunStatus
from treadle.storage.runs import EVENTS, RECORD

from ...storage.run_shelf import RunShelf, at


@pytest.fixture
def shelf(tmp_path: Path) -> RunShelf:
    return RunShelf(tmp_path)


async def listed(shelf: RunShelf, **asked: Any) -> RunPage:
    async with Engine(shelf.data_root, disk=shelf.disk) as engine:
        return await engine.list_runs(**asked)


def ids(page: RunPage) -> list[str]:
    return [run.id for run in page.runs]


async def test_a_summary_tells_the_record_the_commits_and_the_end(shelf: RunShelf) -> None:
    record = shelf.put("run_1", created=3, ended=9, commits=2)

    page = await listed(shelf)

    assert page.to_json() == {
        "runs": [
            {
                "runId": "run_1",
                "workspaceId": record.workspace_id,
                "stableChatId": "chat-1",
                "chatRef": {"kind": "character", "characterId": "Wren", "fileName": "chat-1"},
                "generationType": "normal",
                "profileId": "default-writer",
                "inputMessageCount": 2,
                "presentation": "foreground",
                "status": "completed",
                "createdAt": at(3),
                "updatedAt": at(9),
                "commitCount": 2,
                "committedMessage": {
                    "commitId": "commit_2",
                    "messageId": "2",
                    "messageIndex": 2,
                    "committedAt": at(3),
                },
                "terminalAt": at(9),
            }
        ],
        "damaged": [],
    }


async def test_pages_follow_each_other_without_a_gap(shelf: RunShelf) -> None:
    for number in range(5):
        shelf.put(f"run_{number}", created=number // 2)

    first = await listed(shelf, limit=2)
    second = await listed(shelf, limit=2, before=first.next_cursor)
    third = await listed(shelf, limit=2, before=None if second.next_cursor is None else second.next_cursor.to_json())

    assert [ids(page) for page in (first, second, third)] == [["run_4", "run_3"], ["run_2", "run_1"], ["run_0"]]
    assert (first.next_cursor, third.next_cursor) == (RunCursor(at(1), "run_3"), None)


async def test_a_page_that_holds_the_last_run_has_no_cursor(shelf: RunShelf) -> None:
    for number in range(2):
        shelf.put(f"run_{number}", created=number)

    assert (await listed(shelf, limit=2)).next_cursor is None


async def test_a_cursor_of_a_run_that_is_gone_still_tells_a_place(shelf: RunShelf) -> None:
    shelf.put("run_1", created=1)
    shelf.put("run_5", created=5)

    assert ids(await listed(shelf, before={"createdAt": at(3), "runId": "run_3"})) == ["run_1"]


async def test_runs_are_chosen_by_chat_and_by_status(shelf: RunShelf) -> None:
    shelf.put("run_1", created=1, chat="tea")
    shelf.put("run_2", created=2, chat="tea", status=RunStatus.FAILED)
    shelf.put("run_3", created=3, chat="soup")
    tea = ChatRef("character", character_id="Wren", file_name="tea")

    assert ids(await listed(shelf, chat_ref=tea)) == ["run_2", "run_1"]
    assert ids(await listed(shelf, chat_ref=tea.to_json(), statuses=["completed"])) == ["run_1"]
    assert ids(await listed(shelf, stable_chat_id=" soup ")) == ["run_3"]
    assert ids(await listed(shelf, statuses=["failed", "cancelled"])) == ["run_2"]
    assert ids(await listed(shelf, statuses=[])) == ["run_3", "run_2", "run_1"]
    assert ids(await listed(shelf, chat_ref=tea, stable_chat_id="soup")) == []


async def test_a_status_that_the_index_does_not_know_yet_is_found(shelf: RunShelf) -> None:
    record = shelf.put("run_1", status=RunStatus.CALLING_MODEL)
    stale = shelf.store.index_file(record.id).read_bytes()
    shelf.change(record, RunStatus.FINISHING, 5)
    shelf.store.index_file(record.id).write_bytes(stale)

    assert ids(await listed(shelf, statuses=["finishing"])) == ["run_1"]
    assert ids(await listed(shelf, statuses=["calling_model"])) == []


async def test_only_the_runs_of_the_page_are_opened(shelf: RunShelf) -> None:
    for number in range(4):
        shelf.put(f"run_{number}", created=number)
    shelf.disk.log.clear()

    await listed(shelf, limit=1)

    assert {touch.path.parent.name for touch in shelf.disk.log if touch.path.name in (EVENTS, RECORD)} == {"run_3"}


async def test_what_is_damaged_is_told_and_the_others_are_listed(shelf: RunShelf) -> None:
    for number in range(4):
        shelf.put(f"run_{number}", created=number)
    (shelf.store.root / "index/runs/run_bad.json").write_bytes(b"{")
    for name, file, data in (("run_1", RECORD, b"{"), ("run_2", EVENTS, b'"type":"run_completed"\n{}\n')):
        (shelf.store.folder(shelf.store.load(name)) / file).write_bytes(data)

    first = await listed(shelf, limit=2)
    rest = await listed(shelf, limit=1, before=RunCursor(at(3), "run_3"))

    assert ids(first) == ["run_3", "run_0"]
    assert [(each.id, each.file.split("/")[-1]) for each in first.damaged] == [
        ("run_bad", "run_bad.json"),
        ("run_2", EVENTS),
        ("run_1", RECORD),
    ]
    assert all(each.reason for each in first.damaged)
    assert (ids(rest), [each.id for each in rest.damaged]) == (["run_0"], ["run_2", "run_1"])


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({"limit": 0}, "agent.run_history_limit_invalid", "limit must be an integer from 1 to 200, not 0"),
        ({"limit": 201}, "agent.run_history_limit_invalid", "not 201"),
        ({"limit": True}, "agent.run_history_limit_invalid", "not True"),
        ({"before": {"createdAt": "t", "runId": " "}}, "agent.run_history_cursor_invalid", "before needs runId"),
        ({"before": {"runId": "run_1"}}, "agent.run_history_cursor_invalid", "before needs createdAt"),
        ({"before": "run_1"}, "agent.run_history_cursor_invalid", "before must be an object"),
        (
            {"before": {"createdAt": "t", "runId": "r", "page": 2}},
            "agent.run_history_cursor_invalid",
            "an unknown field page",
        ),
        ({"statuses": ["done"]}, "agent.validation_error", "statuses: 'done' is not one of"),
        ({"statuses": [""]}, "agent.validation_error", "statuses: '' is not one of"),
        ({"statuses": "failed"}, "agent.validation_error", "statuses must be a list"),
        ({"stable_chat_id": " "}, "agent.stable_chat_id_required", "blank"),
        ({"stable_chat_id": 5}, "agent.validation_error", "stableChatId must be a string"),
        ({"chat_ref": {"kind": "tree"}}, "agent.invalid_chat_ref", "chatRef.kind"),
    ],
)
async def test_what_can_not_be_asked_is_refused_by_its_field(
    shelf: RunShelf, asked: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await listed(shelf, **asked)

    assert refused.value.error_code == code
    assert words in refused.value.message
