"""What the simulators' tests share: one request, sent by a plain client, and the parts of JSON text as they were received."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from treadle.testkit.simulators.provider import ScriptedServer

Body = dict[str, Any]

CLAUDE_HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
GOOGLE_HEADERS = {"x-goog-api-key": "k"}

PARAMETERS: Body = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def post(server: ScriptedServer, path: str, headers: Mapping[str, str], body: Any) -> httpx.Response:
    """The answer; a body of bytes or text goes out as it is, headers of None are left out."""
    content = body if isinstance(body, bytes | str) else json.dumps(body)
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(
            server.base_url + path, content=content, headers={"content-type": "application/json", **headers}
        )


def spliced(body: Any, **raw: str) -> str:
    """The body as JSON text, with received text in the place of each `"@name"`."""
    text = json.dumps(body)
    for name, received in raw.items():
        text = text.replace(f'"@{name}"', received)
    return text


def without(body: Body, *keys: str) -> Body:
    return {key: value for key, value in body.items() if key not in keys}
