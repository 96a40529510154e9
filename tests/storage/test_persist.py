"""Persistent files: lent, changed, given back, and what two runs or a crash make of it."""

from __future__ import annotations

import errno
import json
import threading
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, StorageFailed
from treadle.storage.disk import RealDisk
from treadle.storage.persist import (
    PersistConflict,
    PersistDeleteUnsupported,
    PromotionUnfinished,
    newest_state_id,
)
from treadle.storage.persist_records import PersistSnapshot, Promotion
from treadle.testkit.faults import FaultyDisk, Operation

from .lending import SHA_A, SHA_B, WRITES, Chat, put, tree


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    put(tmp_path / "chat", {"persist/a.md": b"a", "persist/deep/b.md": b"b"})
    return Chat(tmp_path / "chat")


class TestProjection:
    def test_the_files_are_copied_and_written_down_by_path(self, chat: Chat) -> None:
        snapshot = chat.start("run_1")

        assert tree(chat.run("run_1") / "persist") == {"a.md": b"a", "deep/b.md": b"b"}
        stored = json.loads((chat.run("run_1") / "input/persist_snapshot.json").read_bytes())
        assert stored == snapshot.to_json()
        assert stored == {
            "files": [
                {"path": "persist/a.md", "sha256": SHA_A, "bytes": 1},
                {"path": "persist/deep/b.md", "sha256": SHA_B, "bytes": 1},
            ]
        }

    def test_a_chat_that_keeps_nothing_lends_an_empty_folder(self, tmp_path: Path) -> None:
        chat = Chat(tmp_path / "chat")

        assert chat.start("run_1") == PersistSnapshot(None, ())
        assert (chat.run("run_1") / "persist").is_dir()

    def test_the_base_is_the_newest_state(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.finish("run_1")

        assert chat.start("run_2").base_state_id == "run_1"
        assert json.loads((chat.run("run_2") / "input/persist_snapshot.json").read_bytes())["baseStateId"] == "run_1"

    def test_a_run_that_was_lent_its_files_is_not_lent_them_again(self, chat: Chat) -> None:
        first = chat.start("run_1")
        chat.write("run_1", {"persist/a.md": b"changed"})
        put(chat.folder, {"persist/a.md": b"later"})

        assert chat.start("run_1") == first
        assert tree(chat.run("run_1") / "persist")["a.md"] == b"changed"

    def test_ds_store_and_unfinished_files_are_left_out(self, chat: Chat) -> None:
        put(chat.folder, {"persist/.DS_Store": b"x", "persist/deep/.DS_Store": b"x"})
        put(chat.folder, {"persist/a.md.0123456789abcdef.tmp": b"half"})

        assert [stamp.path for stamp in chat.start("run_1").files] == ["persist/a.md", "persist/deep/b.md"]
        assert tree(chat.run("run_1") / "persist").keys() == {"a.md", "deep/b.md"}

    def test_links_are_refused(self, chat: Chat, tmp_path: Path) -> None:
        (chat.folder / "persist" / "deep" / "link").symlink_to(tmp_path)

        with pytest.raises(InvalidData):
            chat.start("run_1")
        assert not (chat.run("run_1") / "input/persist_snapshot.json").exists()

    def test_a_base_that_is_a_link_or_a_file_is_refused(self, tmp_path: Path) -> None:
        for name in ("link", "file"):
            (tmp_path / name).mkdir()
        (tmp_path / "link" / "persist").symlink_to(tmp_path)
        (tmp_path / "file" / "persist").write_text("x")

        for name in ("link", "file"):
            with pytest.raises(InvalidData):
                Chat(tmp_path / name).start("run_1")

    def test_a_fault_at_any_write_is_mended_by_starting_again(self, chat: Chat) -> None:
        clean = FaultyDisk(RealDisk())
        whole = chat.start("run_0", clean)
        writes: list[Operation] = [touch.operation for touch in clean.log if touch.operation in WRITES]
        for number, operation in enumerate(writes):
            disk = FaultyDisk(RealDisk())
            disk.fail(operation, error=errno.EIO, skip=writes[:number].count(operation), times=1)
            with pytest.raises(StorageFailed):
                chat.start(f"run_{number + 1}", disk)
            # meanwhile the chat's files may have changed: nothing of the first try may stay
            put(chat.run(f"run_{number + 1}"), {"persist/stale.md": b"of the first try"})

            assert chat.start(f"run_{number + 1}") == whole
            assert tree(chat.run(f"run_{number + 1}") / "persist") == {"a.md": b"a", "deep/b.md": b"b"}


class TestPromotion:
    def test_changed_files_are_copied_and_the_manifest_is_exact(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.write("run_1", {"persist/a.md": b"b", "persist/new/c.md": b"a"})
        promotion = chat.finish("run_1")

        assert chat.kept() == {"a.md": b"b", "deep/b.md": b"b", "new/c.md": b"a"}
        changes = [
            {"path": "persist/a.md", "kind": "modified", "sha256": SHA_B, "bytes": 1},
            {"path": "persist/new/c.md", "kind": "added", "sha256": SHA_A, "bytes": 1},
        ]
        assert [change.to_json() for change in promotion.changes] == changes
        assert "bytes" not in promotion.changes[0].announced()
        assert json.loads((chat.folder / "persistent-states/run_1/manifest.json").read_bytes()) == {
            "version": 1,
            "stateId": "run_1",
            "runId": "run_1",
            "workspaceId": "chat_0123456789abcdef",
            "stableChatId": "int-1",
            "createdAt": "2026-01-01T00:00:00.250Z",
            "files": [
                {"path": "persist/a.md", "sha256": SHA_B, "bytes": 1},
                {"path": "persist/deep/b.md", "sha256": SHA_B, "bytes": 1},
                {"path": "persist/new/c.md", "sha256": SHA_A, "bytes": 1},
            ],
            "changes": changes,
        }
        assert tree(chat.folder / "persistent-states").keys() == {"run_1/manifest.json"}

    def test_a_promotion_that_the_disk_refuses_before_it_is_decided_has_failed(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.write("run_1", {"persist/a.md": b"b"})
        disk = FaultyDisk(RealDisk())
        disk.fail("replace", when="promotion.json")

        with pytest.raises(StorageFailed) as refused:
            chat.finish("run_1", disk)
        assert not isinstance(refused.value, PromotionUnfinished)
        assert chat.kept()["a.md"] == b"a"

    @pytest.mark.parametrize("where", ["persist/a.md", "run_1/manifest.json"])
    def test_one_that_it_refuses_after_that_is_unfinished_and_finished_by_another_call(
        self, chat: Chat, where: str
    ) -> None:
        chat.start("run_1")
        chat.write("run_1", {"persist/a.md": b"b"})
        disk = FaultyDisk(RealDisk())
        disk.fail("replace", when=where)
        with pytest.raises(PromotionUnfinished, match="No space left"):
            chat.finish("run_1", disk)
        chat.finish("run_1")

        assert chat.kept()["a.md"] == b"b"
        assert tree(chat.folder / "persistent-states").keys() == {"run_1/manifest.json"}

    def test_a_run_without_changes_leaves_a_state_too(self, chat: Chat) -> None:
        chat.start("run_1")

        assert chat.finish("run_1") == Promotion("run_1", None, ())
        assert newest_state_id(chat.folder) == "run_1"

    def test_states_name_the_one_they_began_from(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.finish("run_1")
        chat.start("run_2")

        assert chat.finish("run_2").base_state_id == "run_1"
        stored = json.loads((chat.folder / "persistent-states/run_2/manifest.json").read_bytes())
        assert stored["baseStateId"] == "run_1"

    def test_files_that_are_written_as_they_were_are_no_change(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.write("run_1", {"persist/a.md": b"a"})

        assert chat.finish("run_1").changes == ()

    def test_unchanged_files_are_not_written_over_what_others_changed(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.start("run_2")
        chat.write("run_1", {"persist/a.md": b"one"})
        chat.write("run_2", {"persist/deep/b.md": b"two"})
        chat.finish("run_1")
        chat.finish("run_2")

        assert chat.kept() == {"a.md": b"one", "deep/b.md": b"two"}

    @pytest.mark.parametrize("name", ["persist/a.md", "persist/new.md"])
    @pytest.mark.parametrize("second", [b"two", b"one"])
    def test_two_runs_that_changed_one_path_conflict_and_nothing_of_the_later_is_kept(
        self, chat: Chat, name: str, second: bytes
    ) -> None:
        chat.start("run_1")
        chat.start("run_2")
        chat.write("run_1", {name: b"one"})
        chat.write("run_2", {name: second, "persist/also.md": b"x"})
        chat.finish("run_1")
        before = tree(chat.folder)

        for _ in range(2):
            with pytest.raises(PersistConflict, match=name) as caught:
                chat.finish("run_2")
            assert caught.value.details == {"paths": [name]}
            assert tree(chat.folder) == before

    @pytest.mark.parametrize(
        ("theirs", "ours"),
        [("persist/x", "persist/x/y.md"), ("persist/x/y.md", "persist/x")],
    )
    def test_a_file_where_another_run_has_a_folder_conflicts(self, chat: Chat, theirs: str, ours: str) -> None:
        chat.start("run_1")
        chat.start("run_2")
        chat.write("run_1", {theirs: b"one"})
        chat.write("run_2", {ours: b"two"})
        chat.finish("run_1")

        with pytest.raises(PersistConflict):
            chat.finish("run_2")

    def test_a_changed_file_that_is_gone_from_the_chat_conflicts(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.write("run_1", {"persist/deep/b.md": b"new"})
        RealDisk().remove(chat.folder / "persist" / "deep")

        with pytest.raises(PersistConflict, match=r"persist/deep/b\.md"):
            chat.finish("run_1")

    def test_deleting_is_refused_and_nothing_is_kept(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.write("run_1", {"persist/new.md": b"x"})
        (chat.run("run_1") / "persist" / "a.md").unlink()

        with pytest.raises(PersistDeleteUnsupported, match=r"persist/a\.md"):
            chat.finish("run_1")
        assert chat.kept() == {"a.md": b"a", "deep/b.md": b"b"}
        assert newest_state_id(chat.folder) is None

    def test_a_link_in_the_runs_files_is_refused(self, chat: Chat, tmp_path: Path) -> None:
        chat.start("run_1")
        (chat.run("run_1") / "persist" / "link").symlink_to(tmp_path)

        with pytest.raises(InvalidData):
            chat.finish("run_1")

    def test_ds_store_is_not_promoted(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.write("run_1", {"persist/.DS_Store": b"x"})

        assert chat.finish("run_1").changes == ()

    def test_a_run_that_was_lent_nothing_cannot_give_back(self, chat: Chat) -> None:
        with pytest.raises(InvalidData, match=r"persist_snapshot\.json"):
            chat.finish("run_1")

    def test_the_same_promotion_again_gives_the_first_answer_and_writes_nothing(self, chat: Chat) -> None:
        chat.start("run_1")
        chat.write("run_1", {"persist/a.md": b"one"})
        first = chat.finish("run_1")
        put(chat.folder, {"persist/a.md": b"by a person, later"})
        before = tree(chat.folder)

        assert chat.finish("run_1", created_at="2027-01-01T00:00:00.000Z") == first
        assert tree(chat.folder) == before

    def test_runs_that_finish_at_once_all_win_if_they_touched_different_files(self, chat: Chat) -> None:
        names = [f"run_{number}" for number in range(8)]
        for name in names:
            chat.start(name)
            chat.write(name, {f"persist/{name}.md": name.encode()})
        threads = [threading.Thread(target=chat.finish, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert chat.kept() == {"a.md": b"a", "deep/b.md": b"b", **{f"{name}.md": name.encode() for name in names}}
