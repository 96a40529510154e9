"""The store: what is installed, replaced, written, deleted and mended, and what of it survives a bad moment."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json
from treadle.storage.disk import RealDisk
from treadle.storage.skills.index import SkillIndexDamaged
from treadle.storage.skills.package import MOST_FILES
from treadle.storage.skills.shelf import ShelvedSkill, SkillFile, SkillNotFound, SkillRefused
from treadle.storage.skills.store import FOLDER, SkillConflict, SkillStore, Strategy

from .samples import an_import, below, skill_md, store_below

ONE, OTHER = {"kind": "url", "id": "1"}, {"kind": "url", "id": "2", "label": "Two"}


@pytest.fixture
def store(tmp_path: Path) -> SkillStore:
    return store_below(tmp_path)


def index_of(store: SkillStore) -> Json:
    return json.loads((store.root / "index/skills.json").read_bytes())


def names(store: SkillStore) -> list[str]:
    return [skill.name for skill in store.skills()]


def test_what_was_never_used_holds_nothing_and_makes_nothing(store: SkillStore, tmp_path: Path) -> None:
    assert (store.skills(), store.listing().skills) == ([], ())
    assert store.conflict(an_import().package).kind == "new"
    for look in (lambda: store.files("demo"), lambda: store.read("demo", "SKILL.md")):
        with pytest.raises(SkillNotFound, match="no skill demo"):
            look()
    assert list(tmp_path.iterdir()) == []


def test_an_installed_skill_is_told_and_read_byte_for_byte(store: SkillStore) -> None:
    done = store.install(an_import(a=b"\r\n\xff", source=ONE))

    assert done.action == "installed"
    assert store.skills() == [ShelvedSkill("demo", "Demo.")]
    assert store.files("demo") == [SkillFile("SKILL.md", len(skill_md())), SkillFile("a.md", 3)]
    assert store.read("demo", "./a.md") == b"\r\n\xff"
    (entry,) = index_of(store)["skills"]
    assert done.skill is not None
    assert entry == done.skill.to_json()
    assert entry == {
        "name": "demo", "description": "Demo.", "tags": [], "installedHash": done.skill.installed_hash, "fileCount": 2,
        "totalBytes": len(skill_md()) + 3, "hasScripts": False, "hasBinary": True,
        "installedAt": "2026-01-01T00:00:00.250Z",
        "sourceRefs": [{"kind": "url", "id": "1", "label": "1", "installedHash": done.skill.installed_hash}],
    }  # fmt: skip


def test_the_skills_are_told_by_name(store: SkillStore) -> None:
    for name in ("b", "a-1", "a", "_"):
        store.install(an_import(name))

    assert names(store) == sorted(["b", "a-1", "a", "_"])
    assert [entry["name"] for entry in index_of(store)["skills"]] == names(store)


STRATEGIES: tuple[Strategy | None, ...] = (None, "skip", "replace")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_again_is_known_and_its_sources_are_merged(store: SkillStore, strategy: Strategy | None) -> None:
    first = store.install(an_import(source=ONE)).skill
    done = store.install(an_import(source=OTHER), strategy)

    assert done.action == "already_installed"
    assert first is not None
    assert done.skill is not None
    assert done.skill.installed_at == first.installed_at
    assert [ref["label"] for ref in index_of(store)["skills"][0]["sourceRefs"]] == ["1", "Two"]


def test_another_version_is_refused_skipped_or_replaced_as_is_said(store: SkillStore) -> None:
    store.install(an_import(source=ONE))
    before = below(store.root)

    with pytest.raises(SkillConflict, match="installed with other content"):
        store.install(an_import(a=b"new"))
    assert store.install(an_import(a=b"new"), "skip").action == "skipped"
    assert below(store.root) == before

    done = store.install(an_import(a=b"new", source=OTHER), "replace")
    assert (done.action, store.read("demo", "a.md")) == ("replaced", b"new")
    assert [ref["label"] for ref in index_of(store)["skills"][0]["sourceRefs"]] == ["Two"]
    assert not (store.root / ".staging").exists()


def test_a_folder_that_was_changed_by_hand_is_another_version(store: SkillStore) -> None:
    store.install(an_import())
    (store.root / "installed/demo/mine.md").write_bytes(b"mine")

    with pytest.raises(SkillConflict):
        store.install(an_import())
    assert store.conflict(an_import().package).kind == "different"


def test_a_deleted_skill_is_gone_with_its_entry(store: SkillStore) -> None:
    store.install(an_import("a"))
    store.install(an_import("b"))

    store.delete(" a ")

    assert (names(store), [entry["name"] for entry in index_of(store)["skills"]]) == (["b"], ["b"])
    with pytest.raises(SkillNotFound):
        store.delete("a")


def test_a_file_is_written_where_it_is_text_and_what_it_was(store: SkillStore) -> None:
    first = store.install(an_import(a=b"old", source=ONE)).skill
    assert first is not None

    entry = store.write_file("demo", "./a.md", "neu\n", expected_sha256=None)

    assert store.read("demo", "a.md") == b"neu\n"
    assert entry.installed_hash != first.installed_hash
    assert (entry.installed_at, len(entry.source_refs)) == (first.installed_at, 1)
    assert store.write_file("demo", "SKILL.md", skill_md(description="New.").decode()).description == "New."
    assert index_of(store)["skills"][0]["description"] == "New."


@pytest.mark.parametrize(
    ("path", "text", "expected", "error", "words"),
    [
        ("none.md", "x", None, SkillNotFound, "no file none.md"),
        ("a.md", "x", None, SkillRefused, "binary"),
        ("SKILL.md", "x", None, SkillRefused, "must be ---"),
        ("SKILL.md", skill_md("other").decode(), None, SkillRefused, "can't be changed to other"),
        ("SKILL.md", "x", "0" * 64, SkillConflict, "changed meanwhile"),
        ("SKILL.md", "\ud800", None, SkillRefused, "half of a character"),
        ("../x", "x", None, SkillRefused, "leaves the skill"),
    ],
)
def test_a_write_that_is_wrong_changes_nothing(
    store: SkillStore, path: str, text: str, expected: str | None, error: type[TreadleError], words: str
) -> None:
    store.install(an_import(a=b"\xff"))
    before = below(store.root)

    with pytest.raises(error, match=words):
        store.write_file("demo", path, text, expected)
    assert below(store.root) == before


def test_reading_leads_to_plain_files_of_the_skill_alone(store: SkillStore, tmp_path: Path) -> None:
    store.install(an_import())
    (tmp_path / "secret").write_bytes(b"SECRET")
    folder = store.root / "installed/demo"
    (folder / "l.md").symlink_to(tmp_path / "secret")
    (folder / "d").symlink_to(tmp_path, target_is_directory=True)
    (folder / "e").mkdir()

    for path, words in (
        ("l.md", "link"),
        ("d/secret", "link"),
        ("e", "folder"),
        ("../x", "leaves"),
        ("/x", "absolute"),
    ):
        with pytest.raises(SkillRefused, match=words):
            store.read("demo", path)
    for path in ("none.md", "SKILL.md/x", "e/none"):
        with pytest.raises(SkillNotFound, match=path):
            store.read("demo", path)
    for look in (lambda: store.files("../demo"), lambda: store.read("De mo", "SKILL.md")):
        with pytest.raises(SkillRefused, match="name"):
            look()


class TestAnIndexThatDoesNotAgree:
    def test_a_missing_index_is_made_anew_from_the_folders_and_that_is_told(self, store: SkillStore) -> None:
        store.install(an_import("a"))
        store.install(an_import("b"))
        known = index_of(store)
        (store.root / "index/skills.json").unlink()

        assert names(store) == ["a", "b"]
        assert not (store.root / "index/skills.json").exists()  # a run only reads
        assert [line.partition(":")[0] for line in store.listing().repairs] == ["a", "b"]
        assert index_of(store) == known
        assert store.listing().repairs == ()

    def test_an_entry_whose_folder_is_gone_is_left_out_and_dropped_with_the_next_save(self, store: SkillStore) -> None:
        store.install(an_import("a"))
        store.install(an_import("b"))
        store.root.joinpath("installed/a").rename(store.root.parent / "moved")

        assert (names(store), len(index_of(store)["skills"])) == (["b"], 2)
        store.install(an_import("c"))
        assert [entry["name"] for entry in index_of(store)["skills"]] == ["b", "c"]

    def test_a_folder_without_an_entry_is_taken_in(self, store: SkillStore) -> None:
        store.install(an_import("a"))
        folder = store.root / "installed/b"
        folder.mkdir()
        (folder / "SKILL.md").write_bytes(skill_md("b"))

        assert names(store) == ["a", "b"]
        assert store.install(an_import("b")).action == "already_installed"
        assert [entry["name"] for entry in index_of(store)["skills"]] == ["a", "b"]

    def test_a_folder_that_is_no_skill_is_left_out_with_the_reason(self, store: SkillStore) -> None:
        installed = store.root / "installed"
        for name, data in (("bad", b"x"), ("moved", skill_md("other"))):
            (installed / name).mkdir(parents=True)
            (installed / name / "SKILL.md").write_bytes(data)
        (installed / "file").write_bytes(b"")
        (installed / "link").symlink_to(installed / "bad")

        listing = store.listing()
        assert listing.skills == ()
        assert [line.split(":")[0] for line in listing.repairs] == ["bad", "file", "link", "moved"]
        assert "must be ---" in listing.repairs[0]
        assert "rename the folder" in listing.repairs[3]

    @pytest.mark.parametrize(
        ("index", "words"),
        [
            (b"{", "is not JSON"),
            (b"\xff", "is not JSON"),
            (b"[]", "version is None"),
            (b'{"version": 2, "skills": []}', "version is 2"),
            (b'{"version": true, "skills": []}', "version is True"),
            (b'{"version": 1, "skills": {}}', "skills must be a list"),
            (b'{"version": 1, "skills": [1]}', r"skills\[0\] must be an object"),
            (b'{"version": 1, "skills": [], "x": 1}', "x is not known"),
            (b'{"version": 1, "skills": [{"name": "../x"}]}', r"skills\[0\]\.name"),
            (b'{"version": 1, "skills": [{"name": "a"}]}', r"skills\[0\]\.description is missing"),
            (b'{"version": 1, "skills": [{"name": "a", "scope": 1}]}', r"skills\[0\]\.scope is not known"),
            (b"twice", r"skills\[1\]\.name demo stands twice"),
        ],
    )
    def test_a_damaged_index_is_told_by_its_file_and_repaired_when_asked(
        self, store: SkillStore, index: bytes, words: str
    ) -> None:
        store.install(an_import())
        path = store.root / "index/skills.json"
        known = index_of(store)
        path.write_bytes(index if index != b"twice" else json.dumps({**known, "skills": known["skills"] * 2}).encode())
        damaged = path.read_bytes()

        for use in (store.skills, store.listing, lambda: store.install(an_import("b")), lambda: store.delete("demo")):
            with pytest.raises(
                SkillIndexDamaged, match=rf"skills/index/skills\.json: .*{words}.*treadle skills repair"
            ):
                use()
        assert path.read_bytes() == damaged

        repaired = store.repair()
        assert [entry.name for entry in repaired.skills] == ["demo"]
        assert index_of(store) == known
        (aside,) = [path for path in path.parent.iterdir() if "damaged" in path.name]
        assert aside.read_bytes() == damaged
        assert aside.name in repaired.repairs[0]

    def test_a_repair_keeps_what_is_known_of_sources_and_makes_the_rest_anew(self, store: SkillStore) -> None:
        store.install(an_import("a", source=ONE))
        store.install(an_import("gone"))
        store.root.joinpath("installed/gone").rename(store.root.parent / "moved")
        (store.root / "installed/a/more.md").write_bytes(b"x")

        repaired = store.repair()

        (entry,) = repaired.skills
        assert (entry.file_count, len(entry.source_refs)) == (2, 1)
        assert repaired.repairs == (
            "a: its entry is made anew from its folder",
            "gone: its folder is gone, and so is its entry",
        )
        assert store.repair().repairs == ()


def test_leftovers_of_another_time_are_swept_with_the_next_change(store: SkillStore) -> None:
    store.install(an_import())
    leftover = store.root / ".staging/demo/new/SKILL.md"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"half")

    assert names(store) == ["demo"]
    assert not (store.root / ".staging").exists()
    assert store.read("demo", "SKILL.md") == skill_md()


def test_many_at_once_are_all_installed_and_nobody_reads_a_half(tmp_path: Path) -> None:
    reader, wrong = store_below(tmp_path), list[object]()
    reader.install(an_import(a=b"0"))

    def install(number: int) -> None:
        store_below(tmp_path).install(an_import(f"s{number}"))
        store_below(tmp_path).install(an_import(a=f"{number}".encode()), "replace")

    def read() -> None:
        for _ in range(40):
            try:
                assert "demo" in names(reader)
                reader.read("demo", "a.md")
            except (TreadleError, AssertionError) as error:
                wrong.append(error)

    threads = [threading.Thread(target=install, args=(n,)) for n in range(6)] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert names(reader) == ["demo", *(f"s{n}" for n in range(6))]
    assert len(index_of(reader)["skills"]) == 7


def test_who_reads_in_the_middle_of_a_change_waits_for_its_end(tmp_path: Path) -> None:
    store_below(tmp_path).install(an_import(a=b"old"))
    reader, found = store_below(tmp_path), list[bytes]()

    class PausingDisk(RealDisk):
        """Once the old folder is aside, a reader comes; it can only be done when the change is."""

        def move(self, source: Path, target: Path) -> None:
            super().move(source, target)
            if target.name == "old":
                thread.start()
                thread.join(0.3)  # long enough to look once, and to find nothing

    thread = threading.Thread(target=lambda: found.append(reader.read("demo", "a.md")))
    store_below(tmp_path, PausingDisk()).install(an_import(a=b"new"), "replace")
    thread.join()

    assert found == [b"new"]


def test_the_place_of_the_store_is_the_documented_one(store: SkillStore, tmp_path: Path) -> None:
    store.install(an_import())

    kept = {path for path in below(tmp_path) if not path.endswith(".lock")}
    assert kept == {f"{FOLDER}/installed/demo/SKILL.md", f"{FOLDER}/index/skills.json"}


def test_a_folder_that_grew_past_a_package_is_still_read_and_where_it_lies_is_not_told(store: SkillStore) -> None:
    store.install(an_import())
    folder = store.root / "installed" / "demo"
    for number in range(MOST_FILES):
        (folder / f"{number}.md").touch()

    assert len(store.files("demo")) == MOST_FILES + 1
    (folder / "link.md").symlink_to(folder / "SKILL.md")
    with pytest.raises(SkillRefused, match="in the skill demo is a link") as refused:
        store.files("demo")
    assert str(store.root) not in refused.value.message
