"""What the command line says of the model goes into the payload, and never silently over what stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treadle.graph.errors import InvalidInput, NotFound
from treadle.graph.identity import ChatRef
from treadle.graph.jsonc import read
from treadle.host.profile_starter import starter
from treadle.host.starting import ModelChoice, start_request, with_model

URL = "http://127.0.0.1:8080/v1"


def snapshot(**payload: object) -> dict[str, Any]:
    return {"chatCompletionPayload": {"messages": [], **payload}, "contextPolicy": {}}


def test_the_choice_is_put_into_the_payload() -> None:
    chosen = with_model(snapshot(temperature=1), ModelChoice(URL, "m", "KEY"))

    assert chosen["chatCompletionPayload"] == {
        "messages": [], "temperature": 1, "chat_completion_source": "custom", "custom_url": URL, "model": "m",
        "secret_id": "env:KEY",
    }  # fmt: skip


def test_the_snapshot_that_was_given_stays_as_it_is() -> None:
    given = snapshot()

    with_model(given, ModelChoice(URL, "m"))

    assert given == snapshot()


def test_a_payload_that_is_the_snapshot_itself_is_found() -> None:
    chosen = with_model({"messages": []}, ModelChoice(URL, "m"))

    assert chosen["custom_url"] == URL


def test_what_the_snapshot_says_alike_is_no_conflict() -> None:
    given = snapshot(chat_completion_source="custom", custom_url=URL, model="m")

    assert with_model(given, ModelChoice(URL, "m")) == given


def test_a_snapshot_may_name_its_model_alone() -> None:
    given = snapshot(chat_completion_source="openai", model="m")

    assert with_model(given, ModelChoice()) == given


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"model": "theirs"}, "the snapshot says model 'theirs', --model says 'm'"),
        ({"custom_url": "http://other/v1"}, "--base-url says"),
        ({"chat_completion_source": "openai"}, "the snapshot says chat_completion_source 'openai'"),
    ],
)
def test_a_contradiction_names_both_sides(said: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput, match="add --yes") as refused:
        with_model(snapshot(**said), ModelChoice(URL, "m"))

    assert words in refused.value.message


def test_overruling_takes_the_command_lines_word() -> None:
    chosen = with_model(snapshot(model="theirs"), ModelChoice(URL, "m"), overrule=True)

    assert chosen["chatCompletionPayload"]["model"] == "m"


@pytest.mark.parametrize(("choice", "option"), [(ModelChoice(URL), "--model"), (ModelChoice(None, "m"), "--base-url")])
def test_what_nobody_names_is_asked_for(choice: ModelChoice, option: str) -> None:
    with pytest.raises(InvalidInput, match=f"with {option}"):
        with_model(snapshot(), choice)


def request(chat: Path, **more: Any) -> dict[str, Any]:
    ref = ChatRef("character", character_id=chat.parent.name, file_name=chat.stem)
    return start_request(chat=chat, ref=ref, snapshot=snapshot(), choice=ModelChoice(URL, "m"), **more)


def test_the_intent_keeps_where_the_chat_is(tmp_path: Path) -> None:
    intent = request(tmp_path / "c.jsonl")["generationIntent"]

    assert intent == {
        "source": "treadle-cli", "generationType": "normal", "chatCompletionSource": "custom", "model": "m",
        "chatFile": str(tmp_path / "c.jsonl"),
    }  # fmt: skip


def test_what_was_not_said_is_not_in_the_request(tmp_path: Path) -> None:
    assert set(request(tmp_path / "c.jsonl")) == {"chatRef", "promptSnapshot", "generationIntent", "profileId"}


def test_a_profile_file_goes_along_as_its_document(tmp_path: Path) -> None:
    (tmp_path / "p.jsonc").write_text(starter("mine"))

    asked = request(tmp_path / "c.jsonl", profile=str(tmp_path / "p.jsonc"))
    assert asked["profile"] == read(starter("mine")).value
    assert "profileId" not in asked


def test_a_profile_file_is_refused_with_its_line_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{\n"id": "mine"}')

    with pytest.raises(InvalidInput, match=r"p\.json, line 1: the profile's \$\.schemaVersion"):
        request(tmp_path / "c.jsonl", profile=str(tmp_path / "p.json"))


def test_a_name_is_an_id_and_anything_else_a_file(tmp_path: Path) -> None:
    assert request(tmp_path / "c.jsonl", profile="editor")["profileId"] == "editor"
    with pytest.raises(NotFound, match=r"no profile file editor\.json; an id is of a-z 0-9 _ -"):
        request(tmp_path / "c.jsonl", profile="editor.json")


def test_a_stored_connection_takes_the_place_of_server_and_model() -> None:
    chosen = with_model(snapshot(chat_completion_source="openai", model="m"), ModelChoice(connection="work"))
    other = with_model(snapshot(), ModelChoice(model="faster", connection="work"))

    assert chosen["chatCompletionPayload"]["llm_connection"] == "work"
    assert other["chatCompletionPayload"]["llm_connection"] == {"id": "work", "model": "faster"}


def test_a_snapshot_may_name_a_stored_connection_alone() -> None:
    assert with_model(snapshot(llm_connection="work"), ModelChoice()) == snapshot(llm_connection="work")


def test_a_stored_connection_beside_another_server_is_a_contradiction() -> None:
    with pytest.raises(InvalidInput, match="leave --base-url and --api-key-env out"):
        ModelChoice(URL, connection="work").check()
    with pytest.raises(InvalidInput, match="the snapshot says llm_connection 'work', --base-url and --model something"):
        with_model(snapshot(llm_connection="work"), ModelChoice(URL, "m"))
    with pytest.raises(InvalidInput, match="the snapshot says llm_connection 'work', --connection says 'home'"):
        with_model(snapshot(llm_connection="work"), ModelChoice(connection="home"))

    overruled = with_model(snapshot(llm_connection="work"), ModelChoice(URL, "m"), overrule=True)
    assert "llm_connection" not in overruled["chatCompletionPayload"]
