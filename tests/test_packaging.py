"""The package is what the folders are: rooms, links, sizes, locks, and an import that costs nothing."""

import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("graph", "nodes", "gateway", "storage")
CODE = ("treadle", *ROOMS, "tests", "benchmarks", "examples")
LONGEST = 400  # lines


def test_every_package_folder_is_installed() -> None:
    rooms = {f"treadle.{_dotted(folder)}" for room in ROOMS for folder in _packages(ROOT / room)}
    door = {_dotted(folder) for folder in _packages(ROOT / "treadle")}

    assert sorted(_setuptools()["packages"]) == sorted(rooms | door)


def test_every_room_is_mapped_to_its_folder() -> None:
    assert _setuptools()["package-dir"] == {f"treadle.{room}": room for room in ROOMS}


@pytest.mark.parametrize("room", ROOMS)
def test_the_link_of_a_room_leads_to_it(room: str) -> None:
    link = ROOT / "treadle" / room
    if not link.is_symlink():
        pytest.skip("links are not links here; only the checkers need them")

    assert link.readlink() == Path("..", room)


def test_the_version_is_said_once() -> None:
    assert _pyproject()["project"]["version"] == treadle.__version__


@pytest.mark.parametrize("name", treadle.__all__)
def test_every_name_offered_can_be_had(name: str) -> None:
    assert getattr(treadle, name) is not None


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    unknown = "loom"

    with pytest.raises(AttributeError, match="has no attribute 'loom'"):
        getattr(treadle, unknown)


def test_importing_treadle_does_not_import_the_graph_runtime() -> None:
    _python("import sys, treadle; sys.exit('langgraph' in sys.modules)")


def test_the_help_of_the_command_line_does_not_import_the_graph_runtime() -> None:
    said = _python(
        """
        import sys
        from treadle.host.cli import main

        sys.argv = ["treadle", "--help"]
        try:
            main()
        except SystemExit as end:
            assert not end.code, end.code
        sys.exit("langgraph" in sys.modules or "langchain_core" in sys.modules)
        """
    )

    assert "demo" in said


def test_no_file_of_code_is_too_long() -> None:
    lengths = {path: _lines(path) for path in _code_files()}

    assert {str(path): lines for path, lines in lengths.items() if lines > LONGEST} == {}


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}

    assert [str(f) for f in sorted(folders) if not (f / "__init__.py").is_file()] == []


@pytest.mark.parametrize("lock", ["run", "dev"])
def test_a_lock_names_exact_versions_and_no_index(lock: str) -> None:
    lines = _lock(lock).splitlines()
    wanted = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]

    assert [line for line in lines if "://" in line or line.startswith("-")] == []
    assert [line for line in wanted if not re.fullmatch(r"[a-z0-9-]+==\S+( ; .+)?", line)] == []


def test_the_two_locks_agree() -> None:
    run, dev = (set(re.findall(r"^[a-z0-9-]+==[^ \n]+", _lock(name), re.MULTILINE)) for name in ("run", "dev"))

    assert run <= dev


def _lock(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def _setuptools() -> dict[str, Any]:
    found: dict[str, Any] = _pyproject()["tool"]["setuptools"]
    return found


def _packages(folder: Path) -> Iterator[Path]:
    if (folder / "__init__.py").is_file():
        yield folder
    for child in sorted(folder.iterdir()):
        if child.is_dir() and not child.is_symlink():
            yield from _packages(child)


def _dotted(folder: Path) -> str:
    return ".".join(folder.relative_to(ROOT).parts)


def _code_files() -> Iterator[Path]:
    links = tuple(ROOT / "treadle" / room for room in ROOMS)
    for name in CODE:
        for path in sorted((ROOT / name).rglob("*.py")):
            if not any(path.is_relative_to(link) for link in links):
                yield path.relative_to(ROOT)


def _lines(path: Path) -> int:
    return len((ROOT / path).read_text("utf-8").splitlines())


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
