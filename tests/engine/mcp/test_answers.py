"""What servers answer reaches the model as text within bounds; all else is named."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.engine.mcp.answers import ERROR_CHARS, MOST_CHARS, answer_of
from treadle.graph.jsontext import Json

BLOCKS = st.fixed_dictionaries(
    {"type": st.one_of(st.sampled_from(["image", "audio", "resource", "resource_link", "other"]), st.none())},
    optional={"data": st.text(), "mimeType": st.one_of(st.text(), st.none()), "uri": st.text(), "resource": st.none()},
)


def told(*blocks: Json, **more: Json) -> str:
    return answer_of({"content": list(blocks), **more}).text


def test_texts_are_joined_and_a_resource_that_is_text_stands_under_its_address() -> None:
    resource = {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "fog"}}

    assert told({"type": "text", "text": "one"}, {"type": "text", "text": "two"}, resource) == (
        "one\n\ntwo\n\nfile:///a.txt:\nfog"
    )


def test_what_is_no_text_is_named_with_its_kind_and_size() -> None:
    assert (
        told({"type": "image", "mimeType": "image/png", "data": "iVBORw=="})
        == "(image is left out: image/png, 4 bytes)"
    )
    assert told({"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}) == "(audio is left out: audio/wav, 3 bytes)"
    blob = {"type": "resource", "resource": {"uri": "file:///a.bin", "mimeType": "x/y", "blob": "AAA="}}
    assert told(blob) == "(resource file:///a.bin is left out: x/y, 2 bytes)"
    assert (
        told({"type": "resource_link", "uri": "file:///b"}) == "(a link to the resource file:///b, which is not read)"
    )
    assert told({"type": "hologram"}) == "(a part of kind 'hologram' is left out)"


def test_the_structured_part_is_kept_and_speaks_where_there_is_no_text() -> None:
    answer = answer_of({"content": [], "structuredContent": {"total": 3}})

    assert (answer.text, answer.structured, answer.is_error) == ('{"total":3}', {"total": 3}, False)
    assert told() == "(the tool answered with nothing)"


def test_what_is_too_long_is_cut_and_says_so() -> None:
    cut = told({"type": "text", "text": "x" * (MOST_CHARS + 5)})
    left = answer_of({"content": [{"type": "text", "text": "short"}], "structuredContent": {"a": "x" * MOST_CHARS}})
    fault = told({"type": "text", "text": "x" * MOST_CHARS}, isError=True)

    assert cut == "x" * MOST_CHARS + "\n\n(cut: 5 more characters are not shown)"
    assert left.structured is None
    assert left.text.startswith("short\n\n(the structured part is left out: 80008 bytes")
    assert len(fault) < ERROR_CHARS + 100


@given(st.lists(BLOCKS, max_size=5))
def test_no_block_however_odd_is_a_fault_of_ours(blocks: list[Json]) -> None:
    assert told(*blocks)
