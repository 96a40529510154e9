"""Presets on disk: found by their exact names, and none outside their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.graph.errors import InvalidData, StorageFailed
from treadle.graph.jsontext import Json, dumps
from treadle.storage.disk import RealDisk
from treadle.storage.presets import FOLDER, PresetFiles


def presets(root: Path, saved: dict[str, Json]) -> PresetFiles:
    for name, value in saved.items():
        path = root / FOLDER / "openai" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value if isinstance(value, bytes) else dumps(value))
    return PresetFiles(root, RealDisk())


@pytest.mark.parametrize("name", ["Default", "Slow burn v2.1 (night)", "夜の本", "a_b-c"])
def test_a_preset_is_found_by_its_name(tmp_path: Path, name: str) -> None:
    assert presets(tmp_path, {name: {"temperature": 1}}).get("openai", name) == {"temperature": 1}


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    found = presets(tmp_path, {"Default": {}})

    assert found.get("openai", "Other") is None
    assert found.get("novel", "Default") is None
    assert PresetFiles(tmp_path / "none", RealDisk()).get("openai", "Default") is None


@pytest.mark.parametrize(
    "name",
    [
        "../openai/Default",
        "..",
        "a/../Default",
        "/etc/passwd",
        "..\\Default",
        "",
        " ",
        ".Default",
        "Def\0ault",
        "é" * 200,
        "\ud800",
    ],
)
def test_a_name_that_no_preset_can_have_is_none(tmp_path: Path, name: str) -> None:
    found = presets(tmp_path, {"Default": {}})

    assert found.get("openai", name) is None
    assert found.get(name, "Default") is None


def test_a_name_is_never_changed_to_fit(tmp_path: Path) -> None:
    found = presets(tmp_path, {"a_b_": {}})

    assert found.get("openai", "a:b?") is None
    assert found.get("openai", "a_b_ ") is None


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"\xef\xbb\xbf{}"])
def test_a_file_that_is_no_json_is_told_by_its_name(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InvalidData) as caught:
        presets(tmp_path, {"Default": data}).get("openai", "Default")

    assert caught.value.error_code == "prompt_assembly.preset_data_invalid"
    assert "'Default'" in caught.value.message


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    found = presets(tmp_path, {"Default": {}})
    (tmp_path / FOLDER / "openai" / "Linked.json").symlink_to(tmp_path / FOLDER / "openai" / "Default.json")

    with pytest.raises(StorageFailed):
        found.get("openai", "Linked")
