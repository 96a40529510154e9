"""What a person at a terminal sees of a call: enough to judge it, and nothing that could deceive."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.jsontext import Json
from treadle.host.approving import described
from treadle.views import PendingApproval


def call(arguments: Json, *, call_id: str = "c1") -> PendingApproval:
    return PendingApproval("run_1", 2, call_id, "workspace.write_file", arguments, "waiting")


def test_the_path_stands_first_and_texts_stand_in_lines_of_their_own() -> None:
    lines = described(call({"mode": "append", "content": "One.\nTwo.", "path": "output/main.md", "n": 3}))

    assert lines == [
        "workspace.write_file (call c1, round 2) asks to run with:",
        "  path: output/main.md",
        "  mode: append",
        "  content:",
        "    One.",
        "    Two.",
        "  n: 3",
    ]


def test_what_is_cut_is_counted() -> None:
    long, many = "x" * 1300, "\n".join(map(str, range(20)))

    assert described(call({"content": long}))[-2:] == ["    " + "x" * 1200, "    … and 100 more characters"]
    assert described(call({"content": many}))[-2:] == ["    11", f"    … and {len(many) - 25} more characters"]


def test_a_text_that_would_be_published_stands_below_the_arguments() -> None:
    lines = described(call({"path": "output/main.md"}), "The lamp.\n\x1b[2JNobody rose.")

    assert lines[1:] == ["  path: output/main.md", "  the text:", "    The lamp.", "    \\x1b[2JNobody rose."]


def test_arguments_that_are_no_object_are_shown_as_they_are() -> None:
    assert described(call([1, "two"]))[1:] == ['  arguments: [1, "two"]']


@given(st.text(), st.text(), st.text())
def test_nothing_that_moves_the_cursor_or_hides_text_gets_to_the_terminal(key: str, value: str, call_id: str) -> None:
    shown = "".join(described(call({key: value, "\x1b[2J": ["\u202e", value]}, call_id=call_id)))

    assert all(letter.isprintable() or letter == "\t" for letter in shown)
