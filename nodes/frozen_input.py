"""The frozen run input: all that a prompt was made of, kept so that another can be made of the same."""

from __future__ import annotations

from copy import deepcopy

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json, is_object

KIND = "tauritavern.agentFrozenRunInputSnapshot"
WHERE = "frozenRunInputSnapshot"

_CODE = "agent.frozen_run_input_snapshot"
_SNAKE = {
    "schemaVersion": "schema_version", "generationType": "generation_type", "promptInputs": "prompt_inputs",
    "worldInfoActivation": "world_info_activation", "macroContext": "macro_context",
}  # fmt: skip
_PARTS = (
    ("promptInputs", "agent.frozen_run_input_prompt_inputs"),
    ("worldInfoActivation", "agent.frozen_run_input_world_info_activation"),
    ("macroContext", "agent.frozen_run_input_macro_context"),
)


def frozen_input(value: Json, generation_type: str) -> dict[str, Json]:
    """A copy of the snapshot with its keys in camel case; keys beyond the known ones stay as they are.

    Raises InvalidInput `agent.frozen_run_input_…` naming the field, and `prompt_assembly.generation_type_mismatch`
    where it was frozen for another `generation_type` than this.
    """
    frozen = _in_camel_case(value)
    _check_header(frozen)
    for key, code in _PARTS:
        if frozen.get(key) is None:
            raise InvalidInput(f"{WHERE}.{key} must be given", code=f"{code}_required")
        if not is_object(frozen[key]):
            raise InvalidInput(f"{WHERE}.{key} must be an object", code=f"{code}_invalid")
    if frozen["generationType"].strip() != generation_type:
        raise InvalidInput(
            f"{WHERE}.generationType is {frozen['generationType']!r}, but generationType is {generation_type!r}; "
            "freeze the input for the generation that is asked for",
            code="prompt_assembly.generation_type_mismatch",
        )
    return deepcopy(frozen)


def _in_camel_case(value: Json) -> dict[str, Json]:
    if value is None:
        raise InvalidInput(f"{WHERE} must be given", code=f"{_CODE}_required")
    if not is_object(value):
        raise InvalidInput(f"{WHERE} must be an object", code=f"{_CODE}_invalid")
    for camel, snake in _SNAKE.items():
        if camel in value and snake in value:
            raise InvalidInput(
                f"{WHERE} must not hold both {camel} and {snake}; leave {snake} out", code=f"{_CODE}_invalid"
            )
    spelled = {snake: camel for camel, snake in _SNAKE.items()}
    return {spelled.get(key, key): item for key, item in value.items()}


def _check_header(frozen: dict[str, Json]) -> None:
    version, generation_type = frozen.get("schemaVersion"), frozen.get("generationType")
    if version is None:
        raise InvalidInput(f"{WHERE}.schemaVersion must be 1", code=f"{_CODE}_schema_required")
    if type(version) is not int or version != 1:
        raise InvalidInput(f"{WHERE}.schemaVersion must be 1", code=f"{_CODE}_schema_unsupported")
    if frozen.get("kind") != KIND:
        raise InvalidInput(f'{WHERE}.kind must be "{KIND}"', code=f"{_CODE}_kind_invalid")
    if not isinstance(generation_type, str) or not generation_type.strip():
        raise InvalidInput(
            f"{WHERE}.generationType must not be blank", code="agent.frozen_run_input_generation_type_empty"
        )
