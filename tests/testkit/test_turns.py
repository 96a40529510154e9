"""A turn says how it ends, and is written in one line."""

from __future__ import annotations

from treadle.testkit.replies import call
from treadle.testkit.turns import Turn, Usage, says


def test_a_turn_ends_as_it_says_else_by_whether_it_calls() -> None:
    ends = [says("a").end, says("a", call("workspace.finish")).end, says("a", finish="length").end]

    assert ends == ["stop", "tool_calls", "length"]


def test_says_takes_text_calls_and_further_keys_of_the_answer() -> None:
    made = call("workspace.finish")

    turn = says("Done.", made, reasoning="", usage=Usage(1, 2), blocks=(b"{}",), service_tier="standard")

    assert turn == Turn("Done.", "", (made,), None, Usage(1, 2), (b"{}",), {"service_tier": "standard"})


def test_delay_and_fault_are_kept_beside_what_is_said() -> None:
    turn = says("late").after(3).broken("truncate")

    assert (turn.text, turn.delay, turn.fault) == ("late", 3, "truncate")
