"""Fingerprints of JSON values."""

from __future__ import annotations

from treadle.graph.canonical import canonical_sha256, fingerprint


def test_the_order_of_keys_makes_no_difference_and_the_order_of_items_does() -> None:
    assert canonical_sha256({"a": 1, "b": [1, 2]}) == canonical_sha256({"b": [1, 2], "a": 1.0})
    assert canonical_sha256([1, 2]) != canonical_sha256([2, 1])


def test_a_fingerprint_says_how_it_was_made() -> None:
    assert fingerprint({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_what_the_canonical_form_cannot_hold_has_a_fingerprint_too() -> None:
    assert canonical_sha256(2**70) != canonical_sha256(2**70 + 1)
    assert canonical_sha256("\ud800") != canonical_sha256("\ud801")
