"""How soon the model's server sees its connection closed, once a run that waits for it is cancelled."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json

TARGET_MS = 100.0


@dataclass(slots=True)
class Silent:
    """A server that takes requests, answers none, and notes when each client goes away."""

    asked: asyncio.Queue[None] = field(default_factory=asyncio.Queue[None])
    gone: asyncio.Queue[float] = field(default_factory=asyncio.Queue[float])

    async def http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked.put_nowait(None)
        with suppress(ConnectionError):
            while await reader.read(65536):
                pass
        self.gone.put_nowait(time.perf_counter())
        writer.close()

    async def websocket(self, socket: ServerConnection) -> None:
        await socket.recv()
        self.asked.put_nowait(None)
        with suppress(ConnectionClosed):
            await socket.recv()
        self.gone.put_nowait(time.perf_counter())


@dataclass(frozen=True, slots=True)
class Closed:
    """Milliseconds from the call to the server's end of file, over so many cancels."""

    line: str
    engine: tuple[float, ...]
    floor: tuple[float, ...]
    """The same request made by the client library alone, its task cancelled."""

    def to_json(self) -> dict[str, Json]:
        return {
            "line": self.line,
            "cancels": len(self.engine),
            "engine_ms": _of(self.engine),
            "floor_ms": _of(self.floor),
            "within_target": max(self.engine) <= TARGET_MS,
        }


def _of(times: Sequence[float]) -> dict[str, float]:
    return {"median": round(statistics.median(times), 2), "worst": round(max(times), 2)}


async def measure(folder: Path, cancels: int) -> list[Closed]:
    over_http = Silent()
    server = await asyncio.start_server(over_http.http, "127.0.0.1", 0)
    base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        engine = await _times(cancels, over_http, lambda n: _engine(folder, f"h{n}", base_url, over_http))
        floor = await _times(cancels, over_http, lambda _: _plain(_post(base_url), over_http))
        http = Closed("HTTP", engine, floor)
    over_socket = Silent()
    async with serve(over_socket.websocket, "127.0.0.1", 0) as sockets:
        port = next(iter(sockets.sockets)).getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        engine = await _times(
            cancels, over_socket, lambda n: _engine(folder, f"w{n}", url, over_socket, "openai_responses")
        )
        floor = await _times(cancels, over_socket, lambda _: _plain(_talk(f"ws://127.0.0.1:{port}"), over_socket))
    return [http, Closed("WebSocket", engine, floor)]


async def _times(cancels: int, server: Silent, cancel: Callable[[int], Awaitable[float]]) -> tuple[float, ...]:
    """`cancel` gives when it began to cancel."""
    found: list[float] = []
    for number in range(cancels):
        began = await cancel(number)
        found.append((await asyncio.wait_for(server.gone.get(), 30) - began) * 1e3)
    return tuple(found)


async def _engine(folder: Path, name: str, base_url: str, server: Silent, spoken: str | None = None) -> float:
    async with Engine(folder) as engine:
        handle = await engine.start_run_with_prompt_snapshot(_request(name, base_url, spoken))
        await asyncio.wait_for(server.asked.get(), 30)
        began = time.perf_counter()
        await engine.cancel(handle.run_id)
        record = await engine.wait(handle.run_id)
    if record.status != "cancelled":
        raise SystemExit(f"the run ended {record.status}")
    return began


async def _plain(request: Awaitable[object], server: Silent) -> float:
    task = asyncio.ensure_future(request)
    await asyncio.wait_for(server.asked.get(), 30)
    began = time.perf_counter()
    task.cancel()
    await asyncio.wait([task])
    return began


async def _post(base_url: str) -> None:
    async with httpx.AsyncClient(timeout=60) as client:
        await client.post(f"{base_url}/chat/completions", json={"model": "silent"})


async def _talk(url: str) -> None:
    async with connect(url) as socket:
        await socket.send("{}")
        await socket.recv()


def _request(name: str, base_url: str, spoken: str | None) -> dict[str, Json]:
    payload: dict[str, Json] = {
        "messages": [{"role": "user", "content": "Write."}],
        "chat_completion_source": "custom",
        "custom_url": base_url,
        "model": "silent",
    }
    if spoken is not None:
        payload["custom_api_format"] = spoken
    policy = {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True}
    return {
        "runId": f"run_{name}",
        "stableChatId": name,
        "chatRef": {"kind": "character", "characterId": "Silent", "fileName": name},
        "promptSnapshot": {"chatCompletionPayload": payload, "contextPolicy": policy},
    }


def tables(found: Sequence[Closed]) -> list[str]:
    lines = ["| line | cancels | engine, median | worst | library alone, median | worst |", "|---|---|---|---|---|---|"]
    for each in found:
        engine, floor = _of(each.engine), _of(each.floor)
        lines.append(
            f"| {each.line} | {len(each.engine)} | {engine['median']} ms | {engine['worst']} ms "
            f"| {floor['median']} ms | {floor['worst']} ms |"
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table or the JSON."""
    given = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder), 2 if given.quick else given.cancels))
    if given.json:
        machine = {"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}
        told = {"benchmark": "cancelling", "lines": [each.to_json() for each in found], "machine": machine}
        print(json.dumps(told, indent=2))
    else:
        print("\n".join(tables(found)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cancels", type=int, default=50, help="of each kind")
    parser.add_argument("--quick", action="store_true", help="that it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
