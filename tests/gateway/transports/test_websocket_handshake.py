"""What can keep a socket from being opened, each by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from treadle.gateway.transports.faults import ERROR_BODY_BYTES
from treadle.gateway.transports.socket_times import SocketTimes
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.graph.ports import UpgradeRefused, WireRequest
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

from .loopback import Echo, failed_open, hang, raw, to


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://h/", "http://h:x/", "http:///v1", "nowhere", "http://[/"])
async def test_an_address_that_can_not_be_asked_is_a_build_failure(sockets: WebSocketTransport, url: str) -> None:
    failed = await failed_open(sockets, WireRequest(url, {}, b""))

    assert (failed.error_code, failed.retryable) == ("model.request_build_failed", False)


@pytest.mark.parametrize("header", [("authorization", "Bearer sk-canary\n"), ("x canary", "v"), ("x", "canary\u2603")])
async def test_a_header_that_can_not_be_sent_is_not_quoted(
    sockets: WebSocketTransport, header: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    failed = await failed_open(sockets, WireRequest("http://127.0.0.1:9/", dict([header]), b""))

    assert failed.error_code == "model.request_build_failed"
    assert "canary" not in f"{failed} {failed.details} {failed.__cause__} {caplog.text}"


async def test_a_handshake_that_takes_too_long_is_a_timeout(clock: ManualClock) -> None:
    async with raw(hang, shakes_hands=False) as port:
        failed = await failed_open(WebSocketTransport(clock, SocketTimes(connect=0.1)), to(port))

    assert (failed.details["networkCode"], failed.retryable) == ("network.timeout", True)


async def test_a_refusal_carries_status_headers_and_at_most_64_kib_of_body(sockets: WebSocketTransport) -> None:
    refusal = Reply(b"x" * 100_000, 429, {"Retry-After": "2"})
    async with LoopbackServer(lambda _: refusal) as server:
        with pytest.raises(UpgradeRefused) as refused:
            await sockets.open("s", to(server.port))

    reply = refused.value.reply
    assert (reply.status, reply.headers["retry-after"], len(reply.body)) == (429, "2", ERROR_BODY_BYTES)


async def test_a_redirect_is_a_refusal_and_nothing_is_sent_elsewhere(sockets: WebSocketTransport) -> None:
    seen: list[Received] = []

    def respond(request: Received) -> Reply:
        seen.append(request)
        return Reply(b"", 307, {"location": "/elsewhere"})

    async with LoopbackServer(respond) as server:
        with pytest.raises(UpgradeRefused) as refused:
            await sockets.open("s", to(server.port))

    assert (refused.value.reply.status, len(seen)) == (307, 1)


async def test_a_handshake_that_is_not_right_is_worth_another_try(sockets: WebSocketTransport) -> None:
    def spoil(socket: ServerConnection, request: Request, response: Response) -> Response:
        del response.headers["Sec-WebSocket-Accept"]
        response.headers["Sec-WebSocket-Accept"] = "wrong"
        return response

    async def nothing(socket: ServerConnection) -> None:
        await socket.wait_closed()

    async with serve(nothing, "127.0.0.1", 0, process_response=spoil) as server:
        failed = await failed_open(sockets, to(next(iter(server.sockets)).getsockname()[1]))

    assert (failed.details["networkCode"], failed.retryable) == ("network.request_failed", True)


async def test_a_server_that_hangs_up_in_the_handshake_is_worth_another_try(sockets: WebSocketTransport) -> None:
    async with LoopbackServer(lambda _: Reply(b"", drop="before_answer")) as server:
        failed = await failed_open(sockets, to(server.port))

    assert (failed.details["networkCode"], failed.retryable) == ("network.request_failed", True)


async def test_a_closed_port_is_a_failed_connect(sockets: WebSocketTransport) -> None:
    async with Echo().running() as server:
        port = server.port
    failed = await failed_open(sockets, to(port, "/v1?key=canary"))

    assert (failed.details["networkCode"], failed.retryable) == ("network.connect_failed", True)
    assert failed.details["endpoint"] == f"ws://127.0.0.1:{port}/v1"
    assert "canary" not in f"{failed} {failed.details}"


async def test_a_name_that_does_not_resolve_is_named_so(sockets: WebSocketTransport) -> None:
    failed = await failed_open(sockets, WireRequest("http://no-such-host.invalid/v1", {}, b""))

    assert failed.details["networkCode"] == "network.dns_failed"


async def test_a_server_without_tls_is_named_so(sockets: WebSocketTransport) -> None:
    async with LoopbackServer(lambda _: Reply(b"")) as server:
        failed = await failed_open(sockets, to(server.port, scheme="https"))

    assert (failed.details["networkCode"], failed.retryable) == ("network.tls_failed", True)


async def test_proxies_of_the_environment_are_not_used(
    sockets: WebSocketTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with Echo().running() as server:
        opened = await sockets.open("s", to(server.port))

    assert opened.fresh


async def test_a_proxy_that_refuses_or_can_not_be_reached_is_named_so(clock: ManualClock) -> None:
    async with LoopbackServer(lambda _: Reply(b"", 407)) as server:
        refusing = WebSocketTransport(clock, proxy=f"http://u:canary@127.0.0.1:{server.port}")
        refused = await failed_open(refusing, to(9))
        port = server.port
    gone = await failed_open(WebSocketTransport(clock, proxy=f"http://127.0.0.1:{port}"), to(9))

    assert [one.details["networkCode"] for one in (refused, gone)] == ["network.proxy_failed"] * 2
    assert "canary" not in f"{refused} {refused.details}"


async def test_a_request_is_dialled_through_the_proxy_that_it_names_and_a_socket_is_not_used_for_another(
    sockets: WebSocketTransport,
) -> None:
    async with Echo().running() as server, LoopbackServer(lambda _: Reply(b"", 407)) as proxy:
        straight = to(server.port)
        await sockets.open("s", straight)
        refused = await failed_open(sockets, replace(straight, proxy=f"http://u:canary@127.0.0.1:{proxy.port}"))

    assert refused.details["networkCode"] == "network.proxy_failed"
    assert "canary" not in f"{refused} {refused.details}"


async def test_a_proxy_that_is_none_is_a_build_failure(clock: ManualClock) -> None:
    failed = await failed_open(WebSocketTransport(clock, proxy="gopher://h"), to(9))

    assert failed.error_code == "model.request_build_failed"
