"""The frozen run input: what it must hold, and how it is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.nodes.frozen_input import frozen_input

FROZEN: dict[str, Json] = {
    "schemaVersion": 1,
    "kind": "tauritavern.agentFrozenRunInputSnapshot",
    "generationType": "normal",
    "promptInputs": {},
    "worldInfoActivation": {},
    "macroContext": {},
}
SNAKE: dict[str, Json] = {
    "schema_version": 1, "kind": FROZEN["kind"], "generation_type": "normal", "prompt_inputs": {"messages": []},
    "world_info_activation": {"entries": []}, "macro_context": {"names": {}},
}  # fmt: skip
GONE = object()


def refusal(value: Json, generation_type: str = "normal") -> tuple[str, str]:
    with pytest.raises(InvalidInput) as caught:
        frozen_input(value, generation_type)
    return caught.value.error_code.partition(".")[2].removeprefix("frozen_run_input_"), caught.value.message


def changed(key: str, value: object) -> dict[str, Json]:
    return {name: item for name, item in {**FROZEN, key: value}.items() if item is not GONE}


ODD: tuple[object, ...] = (GONE, None, list[Json](), "x", 3, False)
UNFIT: list[tuple[str, object, str]] = [
    ("schemaVersion", GONE, "snapshot_schema_required"),
    ("schemaVersion", None, "snapshot_schema_required"),
    ("schemaVersion", 0, "snapshot_schema_unsupported"),
    ("schemaVersion", 2, "snapshot_schema_unsupported"),
    ("schemaVersion", "1", "snapshot_schema_unsupported"),
    ("schemaVersion", 1.0, "snapshot_schema_unsupported"),
    ("schemaVersion", True, "snapshot_schema_unsupported"),
    ("kind", GONE, "snapshot_kind_invalid"),
    ("kind", None, "snapshot_kind_invalid"),
    ("kind", 1, "snapshot_kind_invalid"),
    ("kind", "tauritavern.agentProfile", "snapshot_kind_invalid"),
    ("generationType", GONE, "generation_type_empty"),
    ("generationType", None, "generation_type_empty"),
    ("generationType", 1, "generation_type_empty"),
    ("generationType", " ", "generation_type_empty"),
    *(
        (key, value, f"{name}_{'required' if value in (GONE, None) else 'invalid'}")
        for key, name in (
            ("promptInputs", "prompt_inputs"),
            ("worldInfoActivation", "world_info_activation"),
            ("macroContext", "macro_context"),
        )
        for value in ODD
    ),
]


@pytest.mark.parametrize(("key", "value", "code"), UNFIT)
def test_each_field_is_refused_by_its_name(key: str, value: object, code: str) -> None:
    told, message = refusal(changed(key, value))

    assert told == code
    assert message.startswith(f"frozenRunInputSnapshot.{key} ")


@pytest.mark.parametrize(
    ("value", "code"), [(None, "snapshot_required"), ([], "snapshot_invalid"), (1, "snapshot_invalid")]
)
def test_what_is_no_object_is_refused(value: Json, code: str) -> None:
    assert refusal(value)[0] == code


def test_it_must_be_frozen_for_the_generation_that_is_asked_for() -> None:
    code, message = refusal(FROZEN, "swipe")

    assert code == "generation_type_mismatch"
    assert "'normal'" in message
    assert "'swipe'" in message


def test_keys_in_snake_case_are_kept_in_camel_case() -> None:
    assert frozen_input(SNAKE, "normal") == {
        **FROZEN, "promptInputs": {"messages": []}, "worldInfoActivation": {"entries": []},
        "macroContext": {"names": {}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("camel", "snake"),
    [
        ("schemaVersion", "schema_version"),
        ("generationType", "generation_type"),
        ("promptInputs", "prompt_inputs"),
        ("worldInfoActivation", "world_info_activation"),
        ("macroContext", "macro_context"),
    ],
)
def test_a_key_in_both_spellings_is_refused(camel: str, snake: str) -> None:
    code, message = refusal({**FROZEN, snake: FROZEN[camel]})

    assert code == "snapshot_invalid"
    assert snake in message


def test_what_is_kept_is_a_copy_to_the_bottom() -> None:
    given: dict[str, Json] = {**FROZEN, "promptInputs": {"messages": [{"mes": "a"}]}, "more": {"kept": [1]}}

    kept = frozen_input(given, "normal")
    kept["promptInputs"]["messages"][0]["mes"] = "b"
    kept["more"]["kept"].append(2)

    assert given["promptInputs"] == {"messages": [{"mes": "a"}]}
    assert given["more"] == {"kept": [1]}


@given(
    st.dictionaries(
        st.sampled_from([*FROZEN, *SNAKE]), st.none() | st.integers() | st.text() | st.just(dict[str, Json]())
    )
)
def test_whatever_is_frozen_is_kept_or_refused(value: dict[str, Json]) -> None:
    try:
        frozen_input(value, "normal")
    except InvalidInput as refused:
        assert refused.error_code.startswith(("agent.frozen_run_input_", "prompt_assembly."))
