"""The runner itself: cases of our own that hold, cases that must fail and say why, and what it makes of a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.graph.jsontext import Json

from .faults import CaseFault
from .loading import Folder, Unit, features, read_folder, unsupported
from .running import KINDS, is_needed, judge, judge_together, passes

SAMPLES = Path(__file__).with_name("samples")
HOLDS = read_folder(SAMPLES / "holds")
pytestmark = pytest.mark.slow  # each sample is a run over HTTP; the cases of a folder are played beside them
REPLY = json.dumps({"choices": [{"message": {"tool_calls": [{"function": {"name": "skill_list"}}]}}]})


@pytest.mark.parametrize("unit", HOLDS.units, ids=lambda unit: unit.name)
def test_a_sample_that_holds_passes(unit: Unit) -> None:
    assert judge(unit) == []


@pytest.mark.parametrize("file", sorted((SAMPLES / "fails").glob("*.json")), ids=lambda file: file.stem)
def test_a_sample_that_does_not_hold_fails_and_says_why(file: Path, tmp_path: Path) -> None:
    (tmp_path / file.name).write_bytes(file.read_bytes())
    (unit,) = read_folder(tmp_path).units

    try:
        wrong = "\n".join(judge(unit))
    except CaseFault as fault:
        wrong = str(fault)

    assert json.loads(file.read_bytes())["must_say"] in wrong


def test_every_kind_that_has_a_room_has_a_sample() -> None:
    sampled = {unit.given["kind"] for unit in HOLDS.units}

    assert set(KINDS) - sampled <= {"world_info", "render_all_builtin_tools"}  # their tools are not all there yet


def test_a_case_needs_its_kind_its_format_its_keys_and_the_tools_that_are_called() -> None:
    given: Json = {"kind": "model_turns", "provider_format": "gemini", "turns": [{"body_text": REPLY}], "crash": {}}

    assert set(features(given)) == {
        "model_turns", "model_turns:gemini", "model_turns+provider_format", "model_turns+turns", "model_turns+crash",
        "model_turns+skill.list",
    }  # fmt: skip


def test_each_variant_is_run_by_itself_with_its_own_expectations(tmp_path: Path) -> None:
    folder = _folder(tmp_path, {"each_variant": {"distinct": 1}, "variants": {"b": {"regex": "^y"}}, "regex": "^chat_"})
    one, other = folder.units

    assert (one.name, judge(one)) == ("case-a", [])
    assert judge(other) == ["regex: 'chat_fbf96494a8122c1f' does not match"]


def test_an_expectation_for_a_variant_that_is_not_there_is_no_case(tmp_path: Path) -> None:
    with pytest.raises(CaseFault, match="c"):
        _folder(tmp_path, {"variants": {"c": {"distinct": 1}}})


def test_a_fact_that_differs_between_variants_fails_them_together(tmp_path: Path) -> None:
    (together,) = _folder(tmp_path, {"each_variant": {"distinct": 1}, "same_content_hash": ["a", "b"]}).together

    with pytest.raises(CaseFault, match="content_hash"):
        judge_together(together)


def test_an_empty_folder_is_no_folder_of_cases(tmp_path: Path) -> None:
    with pytest.raises(CaseFault, match="holds no case"):
        read_folder(tmp_path)


def test_a_unit_of_a_kind_without_a_room_does_not_pass() -> None:
    assert not passes(Unit("x", {"kind": "skill_of_nobody"}, ({"installed": False},)))


def test_a_line_is_needed_only_while_a_case_under_it_fails() -> None:
    assert not is_needed("workspace_id+inputs", HOLDS)
    assert is_needed("workspace_id+inputs", read_folder(SAMPLES / "fails"))


def test_every_line_of_what_is_unsupported_names_a_kind_and_stands_once() -> None:
    lines = unsupported()
    kinds = {line.partition(":")[0].partition("+")[0] for line in lines}

    assert kinds <= set(KINDS)
    assert len(set(lines)) == len(lines)


def _folder(tmp_path: Path, expect: Json) -> Folder:
    ids: Json = {"kind": "workspace_id", "inputs": [["group", "x"]]}
    case: Json = {"given": {"kind": "variants", "variants": {"a": ids, "b": ids}}, "expect": expect}
    (tmp_path / "case.json").write_text(json.dumps(case), "utf-8")
    return read_folder(tmp_path)
