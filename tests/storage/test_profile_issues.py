"""A bad file is an issue with a remedy, and hides no good profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.graph.errors import InvalidInput, NotFound
from treadle.graph.jsontext import Json
from treadle.nodes.profile_rules import checked_profile
from treadle.storage.disk import RealDisk
from treadle.storage.profile_issues import repair, survey
from treadle.storage.profiles import ProfileFiles
from treadle.testkit.faults import FaultyDisk
from treadle.testkit.ports import CountingIds

from ..graph.profiles.documents import document
from .profiles_contract import made


@pytest.fixture
def files(tmp_path: Path) -> ProfileFiles:
    files = ProfileFiles(tmp_path, RealDisk(), CountingIds(), checked_profile)
    files.put(made("good"))
    return files


def put(files: ProfileFiles, name: str, content: bytes | dict[str, Json]) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (files.folder / name).write_bytes(data)


MINE = document({"id": "mine"})
BAD: list[tuple[str, bytes | dict[str, Json], str, str, str]] = [
    ("bad.json", b"{", "invalidJson", "delete", "it is not JSON"),
    ("bad.json", b"\xff\xfe", "invalidJson", "delete", "it is not JSON"),
    ("bad.json", b"[]", "invalidProfile", "delete", "must be a JSON object (agent.invalid_profile)"),
    ("bad.json", {**MINE, "extra": 1}, "invalidProfile", "delete", "$.extra is not a field"),
    ("bad.json", document({"id": "good", "tools.maxRounds": 0}), "invalidProfile", "delete", "$.tools.maxRounds"),
    ("bad.json", MINE, "invalidFileIdentity", "normalizeIdentity", "its id is 'mine'"),
    ("bad.json", {**MINE, "id": 3}, "invalidFileIdentity", "normalizeIdentity", "its id is 3"),
    ("bad.json", {**MINE, "id": "No Id"}, "invalidFileIdentity", "normalizeIdentity", "its id is 'No Id'"),
    ("My File.json", MINE, "invalidFileIdentity", "normalizeIdentity", "it should be mine.json"),
    ("My File.json", document({"id": "good"}), "invalidFileIdentity", "delete", "there is a profile good already"),
    ("My File.json", {**MINE, "id": "A"}, "invalidProfile", "delete", "agent.profile_id_invalid"),
]


@pytest.mark.parametrize(("name", "content", "kind", "action", "words"), BAD)
def test_a_bad_file_is_an_issue_beside_the_good_ones(
    files: ProfileFiles, name: str, content: bytes | dict[str, Json], kind: str, action: str, words: str
) -> None:
    put(files, name, content)

    found = survey(files)

    assert [profile.id for profile in found.profiles] == ["good"]
    (issue,) = found.issues
    told = issue.to_json()
    assert words in told.pop("message")
    assert told == {
        "profileId": name.removesuffix(".json"), "fileName": name, "kind": kind, "recommendedAction": action,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "content", "kind", "action", "words"), BAD)
def test_the_repair_does_what_is_recommended_and_leaves_no_issue(
    files: ProfileFiles, name: str, content: bytes | dict[str, Json], kind: str, action: str, words: str
) -> None:
    put(files, name, content)

    done = repair(files, name)

    there = {"bad.json": "bad", "My File.json": "mine"}[name] if action == "normalizeIdentity" else None
    assert (done.file_name, str(done.action), done.profile_id) == (name, action, there)
    found = survey(files)
    assert found.issues == ()
    assert sorted(path.stem for path in files.paths()) == sorted(filter(None, ["good", there]))
    assert files.get("good") == made("good")


def test_a_file_that_can_not_be_read_is_an_issue_too(tmp_path: Path) -> None:
    disk = FaultyDisk(RealDisk())
    files = ProfileFiles(tmp_path, disk, CountingIds(), checked_profile)
    for name in ("bad", "good"):
        files.put(made(name))
    disk.fail("read", when="bad.json")

    found = survey(files)

    assert [profile.id for profile in found.profiles] == ["good"]
    assert [(issue.kind, issue.file_name) for issue in found.issues] == [("invalidJson", "bad.json")]


def test_an_id_with_blanks_around_it_is_the_same_id(files: ProfileFiles) -> None:
    put(files, "mine.json", {**MINE, "id": " mine "})

    assert survey(files).issues == ()
    assert files.get("mine") is not None


@pytest.mark.parametrize("name", ["none.json", "../good.json", "good", "", "/etc/passwd"])
def test_a_repair_needs_one_of_the_files_that_are_there(files: ProfileFiles, name: str) -> None:
    with pytest.raises(NotFound):
        repair(files, name)


def test_a_file_that_is_in_order_is_not_repaired(files: ProfileFiles) -> None:
    with pytest.raises(InvalidInput, match="in order"):
        repair(files, "good.json")

    assert files.get("good") == made("good")


def test_a_data_root_without_profiles_has_none(tmp_path: Path) -> None:
    found = survey(ProfileFiles(tmp_path, RealDisk(), CountingIds(), checked_profile))

    assert (found.profiles, found.issues) == ((), ())
    assert list(tmp_path.iterdir()) == []
