"""Every case of the folder that `--cases-dir` names, and every line of what is not supported yet."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from .loading import Folder, Together, Unit, read_folder, unsupported
from .running import is_needed, judge, judge_together

pytestmark = pytest.mark.timeout(600)  # a case may be a run of a thousand rounds

_NOTHING = {
    name: pytest.param(None, marks=pytest.mark.skip(reason=reason))
    for name, reason in {
        "unit": "the folder holds no case",
        "together": "no case of this folder has variants that must agree",
        "line": "unsupported.txt lists nothing: every case is played",
    }.items()
}
"""What stands for a set that is empty, and why."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folder = _folder(metafunc.config.getoption("--cases-dir"))
    parameters = {"unit": folder.units, "together": folder.together, "line": unsupported()}
    for name, values in parameters.items():
        if name in metafunc.fixturenames:
            ids = [getattr(value, "name", value) for value in values]
            metafunc.parametrize(name, values or [_NOTHING[name]], ids=ids or ["none"])


def test_the_case_holds(unit: Unit) -> None:
    _skip_what_is_unsupported(unit)

    wrong = judge(unit)

    assert not wrong, f"{unit.symptom}\n" + "\n".join(wrong)


def test_the_variants_agree(together: Together) -> None:
    _skip_what_is_unsupported(together)

    assert not judge_together(together)


def test_the_line_of_what_is_unsupported_is_needed(line: str, pytestconfig: pytest.Config) -> None:
    folder = _folder(pytestconfig.getoption("--cases-dir"))
    if not folder.under(line):
        pytest.skip(f"no case of this folder falls under {line!r}")

    assert is_needed(line, folder), f"every case under {line!r} passes: remove the line from unsupported.txt"


@cache
def _folder(path: str) -> Folder:
    return read_folder(Path(path))


def _skip_what_is_unsupported(unit: Unit | Together) -> None:
    listed = [line for line in unsupported() if line in unit.features]
    if listed:
        pytest.skip(f"unsupported: {', '.join(listed)}")
