"""Each known trap has a test that carries its number."""

from __future__ import annotations

from .traps import TRAPS, marked


def test_the_traps_are_numbered_without_a_gap() -> None:
    assert list(TRAPS) == list(range(1, 69))


def test_every_trap_has_a_test_and_no_test_a_number_that_is_none() -> None:
    assert sorted(marked()) == sorted(TRAPS)
