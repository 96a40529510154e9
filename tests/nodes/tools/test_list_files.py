from __future__ import annotations

from pathlib import Path

import pytest

from tests.nodes.desk import Desk, desk, profile
from treadle.graph.jsontext import Json
from treadle.storage.disk import RealDisk
from treadle.storage.workspace import FolderWorkspace

LIST = "workspace.list_files"
FILES: dict[str, str | bytes] = {
    "output/main.md": "x",
    "output/a/b/c/d/e.md": "x",
    "plan/steps.md": "x",
    "input/secret.json": "x",
    "events.jsonl": "x",
}


def shown(arguments: Json) -> list[str]:
    return desk(FILES).send(LIST, arguments).content.split("\n")


@pytest.mark.parametrize("path", [{}, {"path": None}, {"path": ""}, {"path": " . "}, {"path": "./"}, {"path": ".\\."}])
def test_the_root_shows_visible_folders_first_then_files(path: dict[str, Json]) -> None:
    assert shown({**path, "depth": 1}) == [
        "output/", "output/a/", "persist/", "plan/", "scratch/", "summaries/", "output/main.md", "plan/steps.md",
    ]  # fmt: skip


def test_depth_0_shows_what_is_directly_there() -> None:
    assert shown({"depth": 0}) == ["output/", "persist/", "plan/", "scratch/", "summaries/"]
    assert shown({"path": "output", "depth": 0}) == ["output/a/", "output/main.md"]


def test_depth_is_2_unless_said() -> None:
    assert shown({"path": "output"}) == ["output/a/", "output/a/b/", "output/a/b/c/", "output/main.md"]


def test_depth_4_shows_five_levels() -> None:
    assert shown({"path": "output", "depth": 4})[-2:] == ["output/a/b/c/d/e.md", "output/main.md"]


def test_a_file_lists_itself() -> None:
    result = desk(FILES).call(LIST, path="output/main.md")

    assert result.structured == {"entries": [{"path": "output/main.md", "kind": "file"}], "truncated": False}
    assert result.resource_refs == ("output/main.md",)


def test_folders_outside_the_profile_are_not_listed() -> None:
    narrow = desk(FILES, profile(visible=("plan",), writable=()))

    assert narrow.call(LIST).content == "plan/\nplan/steps.md"


def test_an_empty_folder_is_told_in_a_sentence() -> None:
    result = desk().call(LIST, path="plan")

    assert result.content == "There are no files here yet."
    assert result.structured == {"entries": [], "truncated": False}


def test_a_visible_folder_that_was_never_made_is_empty(tmp_path: Path) -> None:
    bare = Desk(workspace=FolderWorkspace(tmp_path, RealDisk()))

    assert not bare.call(LIST, path="plan").is_error
    assert bare.call(LIST).structured["entries"] == []


def test_the_first_200_in_output_order_are_shown_and_a_line_says_so() -> None:
    many = desk({f"output/{number:03d}.md": "x" for number in range(200)})

    result = many.call(LIST, path="output")
    assert (len(result.structured["entries"]), result.structured["truncated"]) == (200, False)

    many.put("output/folder/x.md", "x")
    result = many.call(LIST, path="output")

    assert result.structured["entries"][0] == {"path": "output/folder", "kind": "directory"}
    assert (len(result.structured["entries"]), result.structured["truncated"]) == (200, True)
    assert "first 200" in result.content.split("\n")[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ("output", "tool.invalid_arguments", "object"),
        ({"path": 1}, "tool.invalid_arguments", "path"),
        ({"path": "../x"}, "tool.invalid_arguments", "'..'"),
        ({"path": ".."}, "tool.invalid_arguments", "'..'"),
        ({"path": "..."}, "tool.invalid_arguments", "..."),
        ({"path": "/"}, "tool.invalid_arguments", "absolute"),
        ({"path": "C:/x"}, "tool.invalid_arguments", "drive"),
        ({"path": "input", "depth": "x"}, "tool.invalid_arguments", "depth must be a whole number"),
        ({"path": "input", "depth": 5}, "workspace.path_not_visible", "output/"),
        ({"depth": "2"}, "tool.invalid_arguments", "depth"),
        ({"depth": None}, "tool.invalid_arguments", "depth"),
        ({"depth": 5}, "workspace.list_depth_too_large", "depth must be 0 to 4"),
        ({"path": "output/none"}, "workspace.path_not_found", "output/none"),
        ({"path": "output/main.md/x"}, "workspace.path_not_found", "output/main.md/x"),
    ],
)
def test_what_the_model_can_mend_is_told(arguments: Json, code: str, says: str) -> None:
    result = desk(FILES).send(LIST, arguments)

    assert (result.is_error, result.error_code) == (True, code)
    assert says in result.content
