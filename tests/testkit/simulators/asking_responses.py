"""Raw clients for the Responses simulator, and requests that it takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
from websockets.asyncio.client import ClientConnection, connect

from treadle.graph.jsontext import Json, dumps, loads
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer

KEY = {"authorization": "Bearer k"}
USER: Json = {"type": "message", "role": "user", "content": "hi"}
TOOL: Json = {"type": "function", "name": "a", "parameters": {"type": "object", "properties": {}}, "strict": False}
ENDS = ("response.completed", "response.incomplete", "response.failed", "error")


def request(*items: Json, **more: Json) -> dict[str, Json]:
    return {"model": "m", "store": False, "input": list(items), **more}


def encrypted(*items: Json, **more: Json) -> dict[str, Json]:
    return request(*items, include=["reasoning.encrypted_content"], **more)


def result(call_id: str, output: str = "done") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


async def post(server: OpenAIResponsesServer, body: Json) -> httpx.Response:
    """Ask over HTTP; bytes go out as they are."""
    content = body if isinstance(body, bytes) else dumps(body)
    headers = {**KEY, "content-type": "application/json"}
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(f"{server.base_url}/responses", content=content, headers=headers)


async def refusal(server: OpenAIResponsesServer, body: Json) -> Json:
    answer = await post(server, body)
    assert answer.status_code == 400
    return answer.json()["error"]


def address(server: OpenAIResponsesServer) -> str:
    return f"ws{server.base_url.removeprefix('http')}/responses"


@asynccontextmanager
async def socket(server: OpenAIResponsesServer) -> AsyncGenerator[ClientConnection]:
    async with connect(address(server), additional_headers=KEY, max_size=None, proxy=None, compression=None) as opened:
        yield opened


async def send(opened: ClientConnection, body: Json) -> None:
    content = body if isinstance(body, bytes) else dumps({"type": "response.create", **body})
    await opened.send(content, text=True)


async def frames(opened: ClientConnection) -> list[bytes]:
    """Frames up to the end of one turn."""
    held: list[bytes] = []
    while not held or loads(held[-1]).get("type") not in ENDS:
        held.append(await opened.recv(decode=False))
    return held


async def events(opened: ClientConnection, body: Json) -> list[Json]:
    await send(opened, body)
    return [loads(frame) for frame in await frames(opened)]


async def last(opened: ClientConnection, body: Json) -> Json:
    return (await events(opened, body))[-1]


def spliced(*items: bytes, **more: Json) -> bytes:
    """A request whose items go out as these bytes."""
    head = dumps({"type": "response.create", **encrypted(**more)})
    return head.replace(b'"input":[]', b'"input":[' + b",".join(items) + b"]")
