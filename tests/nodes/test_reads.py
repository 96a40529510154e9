from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes.desk import Desk, desk, profile, thawed
from treadle.graph.jsontext import Json
from treadle.graph.messages import tool_result
from treadle.graph.paths import WorkspacePath
from treadle.graph.text import sha256_text
from treadle.nodes.reads import ReadState, Seen

FILE = WorkspacePath("output/main.md")

PATHS = st.sampled_from(["output/main.md", "./output//main.md", "plan/a.md", "../x", "output"])
TEXTS = st.text(st.sampled_from("ab\n\r|1 é"), max_size=12)
PIECES = st.text(st.sampled_from("ab\n"), max_size=2)
CALLS: st.SearchStrategy[tuple[str, dict[str, Json]]] = st.one_of(
    st.tuples(st.just("workspace.read_file"), st.fixed_dictionaries({"path": PATHS})),
    st.tuples(
        st.just("workspace.read_file"),
        st.fixed_dictionaries({"path": PATHS, "start_line": st.integers(1, 3), "line_count": st.integers(1, 2)}),
    ),
    st.tuples(
        st.just("workspace.read_file"),
        st.fixed_dictionaries({"path": PATHS, "start_char": st.integers(0, 3), "max_chars": st.integers(1, 5)}),
    ),
    st.tuples(
        st.just("workspace.write_file"),
        st.fixed_dictionaries({"path": PATHS, "content": TEXTS, "mode": st.sampled_from(["replace", "append"])}),
    ),
    st.tuples(
        st.just("workspace.apply_patch"),
        st.fixed_dictionaries(
            {"path": PATHS, "old_string": PIECES, "new_string": PIECES, "replace_all": st.booleans()}
        ),
    ),
    st.tuples(st.just("workspace.search_files"), st.fixed_dictionaries({"query": TEXTS})),
    st.tuples(st.just("another writer"), st.fixed_dictionaries({"path": st.just("output/main.md"), "content": TEXTS})),
)  # fmt: skip
SCRIPTS = st.lists(CALLS, max_size=14)


def play(script: list[tuple[str, dict[str, Json]]], *, partial: bool) -> Desk:
    desktop = desk({FILE: "a\nb\na"}, profile(patch_after_partial_read=partial))
    for name, arguments in script:
        if name == "another writer":
            desktop.put(arguments["path"], arguments["content"])
        else:
            desktop.send(name, arguments)
    return desktop


@settings(max_examples=100)
@given(SCRIPTS, st.booleans())
def test_the_state_is_rebuilt_from_stored_results_alone(
    script: list[tuple[str, dict[str, Json]]], partial: bool
) -> None:
    desktop = play(script, partial=partial)

    rebuilt = ReadState()
    for call in desktop.stored:
        rebuilt.observe(thawed(call.arguments), tool_result(thawed(call.result)), call.pre_sha256)

    assert rebuilt == desktop.reads


@settings(max_examples=100)
@given(SCRIPTS)
def test_what_is_known_stands_in_the_file_as_long_as_its_hash_does(script: list[tuple[str, dict[str, Json]]]) -> None:
    desktop = play(script, partial=True)

    for path, seen in desktop.reads.seen.items():
        assert not (seen.full and (seen.observed or seen.needs_full_read))
        if desktop.workspace.sha256(path) == seen.sha256:
            assert all(text in desktop.text(path) for text in seen.observed)


def test_a_whole_read_is_full_knowledge() -> None:
    desktop = desk({FILE: "a\nb"})
    desktop.call("workspace.read_file", path=FILE)

    assert desktop.reads.of(FILE) == Seen(sha256_text("a\nb"), full=True)


def test_parts_are_collected_while_the_file_stays() -> None:
    desktop = desk({FILE: "a\nb\nc"})
    desktop.call("workspace.read_file", path=FILE, line_count=1)
    desktop.call("workspace.read_file", path=FILE, start_char=2, max_chars=3)
    desktop.call("workspace.read_file", path=FILE, start_line=2, line_count=1)

    seen = desktop.reads.of(FILE)
    assert seen is not None
    assert seen.observed == ("a\n", "b\nc")


def test_a_part_of_a_changed_file_drops_what_was_known() -> None:
    desktop = desk({FILE: "a\nb"})
    desktop.call("workspace.read_file", path=FILE)
    desktop.put(FILE, "c\nd")
    desktop.call("workspace.read_file", path=FILE, line_count=1)

    assert desktop.reads.of(FILE) == Seen(sha256_text("c\nd"), full=False, observed=("c\n",))


def test_an_append_to_a_known_or_new_file_is_known() -> None:
    desktop = desk()
    for _ in range(2):
        desktop.call("workspace.write_file", path=FILE, content="x", mode="append")

    assert desktop.reads.of(FILE) == Seen(sha256_text("xx"), full=True)


def test_an_append_to_an_unknown_file_teaches_nothing() -> None:
    desktop = desk({FILE: "old"})
    desktop.call("workspace.write_file", path=FILE, content="x", mode="append")

    assert desktop.reads.of(FILE) is None


def test_an_append_to_a_file_that_another_changed_leaves_the_old_hash() -> None:
    desktop = desk({FILE: "a"})
    desktop.call("workspace.read_file", path=FILE)
    desktop.put(FILE, "b")
    desktop.call("workspace.write_file", path=FILE, content="x", mode="append")

    assert desktop.reads.of(FILE) == Seen(sha256_text("a"), full=True)
