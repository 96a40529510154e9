"""Secrets do not show themselves, and are taken out of what others wrote."""

from __future__ import annotations

from treadle.gateway.connections.secret import Secret, scrub

from .words import KEY, connect, connection


def test_a_secret_is_masked_wherever_it_is_printed() -> None:
    shown = f"{Secret(KEY)} {Secret(KEY)!r} {connection()!r}"

    assert KEY not in shown


def test_header_values_and_the_query_of_the_base_are_masked_too() -> None:
    made = connect(custom_include_headers={"X-Org": "org-canary"}, custom_url="http://h/v1?key=query-canary")

    assert "canary" not in repr(made)
    assert "canary" not in made.endpoint


def test_secrets_and_url_queries_are_taken_out_of_text() -> None:
    text = f"Incorrect API key: {KEY}. See https://example.test/docs?key=1#top for more"

    assert scrub(text, [Secret(KEY)]) == "Incorrect API key: ***. See https://example.test/docs for more"


def test_a_secret_is_taken_out_as_json_spells_it_too() -> None:
    assert scrub('{"message":"no: a\\"bc\\\\d"}', [Secret('a"bc\\d')]) == '{"message":"no: ***"}'


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert scrub("abcdef", [Secret("abcd"), Secret("abcdef")]) == "***"


def test_values_too_short_to_be_secrets_leave_text_whole() -> None:
    assert scrub("1 on 1", [Secret("1"), Secret("on")]) == "1 on 1"


def test_a_header_with_a_scheme_hides_its_credential_alone_too() -> None:
    made = connect(custom_include_headers="Authorization: Bearer tok-canary")

    assert made.scrub("bad token tok-canary") == "bad token ***"
