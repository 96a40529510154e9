"""A start request from its JSON."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import InvalidInput
from treadle.graph.identity import ChatRef
from treadle.graph.jsontext import Json, dumps, loads
from treadle.nodes.start_request import StartRequest, start_request

CHAT = {"kind": "group", "chatId": "7"}
WHOLE: dict[str, Json] = {
    "chatRef": {"kind": "character", "characterId": "Anna", "fileName": "Anna - 1"},
    "stableChatId": " stable ",
    "generationType": " swipe ",
    "profile": {"id": "mine"},
    "profileId": " mine ",
    "promptSnapshot": {"messages": "hi"},
    "generationIntent": {"source": "button"},
    "presentation": "background",
    "options": {"presentation": "foreground", "stream": False},
    "persistBaseStateId": "run_0",
    "frozenRunInputSnapshot": {"schemaVersion": 1},
    "runId": "run_1",
}


def test_every_field_is_read_under_its_camel_case_name() -> None:
    assert start_request(WHOLE) == StartRequest(
        chat_ref=ChatRef("character", character_id="Anna", file_name="Anna - 1"),
        stable_chat_id="stable",
        generation_type="swipe",
        profile={"id": "mine"},
        profile_id="mine",
        prompt_snapshot={"messages": "hi"},
        generation_intent={"source": "button"},
        presentation="background",
        options={"presentation": "foreground", "stream": False},
        persist_base_state_id="run_0",
        frozen_run_input_snapshot={"schemaVersion": 1},
        run_id="run_1",
    )


def test_only_the_chat_is_needed_to_read_a_request() -> None:
    assert start_request({"chatRef": CHAT}) == StartRequest(ChatRef("group", chat_id="7"))


@pytest.mark.parametrize("field", sorted(set(WHOLE) - {"chatRef"}))
def test_null_is_the_same_as_absent(field: str) -> None:
    assert start_request({"chatRef": CHAT, field: None}) == start_request({"chatRef": CHAT})


@pytest.mark.parametrize("field", ["stableChatId", "profileId", "runId"])
def test_a_blank_name_is_the_same_as_absent(field: str) -> None:
    assert start_request({"chatRef": CHAT, field: "  "}) == start_request({"chatRef": CHAT})


def test_unknown_fields_and_reserved_ones_are_ignored() -> None:
    more: dict[str, Json] = {"workspaceMode": "resume-run", "resumeRunId": "run_9", "prompt_snapshot": {}, "x": 1}

    assert start_request({"chatRef": CHAT, **more}) == start_request({"chatRef": CHAT})


def test_the_stable_id_has_an_alias_that_yields_to_the_name() -> None:
    assert start_request({"chatRef": CHAT, "stableId": " a "}).stable_chat_id == "a"
    assert start_request({"chatRef": CHAT, "stableId": "a", "stableChatId": "b"}).stable_chat_id == "b"


def test_the_options_presentation_counts_where_the_request_has_none() -> None:
    assert start_request({"chatRef": CHAT, "options": {"presentation": "background"}}).presentation == "background"
    assert start_request(WHOLE).presentation == "background"


def test_a_blank_persist_base_is_kept_for_the_checks_to_refuse() -> None:
    assert start_request({"chatRef": CHAT, "persistBaseStateId": " "}).persist_base_state_id == " "


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"chatRef": None}, "agent.invalid_chat_ref"),
        ({"chatRef": {"kind": "group", "chat_id": "7"}}, "agent.invalid_chat_ref"),
        ({"options": []}, "agent.options_invalid"),
        ({"options": "fast"}, "agent.options_invalid"),
        ({"options": {"autoCommit": False}}, "agent.auto_commit_removed"),
        ({"options": {"autoCommit": None}}, "agent.auto_commit_removed"),
        ({"options": {"presentation": "hidden"}}, "agent.presentation_invalid"),
        ({"presentation": "hidden"}, "agent.presentation_invalid"),
        ({"presentation": 3}, "agent.presentation_invalid"),
        ({"generationType": 3}, "agent.invalid_generation_type"),
        ({"stableChatId": 3}, "agent.validation_error"),
        ({"profileId": {}}, "agent.validation_error"),
        ({"runId": 3}, "agent.validation_error"),
        ({"persistBaseStateId": 3}, "agent.validation_error"),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused(changes: dict[str, Json], code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        start_request({"chatRef": CHAT, **changes})

    assert caught.value.error_code == code


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_a_request_that_is_no_object_is_refused(value: Json) -> None:
    with pytest.raises(InvalidInput, match="JSON object"):
        start_request(value)


def test_the_written_form_leaves_out_the_run_id_and_what_is_none() -> None:
    assert start_request({"chatRef": CHAT, "runId": "run_1"}).to_json() == {"chatRef": CHAT, "generationType": "normal"}
    assert set(start_request(WHOLE).to_json()) == set(WHOLE) - {"runId"}


VALUES = st.none() | st.text(min_size=1).map(lambda text: f"x{text}x") | st.integers()
REQUESTS = st.fixed_dictionaries(
    {"chatRef": st.just(CHAT)},
    optional={
        "stableChatId": st.text(),
        "generationType": st.text(),
        "profileId": st.text(),
        "promptSnapshot": st.dictionaries(st.text(), VALUES),
        "generationIntent": VALUES,
        "presentation": st.sampled_from(["foreground", "background"]),
        "options": st.dictionaries(st.text(), VALUES).filter(lambda options: not {"presentation"} & set(options)),
        "runId": st.text(),
    },
)


@given(REQUESTS)
def test_a_request_is_read_back_from_what_it_writes(given_json: dict[str, Json]) -> None:
    request = start_request(given_json)

    assert start_request(loads(dumps(request.to_json()))) == replace(request, run_id=None)
