"""A promotion that a crash or a refusal cuts short, and which state is the newest."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, StorageFailed
from treadle.storage.disk import RealDisk
from treadle.storage.persist import (
    PersistConflict,
    finish_promotion,
    newest_state_id,
)
from treadle.testkit.faults import FaultyDisk, Operation

from .lending import WRITES, Chat, put, tree


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    put(tmp_path / "chat", {"persist/a.md": b"a", "persist/deep/b.md": b"b"})
    return Chat(tmp_path / "chat")


class TestCrash:
    """Each write of a promotion is made to fail in turn; `finish` below is what a process does that comes after."""

    CHANGES = ("persist/a.md", "persist/new/c.md", "persist/z.md")
    # the intent, three files, the manifest; then the intent goes
    WRITES: tuple[Operation, ...] = ("replace", "replace", "replace", "replace", "replace", "remove")

    def crashed(self, chat: Chat, number: int) -> bool:
        """run_1 promotes and dies at write `number`; False where the promotion has fewer writes."""
        chat.start("run_1")
        chat.start("run_2")
        chat.write("run_1", dict.fromkeys(self.CHANGES, b"one"))
        chat.write("run_2", {"persist/deep/b.md": b"two"})
        if number == len(self.WRITES):
            return False
        disk = FaultyDisk(RealDisk())
        operation = self.WRITES[number]
        disk.fail(operation, error=errno.EIO, skip=self.WRITES[:number].count(operation), times=1)
        with pytest.raises(StorageFailed):
            chat.finish("run_1", disk)
        return True

    @pytest.mark.parametrize("number", range(6))
    def test_the_run_itself_finishes_it(self, chat: Chat, number: int) -> None:
        assert self.crashed(chat, number)
        promotion = chat.finish("run_1")

        assert [change.path for change in promotion.changes] == list(self.CHANGES)
        assert chat.kept() == {"a.md": b"one", "deep/b.md": b"b", "new/c.md": b"one", "z.md": b"one"}
        assert tree(chat.folder / "persistent-states").keys() == {"run_1/manifest.json"}
        assert chat.finish("run_1") == promotion

    @pytest.mark.parametrize("number", [0, 2, 5])
    def test_whoever_is_about_to_change_the_runs_files_can_finish_it_first(self, chat: Chat, number: int) -> None:
        self.crashed(chat, number)
        finish_promotion(chat.folder, RealDisk())
        chat.write("run_1", {"persist/z.md": b"later"})
        chat.start("run_3")

        everything = {"a.md": b"one", "deep/b.md": b"b", "new/c.md": b"one", "z.md": b"one"}
        assert chat.kept() == ({"a.md": b"a", "deep/b.md": b"b"} if number == 0 else everything)

    def test_those_are_all_the_writes(self, chat: Chat) -> None:
        self.crashed(chat, 6)
        disk = FaultyDisk(RealDisk())
        chat.finish("run_1", disk)

        assert [touch.operation for touch in disk.log if touch.operation in WRITES] == [*self.WRITES]

    @pytest.mark.parametrize("number", range(6))
    def test_another_run_that_comes_first_sees_all_of_it_or_nothing(self, chat: Chat, number: int) -> None:
        self.crashed(chat, number)
        chat.start("run_3")
        seen = tree(chat.run("run_3") / "persist")
        chat.finish("run_2")
        chat.finish("run_1")

        nothing = {"a.md": b"a", "deep/b.md": b"b"}
        everything = {"a.md": b"one", "deep/b.md": b"b", "new/c.md": b"one", "z.md": b"one"}
        assert seen == (nothing if number == 0 else everything)
        assert chat.kept() == {**everything, "deep/b.md": b"two"}

    @pytest.mark.parametrize("number", range(1, 6))
    def test_a_decided_promotion_wins_over_a_later_change_of_the_same_file(self, chat: Chat, number: int) -> None:
        self.crashed(chat, number)
        chat.write("run_2", {"persist/z.md": b"two"})

        with pytest.raises(PersistConflict, match=r"persist/z\.md"):
            chat.finish("run_2")
        assert [change.path for change in chat.finish("run_1").changes] == list(self.CHANGES)

    def test_a_promotion_whose_files_are_gone_is_loud_and_names_the_way_out(self, chat: Chat) -> None:
        self.crashed(chat, 2)
        RealDisk().remove(chat.run("run_1"))

        with pytest.raises(InvalidData, match=r"remove persistent-states/promotion\.json"):
            chat.finish("run_2")
        (chat.folder / "persistent-states" / "promotion.json").unlink()
        chat.finish("run_2")


NO_ZONE = b'{"createdAt": "2026-01-01T00:00:00"}'


class TestNewestState:
    def test_it_is_the_one_created_last_not_the_last_by_name(self, chat: Chat) -> None:
        for name, moment in (("run_9", "2026-01-01T00:00:00Z"), ("run_1", "2026-01-01T00:00:00.100Z")):
            chat.start(name)
            chat.finish(name, created_at=moment)

        assert newest_state_id(chat.folder) == "run_1"

    def test_of_two_created_at_once_it_is_the_one_written_last(self, chat: Chat) -> None:
        for name in ("run_9", "run_1"):
            chat.start(name)
            chat.finish(name)

        assert newest_state_id(chat.folder) == "run_1"

    def test_it_is_the_one_written_last_also_where_the_clock_was_set_back(self, chat: Chat) -> None:
        """In between it was set ahead; a clock that stands still makes no two states of one time."""
        moments = ("2026-06-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z")
        for number, moment in enumerate(moments):
            chat.start(f"run_{number}")
            chat.finish(f"run_{number}", created_at=moment)
        told = [
            json.loads((chat.folder / f"persistent-states/run_{number}/manifest.json").read_bytes())["createdAt"]
            for number in range(3)
        ]

        assert newest_state_id(chat.folder) == "run_2"
        assert told == ["2026-06-01T00:00:00.000Z", "2026-06-01T00:00:00.001Z", "2026-06-01T00:00:00.002Z"]

    def test_a_chat_without_states_has_none(self, tmp_path: Path) -> None:
        assert newest_state_id(tmp_path / "none") is None

    @pytest.mark.parametrize("damage", [b"", b"[]", b"{}", b'{"createdAt": 3}', b'{"createdAt": "soon"}', NO_ZONE])
    def test_a_damaged_manifest_is_loud(self, chat: Chat, damage: bytes) -> None:
        put(chat.folder, {"persistent-states/run_1/manifest.json": damage})

        with pytest.raises(InvalidData, match="run_1"):
            newest_state_id(chat.folder)
