"""A provider's own bytes go back as they came, over a crash too; what is altered, lost or another's is not sent."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.graph.jsontext import loads

from ..gateway.traps import trap
from ..gateway.words import json_texts
from ..scenarios.stage import Stage
from .leaving import leave, resume, stored_body
from .raw_answers import LIST, NAMES, spoken
from .upstream import left

ODD = '{"\\ud83d" :[1.10 ,-0.0, 1e2,18446744073709551616], "a":1,"a" : "\\u00e9\\/é"}'
SPACES = st.sampled_from(["", " ", "\n  ", "\t", "\r\n"])
IN_ALL_FORMATS = pytest.mark.parametrize("form", NAMES)


@trap(61)
@IN_ALL_FORMATS
@settings(max_examples=8, deadline=None)
@given(odd=st.lists(json_texts(), max_size=3), space=SPACES)
def test_any_block_comes_back_as_it_came_after_the_engine_is_gone(form: str, odd: list[str], space: str) -> None:
    _comes_back(form, odd, space)


@pytest.mark.slow
@pytest.mark.timeout(900)
@IN_ALL_FORMATS
@settings(max_examples=150, deadline=None)
@given(odd=st.lists(json_texts(), max_size=6), space=SPACES)
def test_any_of_many_blocks_comes_back_as_it_came(form: str, odd: list[str], space: str) -> None:
    _comes_back(form, odd, space)


@IN_ALL_FORMATS
async def test_a_stored_answer_with_a_byte_that_is_another_is_not_sent(tmp_path: Path, form: str) -> None:
    await leave(tmp_path, form, spoken(form, [ODD]).body.encode())
    path = stored_body(tmp_path)
    data = bytearray(path.read_bytes())
    data[data.index(b"1.10") + 2] ^= 1
    path.write_bytes(data)

    await _is_lost(tmp_path)


@IN_ALL_FORMATS
@pytest.mark.parametrize("lost", ["the file", "all of it", "a block"])
async def test_a_stored_answer_that_is_lost_is_not_sent_without(tmp_path: Path, form: str, lost: str) -> None:
    await leave(tmp_path, form, spoken(form, [ODD]).body.encode())
    path = stored_body(tmp_path)
    if lost == "the file":
        path.unlink()
    elif lost == "all of it":
        path.write_bytes(b"")
    else:
        path.write_bytes(spoken(form).body.encode())

    await _is_lost(tmp_path, files=lost == "the file")


def _comes_back(form: str, odd: Sequence[str], space: str) -> None:
    answer = spoken(form, odd, [LIST, ("c2", "workspace_list_files")], space)
    with tempfile.TemporaryDirectory() as folder:
        asked = asyncio.run(leave(Path(folder), form, answer.body.encode()))
        (again,) = asyncio.run(resume(Path(folder)))

    assert len(asked) == 2
    assert asked[1].count(answer.native.encode()) == 1
    assert again == asked[1]
    assert loads(again)


async def _is_lost(folder: Path, files: int = 0) -> None:
    sent = await resume(folder)
    ended = await left(Stage.found(folder), lost=files)

    assert sent == []
    assert (ended.record.status, ended.end["code"]) == ("failed", "model.native_metadata_lost")
    assert not ended.end["retryable"]
