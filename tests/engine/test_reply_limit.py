"""How long an answer may be: one setting of the engine, for both of its transports."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.engine.services import Services
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import InvalidInput

from ..scenarios.script import Script


@pytest.mark.parametrize("limit", [0, -1, True])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(InvalidInput, match="reply_limit must be a number of bytes from 1"):
        Engine(tmp_path, reply_limit=limit)


@pytest.mark.parametrize("transport", [HttpTransport(), Script()])
def test_a_limit_is_not_set_over_a_transport_that_has_its_own(
    tmp_path: Path, transport: HttpTransport | Script
) -> None:
    with pytest.raises(InvalidInput, match="HttpTransport\\(max_reply_bytes=…\\)"):
        Services(tmp_path, transport=transport, reply_limit=1)
