"""The tests of the traps are worth their name: where a trap's rule is switched off, one of its tests fails."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from .mutations import bench
from .mutations.catalogue import MUTATIONS
from .mutations.mutation import Mutation
from .traps import TRAPS, marked

ROOT = Path(__file__).parents[2]
COPIED = ("gateway", "graph", "nodes", "storage", "treadle", "tests")
FAILED = 1
"""Pytest's exit code where tests failed; others say that they could not be run."""


def names() -> list[str]:
    """`T12-2` is the second mutation of trap 12."""
    seen: Counter[int] = Counter()
    made: list[str] = []
    for mutation in MUTATIONS:
        seen[mutation.trap] += 1
        made.append(f"T{mutation.trap}-{seen[mutation.trap]}")
    return made


class Bench:
    """The process that runs the tests in a copy of the tree."""

    def __init__(self, process: Popen[str]) -> None:
        self._process = process

    def run(self, tests: Sequence[str], file: str = "", old: str = "", new: str = "") -> tuple[int, str]:
        """Pytest's exit code, and the end of what it said."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"file": file, "old": old, "new": new, "tests": tests}) + "\n")
        process.stdin.flush()
        code, said = json.loads(process.stdout.readline())
        return code, said


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    copy = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "COVERAGE_"))}
    command = [sys.executable, "-m", bench.__name__]
    with Popen(command, cwd=copy, env=clean, stdin=PIPE, stdout=PIPE, text=True) as process:
        made = Bench(process)
        code, said = made.run(sorted({test for tests in marked().values() for test in tests}))
        assert code == 0, said
        yield made


def test_every_trap_has_a_rule_that_can_be_switched_off() -> None:
    assert sorted({mutation.trap for mutation in MUTATIONS}) == sorted(TRAPS)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=names())
def test_the_text_of_a_rule_stands_once_in_its_file(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text("utf-8").count(mutation.old) == 1
    assert mutation.old != mutation.new


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the bench forks")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=names())
def test_a_rule_that_is_switched_off_is_seen(copied: Bench, mutation: Mutation) -> None:
    code, said = copied.run(marked()[mutation.trap], mutation.file, mutation.old, mutation.new)

    assert code == FAILED, said
