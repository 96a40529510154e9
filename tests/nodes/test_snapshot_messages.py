"""A chat payload in canonical words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.jsontext import Json
from treadle.graph.messages import MediaPart, Message, NativePart, Part, Role, TextPart
from treadle.nodes.snapshot_messages import CONTENT_PART, MARKER, MARKER_KEY, messages_of, prompt_of, settings_of

SYSTEM = Message(Role.SYSTEM, (TextPart("Use the tools."),))
MARKED = {"role": "user", "content": "placeholder", "name": "x", MARKER_KEY: MARKER}


def told(*messages: Json) -> tuple[Message, ...]:
    """The messages after the system prompt, which stands first where nothing marks its place."""
    made = messages_of({"messages": list(messages)}, "Use the tools.")
    assert made[0] == SYSTEM
    return made[1:]


def parts(content: Json) -> tuple[Part, ...]:
    return told({"role": "user", "content": content})[0].parts


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("system", Role.SYSTEM),
        ("developer", Role.DEVELOPER),
        ("user", Role.USER),
        ("assistant", Role.ASSISTANT),
        (" Assistant ", Role.ASSISTANT),
        ("narrator", Role.USER),
        ("", Role.USER),
        (3, Role.USER),
        (None, Role.USER),
    ],
)
def test_roles_are_trimmed_and_an_unknown_one_is_the_users(role: Json, expected: Role) -> None:
    assert told({"role": role, "content": "Hi"}) == (Message(expected, (TextPart("Hi"),)),)


def test_a_message_without_a_role_is_the_users() -> None:
    assert told({"content": "Hi"})[0].role is Role.USER


@pytest.mark.parametrize("payload", [{"messages": "Hi"}, {"prompt": "Hi"}, {"messages": None, "prompt": "Hi"}])
def test_a_text_for_a_prompt_is_one_message_of_the_user(payload: dict[str, Json]) -> None:
    assert messages_of(payload, "Use the tools.") == (SYSTEM, Message(Role.USER, (TextPart("Hi"),)))


@pytest.mark.parametrize("payload", [{}, {"messages": 3}, {"messages": None}, {"prompt": []}, {"messages": {}}])
def test_other_shapes_are_no_prompt(payload: dict[str, Json]) -> None:
    assert prompt_of(payload) is None


def test_the_marked_message_is_replaced_in_its_place() -> None:
    first, last = {"role": "system", "content": "Setting"}, {"role": "user", "content": "Hi"}

    made = messages_of({"messages": [first, MARKED, last]}, "Use the tools.")

    assert made == (Message(Role.SYSTEM, (TextPart("Setting"),)), SYSTEM, Message(Role.USER, (TextPart("Hi"),)))


def test_without_a_marker_the_system_prompt_comes_first() -> None:
    made = messages_of({"messages": [{"role": "user", "content": "Hi"}]}, "Use the tools.")

    assert made == (SYSTEM, Message(Role.USER, (TextPart("Hi"),)))


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_a_prompt_that_the_host_put_in_is_not_put_in_twice(role: str) -> None:
    entries = [{"role": "user", "content": "Hi"}, {"role": role, "content": "Use the tools."}]

    made = messages_of({"messages": entries}, "Use the tools.")

    assert [message.text for message in made] == ["Hi", "Use the tools."]


def test_a_name_is_kept() -> None:
    assert told({"role": "user", "name": "Ben", "content": "Hi"})[0].name == "Ben"
    assert told({"role": "user", "name": None, "content": "Hi"})[0].name is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Hi", (TextPart("Hi"),)),
        ("", (TextPart(""),)),
        (None, ()),
        ([], ()),
        (3, (TextPart("3"),)),
        (True, (TextPart("true"),)),
        (2.5, (TextPart("2.5"),)),
        ({"a": "é"}, (TextPart('{"a":"é"}'),)),
        (["a", {"type": "text", "text": "b"}], (TextPart("a"), TextPart("b"))),
        ([{"type": "text"}], (NativePart(CONTENT_PART, b'{"type":"text"}'),)),
        ([{"type": "sticker", "n": 12345678901234567890}], (
            NativePart(CONTENT_PART, b'{"type":"sticker","n":12345678901234567890}'),
        )),
        ([7], (NativePart(CONTENT_PART, b"7"),)),
    ],
)  # fmt: skip
def test_content_is_text_or_kept_as_it_came(content: Json, expected: tuple[Part, ...]) -> None:
    assert parts(content) == expected


def test_a_message_without_content_has_no_parts() -> None:
    assert told({"role": "assistant"})[0].parts == ()


@pytest.mark.parametrize(
    ("part", "mime_type"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}, "image/png"),
        ({"type": "image_url", "image_url": {"url": "https://pictures.example/a"}}, "image/*"),
        ({"type": "image_url", "image_url": {"url": "data:,x"}}, "image/*"),
        ({"type": "image_url", "image_url": "https://pictures.example/a"}, "image/*"),
        ({"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}, "audio/wav"),
        ({"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AA=="}}, "video/mp4"),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,AA=="}}, "application/pdf"),
        ({"type": "file"}, "application/octet-stream"),
    ],
)
def test_media_keep_their_part_and_tell_their_type(part: dict[str, Json], mime_type: str) -> None:
    assert parts([part]) == (MediaPart(mime_type, part),)


def test_settings_are_the_payload_without_what_the_run_owns() -> None:
    payload: dict[str, Json] = {
        "messages": [], "prompt": "x", "tools": [], "tool_choice": "auto", "stream": True, "model": "m",
        "temperature": 0.5, "seed": 12345678901234567890, "chat_completion_source": "custom", "extra": {"a": None},
    }  # fmt: skip

    assert settings_of(payload) == {
        "chat_completion_source": "custom",
        "model": "m",
        "temperature": 0.5,
        "seed": 12345678901234567890,
        "extra": {"a": None},
        "stream": False,
    }


def test_settings_that_are_null_are_not_there() -> None:
    payload = {"chat_completion_source": None, "custom_include_headers": None, "temperature": None}

    assert settings_of(payload) == {"chat_completion_source": "openai", "stream": False}


CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "text", "image_url", "url"]), inner),
    max_leaves=8,
)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        dict[str, st.SearchStrategy[Json]](), optional={"role": st.text(), "name": CONTENT, "content": CONTENT}
    )
)


@given(ENTRIES)
def test_every_entry_is_one_message(entries: list[dict[str, Json]]) -> None:
    made = messages_of({"messages": entries}, "\0 the system prompt \0")

    assert len(made) == len(entries) + 1
