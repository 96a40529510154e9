from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes.desk import Desk, desk
from tests.nodes.test_activation import ENTRIES, entry
from treadle.graph.errors import InvalidData, ToolRefused
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.messages import ToolResult
from treadle.nodes.tool import Bench
from treadle.nodes.tools import read_activated

READ = "worldinfo.read_activated"
REF = "worldinfo:Eldoria#1"


def lore(*entries: Json, **snapshot: Json) -> Desk:
    made = desk({})
    made.snapshot = {
        "worldInfoActivation": {"timestampMs": 1700000000000, "trigger": "normal", "entries": list(entries)},
        **snapshot,
    }
    return made


def contents(on: Desk, *entries: Json) -> ToolResult:
    return on.call(READ, entries=list(entries))


def test_without_arguments_there_is_an_index_without_texts() -> None:
    result = lore(
        entry(content="Old trees.", position=4, constant=True),
        entry(uid=0, displayName="", content="木"),
    ).call(READ)

    assert result.structured == {
        "mode": "index", "timestampMs": 1700000000000, "trigger": "normal", "totalEntries": 2,
        "entries": [
            {
                "world": "Eldoria", "uid": "1", "displayName": "Forest", "constant": True, "position": "depth",
                "totalChars": 10, "totalWords": 2, "ref": "worldinfo:Eldoria#1",
            },
            {
                "world": "Eldoria", "uid": "0", "displayName": "", "constant": False, "position": None,
                "totalChars": 1, "totalWords": 1, "ref": "worldinfo:Eldoria#0",
            },
        ],
    }  # fmt: skip
    head, *lines = result.content.split("\n")
    assert "2 in all" in head
    assert "worldinfo_read_activated with entries" in head
    assert lines == [
        "1. worldinfo:Eldoria#1 | Forest | world=Eldoria | chars=10 | words=2 | position=depth | constant",
        "2. worldinfo:Eldoria#0 | 0 | world=Eldoria | chars=1 | words=1",
    ]
    assert result.resource_refs == ("worldinfo:Eldoria#1", "worldinfo:Eldoria#0")


def test_entries_are_read_in_the_order_asked_for() -> None:
    on = lore(entry(content="Old trees.\nTall.", position="before"), entry(uid=2, displayName="River", content="Wet."))

    result = contents(on, {"ref": " worldinfo:Eldoria#2 "}, {"ref": REF, "start_char": 4, "max_chars": 6})

    assert result.structured["mode"] == "content"
    assert result.structured["totalEntries"] == 2
    assert result.structured["entries"] == [
        {
            "world": "Eldoria", "uid": "2", "displayName": "River", "constant": False, "position": None,
            "chars": 4, "words": 1, "totalChars": 4, "totalWords": 1, "startChar": 0, "endChar": 4,
            "truncated": False, "content": "Wet.", "ref": "worldinfo:Eldoria#2",
        },
        {
            "world": "Eldoria", "uid": "1", "displayName": "Forest", "constant": False, "position": "before",
            "chars": 6, "words": 1, "totalChars": 16, "totalWords": 3, "startChar": 4, "endChar": 10,
            "truncated": True, "content": "trees.", "ref": REF,
        },
    ]  # fmt: skip
    assert result.content.split("\n\n")[1:] == [
        "worldinfo:Eldoria#2 | River | world=Eldoria | chars 0-4 of 4 | words 1 of 1\nWet.",
        f"{REF} | Forest | world=Eldoria | chars 4-10 of 16 | words 1 of 3 | position=before | truncated\ntrees.",
    ]
    assert result.resource_refs == ("worldinfo:Eldoria#2", REF)


def test_the_same_entry_may_be_asked_for_twice() -> None:
    result = contents(lore(entry()), {"ref": REF}, {"ref": REF, "max_chars": 2})

    assert [one["content"] for one in result.structured["entries"]] == ["Trees.", "Tr"]


def test_an_entry_without_text_is_read() -> None:
    result = contents(lore(entry(content="")), {"ref": REF, "max_chars": 5})

    assert not result.is_error
    assert result.structured["entries"][0]["content"] == ""


def test_no_entry_is_a_success_that_says_so() -> None:
    result = lore().call(READ)

    assert not result.is_error
    assert "No lore entry was activated" in result.content
    assert result.structured["entries"] == []
    assert result.resource_refs == ()


@pytest.mark.parametrize("snapshot", [{}, {"worldInfoActivation": None}])
def test_a_prompt_without_a_record_tells_the_model_that_there_is_none(snapshot: Json) -> None:
    on = desk({})
    on.snapshot = snapshot

    assert on.call(READ).error_code == "worldinfo.activation_unavailable"
    assert contents(on, {"ref": REF}).error_code == "worldinfo.activation_unavailable"


