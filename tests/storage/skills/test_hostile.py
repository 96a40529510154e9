"""Archives made to do harm: whatever is in them, they are installed whole inside the store, or refused with a reason."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from treadle.storage.disk import RealDisk
from treadle.storage.skills.imports import imported
from treadle.storage.skills.package import content_hash
from treadle.storage.skills.shelf import SkillRefused

from .samples import an_import, below, linked, lying, skill_md, store_below, zipped


class Entry(NamedTuple):
    name: str
    data: bytes
    is_link: bool = False
    says: int | None = None
    """Another size than it has."""


NAMES = st.one_of(
    st.sampled_from(
        ["SKILL.md", "skill.md", "a.md", "A.md", "a/b", "a", "../x", "../other/SKILL.md", "/etc/x", "C:\\x", "..\\x", "a/../../x",
         "//srv/x", "\\\\srv\\x", "a/", "__MACOSX/a", ".DS_Store", "._a", "con", "a/nul.md", ".git/x", "b/.ENV", "demo/SKILL.md",
         "a:b", "é", "e\u0301", "scripts/x.sh", "agents/tauritavern.json", "a//b", "./c", " d ", "x" * 300, "a/" * 600 + "b"]
    ),
    st.text(max_size=12).filter(lambda name: "\0" not in name),
)  # fmt: skip
ENTRIES = st.lists(
    st.builds(
        Entry,
        NAMES,
        st.one_of(st.binary(max_size=40), st.just(bytes(100_000)), st.just(b'{"version": 1}')),
        st.booleans(),
        st.none() | st.sampled_from([0, 1, 2**31, 2**32 - 2]),
    ),
    max_size=6,
)


def archive(entries: Sequence[Entry]) -> bytes:
    held = [(entry.name, entry.data) for entry in entries if _can_be_written(entry.name)]
    data = zipped([("SKILL.md", skill_md()), *held], change={entry.name: linked for entry in entries if entry.is_link})
    for name, says in [(entry.name, entry.says) for entry in entries if _can_be_written(entry.name)]:
        data = data if says is None else lying(data, name.encode(), says)
    return data


def _can_be_written(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


@given(entries=ENTRIES, cut=st.none() | st.integers(0, 400))
def test_a_hostile_archive_harms_nobody(entries: list[Entry], cut: int | None) -> None:
    content = base64.b64encode(archive(entries)[:cut]).decode()
    with tempfile.TemporaryDirectory() as folder:
        store = store_below(Path(folder) / "data")
        store.install(an_import("other"))
        before = below(Path(folder))
        try:
            found = imported({"kind": "archiveBase64", "fileName": "a.zip", "contentBase64": content}, RealDisk())
            store.install(found)
        except SkillRefused as refused:
            assert refused.message
            assert below(Path(folder)) == before
        else:
            assert content_hash(store.contents("demo")) == found.package.sha256
            changed = {path for path, data in below(Path(folder)).items() if before.get(path) != data}
            home = "data/_tauritavern/skills"
            assert {path for path in changed if not path.startswith(f"{home}/installed/demo/")} == {
                f"{home}/index/skills.json"
            }
        assert not any(path.is_symlink() for path in Path(folder).rglob("*"))
        assert not (store.root / ".staging").exists()
