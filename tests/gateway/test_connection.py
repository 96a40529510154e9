"""What tells connections apart, and what of one may be shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treadle.gateway.connections.connection import Connection
from treadle.gateway.connections.secret import Secret
from treadle.gateway.connections.vertex import ServiceAccount, Vertex

from .words import KEY, connection

HERE = connection()


@pytest.mark.parametrize(
    "other",
    [
        replace(HERE, base_url="http://localhost:10/v1"),
        replace(HERE, secret_ref="work"),
        replace(HERE, model="other"),
        replace(HERE, source="openai"),
        replace(HERE, format="openai_responses"),
    ],
)
def test_the_key_changes_with_all_that_a_providers_memory_depends_on(other: Connection) -> None:
    assert other.key != HERE.key


def test_neither_key_nor_origin_depends_on_a_secrets_value_or_a_header() -> None:
    other = replace(HERE, api_key=Secret("another"), headers=(("x-a", Secret("b")),))

    assert (other.key, other.origin) == (HERE.key, HERE.origin)


def test_private_state_goes_back_to_the_same_source_address_and_model_whoever_asks() -> None:
    assert replace(HERE, secret_ref="work").origin == HERE.origin
    assert replace(HERE, model="other").origin != HERE.origin
    assert replace(HERE, base_url="http://localhost:10/v1").origin != HERE.origin


def test_what_responses_encrypted_goes_back_only_to_the_key_that_it_was_made_for() -> None:
    one = replace(HERE, format="openai_responses", secret_ref="one")

    assert replace(one, secret_ref="two").origin != one.origin


def test_no_secret_stands_in_a_repr() -> None:
    account = ServiceAccount("w@p.test", Secret(f"-----BEGIN PRIVATE KEY-----{KEY}"), "https://t.test", "p")
    shown = replace(
        HERE,
        base_url=f"https://h.test/v1?key={KEY}",
        headers=(("authorization", Secret(f"Bearer {KEY}")),),
        vertex=Vertex("full", account=account),
    )

    assert KEY not in repr(shown)
    assert KEY not in shown.scrub(f"{KEY} Bearer {KEY} {account.private_key.reveal()} ?key={KEY}")
    assert shown.endpoint == "https://h.test/v1"
