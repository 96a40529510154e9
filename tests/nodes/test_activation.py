"""Activated lore: what each entry is called, and which records can't be told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import InvalidData
from treadle.graph.jsontext import Json
from treadle.nodes.activation import POSITIONS, ActivatedEntry, activation


def entry(**fields: Json) -> dict[str, Json]:
    return {"world": "Eldoria", "uid": 1, "displayName": "Forest", "constant": False, "content": "Trees.", **fields}


def read(*entries: Json) -> tuple[ActivatedEntry, ...]:
    return activation({"timestampMs": 5, "trigger": "normal", "entries": list(entries)}).entries


def refs(*entries: Json) -> list[str]:
    return [one.ref for one in read(*entries)]


@pytest.mark.parametrize(
    ("uid", "kept"),
    [
        (0, "0"),
        (12, "12"),
        (-3, "-3"),
        (2**70, str(2**70)),
        (1.5, "1.5"),
        ("0", "0"),
        (" a ", " a "),
        ("", ""),
        (None, ""),
        (True, ""),
        ([1], ""),
        ({}, ""),
    ],
)
def test_a_text_uid_is_kept_and_a_number_becomes_its_digits(uid: Json, kept: str) -> None:
    assert read(entry(uid=uid))[0].uid == kept


@pytest.mark.parametrize(
    ("fields", "ref"),
    [
        ({}, "worldinfo:Eldoria#1"),
        ({"uid": 0}, "worldinfo:Eldoria#0"),
        ({"world": "山の本"}, "worldinfo:山の本#1"),
        ({"world": "a#b", "uid": "c d"}, "worldinfo:a#b#c d"),
        ({"world": ""}, "worldinfo:activated#0"),
        ({"world": None}, "worldinfo:activated#0"),
        ({"world": 7}, "worldinfo:activated#0"),
        ({"world": "  "}, "worldinfo:activated#0"),
        ({"uid": None}, "worldinfo:activated#0"),
        ({"uid": "  "}, "worldinfo:activated#0"),
        ({"world": "activated", "uid": 9}, "worldinfo:activated#0"),
        ({"world": "half \ud800"}, "worldinfo:activated#0"),
        ({"world": "two\nlines"}, "worldinfo:activated#0"),
        ({"uid": "end  "}, "worldinfo:Eldoria#end"),
    ],
)
def test_an_entry_is_referred_to_by_its_names_or_else_by_its_place(fields: dict[str, Json], ref: str) -> None:
    assert refs(entry(**fields)) == [ref]


def test_a_later_entry_of_the_same_names_is_referred_to_by_its_place() -> None:
    assert refs(entry(uid=0), entry(uid="0"), entry(world="Other", uid=0), entry(uid=0)) == [
        "worldinfo:Eldoria#0", "worldinfo:activated#1", "worldinfo:Other#0", "worldinfo:activated#3",
    ]  # fmt: skip


def test_a_book_called_activated_takes_no_place_of_another_entry() -> None:
    assert refs(entry(world="activated", uid=1), entry(world="")) == ["worldinfo:activated#0", "worldinfo:activated#1"]


@pytest.mark.parametrize(("number", "name"), list(enumerate(POSITIONS)))
def test_a_position_may_be_a_number_or_its_name(number: int, name: str) -> None:
    assert [one.position for one in read(entry(position=number), entry(uid=2, position=name))] == [name, name]


@pytest.mark.parametrize(
    ("position", "label"),
    [("new_kind", "new_kind"), (8, "8"), (-1, "-1"), (True, "true"), (1.5, "1.5"), ({"depth": 4}, '{"depth":4}')],
)
def test_an_unknown_position_is_shown_as_it_came(position: Json, label: str) -> None:
    found = read(entry(position=position))[0]

    assert found.position == position
    assert found.position_label == label


@pytest.mark.parametrize(
    ("fields", "label"),
    [({}, "Forest"), ({"displayName": ""}, "1"), ({"displayName": None}, "1"), ({"displayName": "a\n b"}, "a b")],
)
def test_the_label_is_the_name_on_one_line_or_else_the_uid(fields: dict[str, Json], label: str) -> None:
    assert read(entry(**fields))[0].label == label


def test_an_entry_of_nothing_but_a_text_is_an_entry() -> None:
    found = read({"content": ""})[0]

    assert (found.ref, found.world, found.uid, found.constant, found.position, found.content) == (
        "worldinfo:activated#0", "", "", False, None, "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "here.entries must be a list"),
        ("x", "here.entries must be a list"),
        ({}, "here.entries must be a list"),
        ({"entries": None}, "here.entries must be a list"),
        ({"entries": {}}, "here.entries must be a list"),
        ({"entries": [None]}, "here.entries[0] must be an object"),
        ({"entries": [entry(), "x"]}, "here.entries[1] must be an object"),
        ({"entries": [entry(content=None)]}, "here.entries[0].content must be a string"),
        ({"entries": [entry(), {"world": "w"}]}, "here.entries[1].content must be a string"),
        ({"entries": [entry(content=3)]}, "here.entries[0].content must be a string"),
        ({"entries": [entry(content=["a"])]}, "here.entries[0].content must be a string"),
    ],
)
def test_a_record_that_cannot_be_told_is_refused_by_its_place(value: Json, place: str) -> None:
    with pytest.raises(InvalidData) as caught:
        activation(value, "here")

    assert caught.value.error_code == "agent.invalid_worldinfo_activation_snapshot"
    assert caught.value.message.startswith(place)


NAMES: st.SearchStrategy[str] = st.sampled_from(
    ["", " ", "activated", "Eldoria", "a#1", "activated#1", "\ud800", "é "]
) | st.text(max_size=3)
JSON_VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
OPTIONAL: dict[str, st.SearchStrategy[Json]] = {
    "world": NAMES | JSON_VALUES,
    "uid": NAMES | st.integers(0, 3) | JSON_VALUES,
    "displayName": NAMES | JSON_VALUES,
    "constant": JSON_VALUES,
    "position": st.integers(-1, 9) | JSON_VALUES,
}
CONTENT: dict[str, st.SearchStrategy[Json]] = {"content": st.text(max_size=30)}
ENTRIES: st.SearchStrategy[list[dict[str, Json]]] = st.lists(
    st.fixed_dictionaries(CONTENT, optional=OPTIONAL), max_size=8
)


@given(ENTRIES)
def test_no_entry_is_lost_and_no_two_have_the_same_reference(entries: list[dict[str, Json]]) -> None:
    told = activation({"entries": entries})

    assert [one.content for one in told.entries] == [one["content"] for one in entries]
    assert len({one.ref for one in told.entries}) == len(entries)
    assert all(told.find(one.ref.strip()) is one for one in told.entries)


@given(JSON_VALUES | st.fixed_dictionaries({"entries": JSON_VALUES | st.lists(JSON_VALUES)}))
def test_whatever_the_record_is_it_is_told_or_refused(value: Json) -> None:
    try:
        activation(value)
    except InvalidData as refused:
        assert refused.error_code == "agent.invalid_worldinfo_activation_snapshot"