UNFIT: list[tuple[Json, str]] = [
    (None, "object"),
    ("x", "object"),
    ({"entries": None}, "entries must be a list"),
    ({"entries": {}}, "entries must be a list"),
    ({"entries": "worldinfo:a#1"}, "entries must be a list"),
    ({"entries": []}, "at least 1 item"),
    ({"entries": [{"ref": REF}] * 21}, "1 to 20"),
    ({"refs": [REF]}, "refs is not known"),
    ({"entries": [{"ref": REF}], "limit": 2}, "limit is not known"),
    ({"entries": [REF]}, "entries[0] must be an object"),
    ({"entries": [None]}, "entries[0] must be an object"),
    ({"entries": [{}]}, "entries[0].ref is missing"),
    ({"entries": [{"ref": None}]}, "entries[0].ref must be a string"),
    ({"entries": [{"ref": 1}]}, "entries[0].ref must be a string"),
    ({"entries": [{"ref": " "}]}, "entries[0].ref must not be blank"),
    ({"entries": [{"ref": "\ud800"}]}, "lone surrogate"),
    ({"entries": [{"ref": REF}, {"ref": REF, "index": 1}]}, "entries[1].index is not known"),
    ({"entries": [{"ref": REF, "start_char": None}]}, "entries[0].start_char must be a whole number"),
    ({"entries": [{"ref": REF, "start_char": -1}]}, "entries[0].start_char must be a whole number"),
    ({"entries": [{"ref": REF, "start_char": 1.0}]}, "entries[0].start_char must be a whole number"),
    ({"entries": [{"ref": REF, "start_char": "1"}]}, "entries[0].start_char must be a whole number"),
    ({"entries": [{"ref": REF, "start_char": True}]}, "entries[0].start_char must be a whole number"),
    ({"entries": [{"ref": REF, "max_chars": None}]}, "entries[0].max_chars must be a whole number"),
    ({"entries": [{"ref": REF, "max_chars": 2.5}]}, "entries[0].max_chars must be a whole number"),
    ({"entries": [{"ref": REF, "max_chars": 0}]}, "entries[0].max_chars must be 1 to 8000"),
    ({"entries": [{"ref": REF, "max_chars": 8001}]}, "entries[0].max_chars must be 1 to 8000"),
]


@pytest.mark.parametrize(("arguments", "says"), UNFIT)
def test_arguments_that_do_not_fit_are_refused_by_their_place(arguments: Json, says: str) -> None:
    result = lore(entry()).send(READ, arguments)

    assert (result.is_error, result.error_code) == (True, "tool.invalid_arguments")
    assert says in result.content


@pytest.mark.parametrize(
    ("text", "item", "code", "says"),
    [
        ("abc", {"ref": "worldinfo:Eldoria#2"}, "worldinfo.entry_not_found", "worldinfo:Eldoria#2"),
        ("abc", {"ref": "worldinfo:eldoria#1"}, "worldinfo.entry_not_found", "without arguments"),
        ("abc", {"ref": REF, "start_char": 3}, "worldinfo.invalid_entry_range", "it has 3 characters"),
        ("", {"ref": REF, "start_char": 1}, "worldinfo.invalid_entry_range", "it is empty"),
        ("a" * 8001, {"ref": REF}, "worldinfo.invalid_entry_range", "max_chars"),
        ("a" * 8001, {"ref": REF, "start_char": 8000}, "worldinfo.invalid_entry_range", "max_chars"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, item: Json, code: str, says: str) -> None:
    result = contents(lore(entry(content=text)), item)

    assert (result.is_error, result.error_code) == (True, code)
    assert says in result.content


def test_the_longest_entry_is_read_whole_and_a_longer_one_in_parts() -> None:
    assert len(contents(lore(entry(content="木" * 8000)), {"ref": REF}).structured["entries"][0]["content"]) == 8000

    longer = lore(entry(content="a" * 8001))
    parts = contents(longer, {"ref": REF, "max_chars": 8000}, {"ref": REF, "start_char": 8000, "max_chars": 8000})

    assert [one["endChar"] for one in parts.structured["entries"]] == [8000, 8001]


def test_all_that_is_read_in_one_call_is_limited() -> None:
    on = lore(entry(content="a" * 8000), entry(uid=2, content="b" * 4000), entry(uid=3, content="c"))
    two = [{"ref": REF}, {"ref": REF}, {"ref": "worldinfo:Eldoria#2"}]

    assert not contents(on, *two).is_error

    result = contents(on, *two, {"ref": "worldinfo:Eldoria#3"})

    assert result.error_code == "worldinfo.read_too_large"
    assert "20001" in result.content


@pytest.mark.parametrize("held", [[], "x", {}, {"entries": [{"world": "w"}]}])
def test_a_damaged_record_ends_the_run(held: Json) -> None:
    with pytest.raises(InvalidData) as caught:
        lore(worldInfoActivation=held).call(READ)

    assert caught.value.error_code == "agent.invalid_worldinfo_activation_snapshot"
    assert "promptSnapshot.worldInfoActivation.entries" in caught.value.message


def test_a_damaged_prompt_snapshot_ends_the_run() -> None:
    def damaged() -> Json:
        raise InvalidData("input/prompt_snapshot.json is not JSON")

    on = desk({})
    for snapshot in (damaged, list[Json]):
        with pytest.raises(InvalidData) as caught:
            read_activated.run({}, Bench(on.workspace, on.profile, on.reads, snapshot=snapshot))

        assert caught.value.error_code == "agent.invalid_prompt_snapshot_file"


def test_bad_arguments_are_told_before_the_snapshot_is_read() -> None:
    with pytest.raises(ToolRefused):
        lore(worldInfoActivation=[]).outcome(READ, {"entries": None})


@settings(max_examples=60)
@given(ENTRIES)
def test_each_reference_of_the_index_reads_the_text_of_its_own_entry(entries: list[dict[str, Any]]) -> None:
    on = lore(*entries)

    index = on.call(READ)

    refs = [one["ref"] for one in index.structured["entries"]]
    assert len(set(refs)) == len(entries)
    assert index.content.count("\n") == len(entries)
    for ref, one in zip(refs, entries, strict=True):
        read = contents(on, {"ref": ref})
        assert read.structured["entries"][0]["content"] == one["content"]
        assert loads(dumps(read.to_json())) == read.to_json()


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just(REF),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["entries", "ref", "start_char", "max_chars", "x"]), inner)
    ),
    max_leaves=8,
)


@given(ODD | st.fixed_dictionaries({"entries": ODD | st.lists(ODD, max_size=3)}))
def test_whatever_the_arguments_are_the_model_gets_an_answer(arguments: Json) -> None:
    result = lore(entry()).send(READ, arguments)

    assert result.content
