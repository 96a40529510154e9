"""Many files are searched as if every line of all of them had been scored, sorted and cut."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tests.nodes.search_reference import plain_search
from treadle.graph.text import sha256_bytes
from treadle.nodes.file_search import Search, search
from treadle.nodes.lines import numbered, split
from treadle.nodes.ranking import tokens

NOT_TEXT = b"\xff\xfe"
LINES = ("the red door", "Door", "red", "a river", "", "门 door\r", "ΣΑΣ red")

contents = st.lists(st.sampled_from(LINES), max_size=8).map(lambda lines: "\n".join(lines).encode()) | st.just(NOT_TEXT)
folders = st.dictionaries(st.sampled_from(["a.md", "b.md", "b/c.md", "z.md", "é.md"]), contents)


@given(folders, st.sampled_from(["red door", "door", "ς red", "门", "nothing"]), st.integers(0, 2), st.integers(1, 4))
def test_the_best_of_all_files_are_found(files: dict[str, bytes], query: str, context: int, limit: int) -> None:
    """In any order: files may come as they will."""
    expected, more = plain_search(files, tokens(query), context=context, limit=limit)

    found = search(files.items(), query, context=context, limit=limit)

    assert [(hit.path, hit.window) for hit in found.hits] == expected
    assert found.more is more
    assert found.skipped == sum(data == NOT_TEXT for data in files.values())
    assert found.searched == len(files) - found.skipped
    for hit in found.hits:
        text, window = files[hit.path].decode(), hit.window
        assert hit.snippet == numbered(split(text)[window.first - 1 : window.last], window.first)
        assert hit.sha256 == sha256_bytes(files[hit.path])


def test_a_file_that_has_gone_is_skipped_and_counted() -> None:
    found = search([("a.md", None), ("b.md", b"door")], "door", context=0, limit=5)

    assert (found.searched, found.skipped, len(found.hits)) == (1, 1, 1)


def test_a_file_that_only_looks_like_text_is_skipped_as_reading_it_is_refused() -> None:
    found = search([("a.md", "door".encode("utf-16-le")), ("b.md", b"door")], "d", context=0, limit=5)

    assert (found.searched, found.skipped, [hit.path for hit in found.hits]) == (1, 1, ["b.md"])


def test_each_file_is_asked_for_once_and_only_when_its_turn_comes() -> None:
    asked: list[str] = []

    def files() -> Iterator[tuple[str, bytes]]:
        for name in ("a.md", "b.md", "c.md"):
            asked.append(name)
            yield name, b"door"

    found = search(files(), "door", context=0, limit=1)

    assert asked == ["a.md", "b.md", "c.md"]
    assert [hit.path for hit in found.hits] == ["a.md"]


def test_no_more_is_kept_than_is_shown() -> None:
    found = search(((f"{number:04}", b"door") for number in range(5000)), "door", context=0, limit=3)

    assert [hit.path for hit in found.hits] == ["0000", "0001", "0002"]
    assert (found.searched, found.more) == (5000, True)


def test_a_better_hit_in_a_later_file_comes_first() -> None:
    files = [("a", b"door\ndoor"), ("b", b"river"), ("c", b"red door")]

    found: Search = search(files, "red door", context=0, limit=2)

    assert [(hit.path, hit.window.first) for hit in found.hits] == [("c", 1), ("a", 1)]
    assert found.more
