"""One script plays on every simulator, and a payload leads to each."""

from __future__ import annotations

import json

import httpx
import pytest

from treadle.gateway.connections.sources import connection_from_payload
from treadle.testkit.replies import call
from treadle.testkit.simulators.provider import Step
from treadle.testkit.simulators.registry import KEY, SIMULATORS, payload_for
from treadle.testkit.turns import Refusal, Usage, says

USER = {"role": "user", "content": "hi"}
ASKED = {
    "openai_compatible": ("/chat/completions", {"model": "m", "messages": [USER]}),
    "openai_responses": ("/responses", {"model": "m", "store": False, "input": [{"type": "message", **USER}]}),
    "claude_messages": ("/messages", {"model": "m", "max_tokens": 9, "messages": [USER]}),
    "gemini": ("/v1beta/models/gemini-3-x:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
    "gemini_interactions": ("/v1beta/interactions", {"model": "gemini-3-x", "store": False, "input": "hi"}),
}  # fmt: skip
HEADERS = {
    "content-type": "application/json",
    "authorization": f"Bearer {KEY}",
    "x-api-key": KEY,
    "x-goog-api-key": KEY,
    "anthropic-version": "2023-06-01",
}


class NoSecrets:
    def get(self, reference: str) -> str | None:
        return None


@pytest.mark.parametrize("name", list(SIMULATORS))
async def test_a_payload_leads_to_it_with_a_key_and_without_a_secret_store(name: str) -> None:
    async with SIMULATORS[name]([], api_key=KEY) as server:
        connection = connection_from_payload(payload_for(server, temperature=1), NoSecrets())

        assert (connection.format, connection.base_url, connection.model) == (name, server.base_url, server.model)
        assert connection.api_key is not None and connection.api_key.reveal() == KEY
    assert server.format == name


@pytest.mark.parametrize("name", list(SIMULATORS))
async def test_one_script_plays_on_each(name: str) -> None:
    script: list[Step] = [
        Refusal(429, "Slow down.", headers={"retry-after": "2"}),
        says("I draft.", call("workspace.finish", summary="lamp"), reasoning="Finish now.", usage=Usage(20, 6, 3, 8)),
        says("The end."),
    ]
    path, body = ASKED[name]
    async with SIMULATORS[name](script, api_key=KEY) as server, httpx.AsyncClient(trust_env=False) as client:
        url = server.base_url + path
        slow, drafted, ended = [await client.post(url, headers=HEADERS, content=json.dumps(body)) for _ in range(3)]
        stranger = await client.post(url, json=body)

    assert (slow.status_code, slow.headers["retry-after"]) == (429, "2")
    assert all(word in drafted.text for word in ("I draft.", "workspace_finish", "lamp", "Finish now."))
    assert "The end." in ended.text
    assert stranger.status_code in (401, 403)
    assert server.steps_left == 0
