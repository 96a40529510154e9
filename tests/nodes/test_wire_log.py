"""What of one call goes into the wire log."""

from __future__ import annotations

import pytest

from treadle.gateway.provider_state import HTTP
from treadle.gateway.wire_calls import WireCall
from treadle.graph.ports import WireReply, WireRequest
from treadle.nodes.wire_log import WireLog
from treadle.storage.folder import Put

from ..gateway.words import connection

TOKEN = "ya29.canary-token"


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-goog-api-key"])
def test_a_token_that_was_made_for_the_call_is_in_no_file(header: str) -> None:
    request = WireRequest("https://h.example/v1?key=canary-token", {header: f"Bearer {TOKEN}"}, b"{}", pieces=(b"{}",))
    quoted = f'{{"error": "no: {TOKEN}"}}'.encode()
    reply = WireReply(401, {"x-request-id": f"of {TOKEN}", "set-cookie": "canary-token"}, quoted)
    call = WireCall(request, HTTP, 0.0, 1.5, reply, error=f"refused {TOKEN}")

    written = WireLog("full").changes(1, 1, connection(), [call])

    files = [change for change in written if isinstance(change, Put)]
    assert len(files) == 2
    assert b'"error": "no: ***"' in files[0].data
    assert not [file.path for file in files if b"canary-token" in file.data]


def test_only_headers_on_the_list_are_kept() -> None:
    headers = {"content-type": "application/json", "x-ratelimit-remaining": "7", "x-secret": "s", "set-cookie": "c"}
    call = WireCall(WireRequest("https://h.example", headers, b"{}"), HTTP, 0.0, 0.0, WireReply(200, headers, b"{}"))

    (file,) = WireLog().changes(1, 1, connection(), [call])

    assert isinstance(file, Put)
    assert file.data.count(b'"x-ratelimit-remaining": "7"') == 2
    assert b"x-secret" not in file.data and b"set-cookie" not in file.data
