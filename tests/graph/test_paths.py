"""Paths inside a workspace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import ToolRefused
from treadle.graph.paths import ROOTS, WorkspacePath, is_visible, is_writable, parse, root_of

NAMES = st.from_regex(r"[a-z0-9_-]{1,12}(\.md)?", fullmatch=True).filter(
    lambda name: name.split(".")[0] not in ("con", "prn", "aux", "nul") and not name.startswith(("com", "lpt"))
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("output/main.md", "output/main.md"),
        ("a\\b", "a/b"),
        ("output/./main.md", "output/main.md"),
        ("output//main.md", "output/main.md"),
        ("output/", "output"),
        ("./output/main.md", "output/main.md"),
        ("output/é 日本 🙂.md", "output/é 日本 🙂.md"),
        ("output/.hidden.md", "output/.hidden.md"),
        ("output/%2e%2e/x.md", "output/%2e%2e/x.md"),
        ("output/a..b.md", "output/a..b.md"),
        ("~/x", "~/x"),
        ("output/" + "x" * 255, "output/" + "x" * 255),
    ],
)
def test_a_path_has_one_spelling(text: str, expected: str) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("output/a\0.md", "NUL"),
        ("/etc/passwd", "is absolute"),
        ("\\\\srv\\share\\x", "is absolute"),
        ("//srv/share/x", "is absolute"),
        ("C:\\x", "drive prefix"),
        ("C:x", "drive prefix"),
        ("c:output/a", "drive prefix"),
        ("..", "leaves the workspace"),
        ("output/../../x", "leaves the workspace"),
        ("output\\..\\x", "leaves the workspace"),
        (".", "names no file"),
        ("./.", "names no file"),
        ("output/con", "keep for devices"),
        ("output/NUL.txt", "keep for devices"),
        ("output/a?b", "not every system can hold"),
        ("output/a\nb", "not every system can hold"),
        ("output/a.", "ends in a space or a dot"),
        ("output/a /b", "ends in a space or a dot"),
        ("output/\ud800", "half of a character"),
        ("output/" + "é" * 128, "longer than 255 bytes"),
    ],
)
def test_a_path_that_is_none_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ToolRefused, match=reason) as caught:
        parse(text)

    assert caught.value.code == "workspace.invalid_path"


@given(st.text())
def test_what_is_accepted_stays_inside_and_parses_to_itself(text: str) -> None:
    try:
        path = parse(text)
    except ToolRefused:
        return

    assert parse(path) == path
    assert not {"", ".", ".."} & set(path.split("/"))
    assert "\\" not in path
    path.encode()


@given(st.lists(NAMES, min_size=1, max_size=6))
def test_plain_names_make_a_path_however_they_are_joined(names: list[str]) -> None:
    assert parse("\\./".join(names)) == "/".join(names)
    assert root_of(parse("/".join(names))) == names[0]


@pytest.mark.parametrize(
    ("path", "visible", "writable"),
    [
        ("output", True, False),
        ("output/main.md", True, True),
        ("output/a/b", True, True),
        ("output_extra/x", False, False),
        ("output2", False, False),
        ("Output/x", False, False),
        ("events.jsonl", False, False),
        ("input/prompt_snapshot.json", False, False),
    ],
)
def test_roots_are_matched_by_whole_segments(path: str, visible: bool, writable: bool) -> None:
    assert is_visible(WorkspacePath(path), ROOTS) is visible
    assert is_writable(WorkspacePath(path), ROOTS) is writable


def test_what_is_visible_need_not_be_writable() -> None:
    path = parse("plan/next.md")

    assert is_visible(path, ("plan",))
    assert not is_writable(path, ("output",))
