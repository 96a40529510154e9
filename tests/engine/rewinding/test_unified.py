"""Unified diffs as other programs take them: `git apply` and `patch` turn the old text into the new one with them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from treadle.engine.rewinding.unified import TextDiff, text_diff

Text = str | None
Pair = tuple[Text, Text]
Apply = Callable[[Path, bytes], None]

ENDS = st.sampled_from(["", "\n"])
LINES = st.sampled_from(
    ["", "a", "b", "c", "tide", "\u2028", "naïve 🌊", "x\r", "\r", "\x0b\x0c", "-- a", "++ b", "@@ -1 +1 @@", "\\ No"]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    return "\n".join(draw(st.lists(LINES, max_size=12))) + draw(ENDS)


@st.composite
def edited(draw: st.DrawFn) -> Pair:
    """A text, and the same with some lines changed."""
    before = draw(st.lists(LINES, min_size=1, max_size=30))
    after = list(before)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(after)))
        after[at : at + draw(st.integers(0, 2))] = draw(st.lists(LINES, max_size=2))
    return "\n".join(before) + draw(ENDS), "\n".join(after) + draw(ENDS)


ANY = st.none() | texts() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
PAIRS = st.lists(st.tuples(ANY, ANY) | edited(), min_size=1, max_size=12)


def git_apply(folder: Path, diff: bytes) -> None:
    apart = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}  # whatever repository we are in
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-p1"]
    subprocess.run(command, cwd=folder, input=diff, check=True, env=apart, capture_output=True)


def patch(folder: Path, diff: bytes) -> None:
    subprocess.run(["patch", "-p1", "--binary", "-s"], cwd=folder, input=diff, check=True, capture_output=True)


PROGRAMS = [
    pytest.param(
        run, id=name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"there is no {name} on this machine")
    )
    for name, run in (("git", git_apply), ("patch", patch))
]


@pytest.mark.parametrize("apply", PROGRAMS)
@given(pairs=PAIRS)
@settings(max_examples=15, deadline=None)
@example(
    pairs=[(None, ""), ("", None), (None, "a"), ("a\n", None), ("", "a"), ("a\n", ""), ("a", "a\n"), ("a\r\n", "a\n")]
)
def test_a_program_that_applies_diffs_makes_the_new_text_of_the_old_one(apply: Apply, pairs: list[Pair]) -> None:
    assert _applied(apply, pairs) == [after for _, after in pairs]


@pytest.mark.slow
@pytest.mark.parametrize("apply", PROGRAMS)
@given(pairs=PAIRS)
@settings(max_examples=1000, deadline=None)
def test_a_program_that_applies_diffs_always_makes_the_new_text_of_the_old_one(apply: Apply, pairs: list[Pair]) -> None:
    assert _applied(apply, pairs) == [after for _, after in pairs]


@pytest.mark.parametrize("apply", PROGRAMS)
@pytest.mark.parametrize("path", ["output/a chapter.md", "output/Kapitel-é-🌊.md", "output/deep/er/x.md"])
def test_names_with_spaces_and_letters_of_all_kinds_are_found(apply: Apply, path: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_bytes(b"old\n")
    apply(tmp_path, text_diff(path, "old\n", "new\n").text.encode())

    assert (tmp_path / path).read_bytes() == b"new\n"


def test_only_what_changed_is_shown_with_three_lines_around_it() -> None:
    before = "".join(f"{number}\n" for number in range(1, 21))
    diff = text_diff("output/main.md", before, before.replace("10\n", "ten\n"))

    assert diff == TextDiff(
        "diff --git a/output/main.md b/output/main.md\n--- a/output/main.md\n+++ b/output/main.md\n"
        "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_a_missing_newline_at_the_end_is_told() -> None:
    assert text_diff("a", "x", "x\n").text.splitlines()[3:] == [
        "@@ -1 +1 @@",
        "-x",
        "\\ No newline at end of file",
        "+x",
    ]


def test_the_same_text_has_no_diff() -> None:
    assert text_diff("a", "x\n", "x\n") == text_diff("a", None, None) == TextDiff("")


UNIQUE = [f"{number:05x}\n" for number in range(262_144 // 6)]
HARD: dict[str, tuple[Sequence[str], Sequence[str], bool]] = {
    "every other line": (UNIQUE, [line if at % 2 else f"z{line[1:]}" for at, line in enumerate(UNIQUE)], False),
    "in reverse": (UNIQUE, UNIQUE[::-1], False),
    "two letters": (random.Random(1).choices("ab", k=131_072), random.Random(2).choices("ab", k=131_072), True),
    "stretches": (
        [f"u{at}" if at % 200 == 0 else random.Random(at).choice("ab") for at in range(120_000)],
        [f"u{at}" if at % 200 == 0 else random.Random(-at - 9).choice("ab") for at in range(120_000)],
        True,
    ),
}


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine")
@pytest.mark.timeout(20)  # far above what it takes: difflib alone would not end in minutes
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "stretches" else pytest.mark.slow) for kind in HARD]
)
def test_the_biggest_text_that_can_be_read_is_compared_in_bounded_time_and_says_if_coarsely(kind: str) -> None:
    before, after, coarse = HARD[kind]
    end = "" if before[0].endswith("\n") else "\n"
    old, new = ("".join(line + end for line in lines) for lines in (before, after))
    diff = text_diff("output/main.md", old, new)

    assert diff.coarse is coarse
    assert _applied(git_apply, [(old, new)]) == [new]


def _applied(apply: Apply, pairs: list[Pair]) -> list[Text]:
    """What the program makes of the old texts; all pairs at once, as starting it is what takes long."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        files = [folder / "output" / f"{place}.md" for place in range(len(pairs))]
        files[0].parent.mkdir()
        (files[0].parent / "stays").touch()  # or git removes the folder with its last file
        for file, (before, _) in zip(files, pairs, strict=True):
            if before is not None:
                file.write_bytes(before.encode())
        diffs = [text_diff(f"output/{place}.md", *pair).text for place, pair in enumerate(pairs)]
        if any(diffs):
            apply(folder, "".join(diffs).encode())
        return [file.read_bytes().decode() if file.exists() else None for file in files]
