"""One exchange over a real socket: bytes as they came, faults by name, nothing followed and nothing leaked."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from treadle.gateway.transports.faults import ERROR_BODY_BYTES
from treadle.gateway.transports.http import HttpTransport, Timeouts
from treadle.graph.errors import ModelFailed
from treadle.graph.ports import WireReply, WireRequest
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    made = HttpTransport()
    yield made
    await made.close()


def server(*replies: Reply, seen: list[Received] | None = None) -> LoopbackServer:
    left = list(replies)

    def respond(request: Received) -> Reply:
        if seen is not None:
            seen.append(request)
        return left.pop(0)

    return LoopbackServer(respond)


def request(port: int, path: str = "/v1", body: bytes = b"{}") -> WireRequest:
    return WireRequest(f"http://127.0.0.1:{port}{path}", {"content-type": "application/json", "x-a": "b"}, body)


async def failure(transport: HttpTransport, wire: WireRequest) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await transport.send(wire)
    return failed.value


async def test_bytes_go_out_and_come_back_as_they_are(transport: HttpTransport) -> None:
    seen: list[Received] = []
    body = b'\xef\xbb\xbf{"a": 1.10, "b": "\\ud83d"}\n'
    async with server(Reply(body, headers={"X-Request-Id": "r"}), seen=seen) as running:
        reply = await transport.send(request(running.port, "/v1?q=1", body))

    assert (reply.status, reply.body, reply.headers["x-request-id"]) == (200, body, "r")
    assert (seen[0].method, seen[0].path, seen[0].body, seen[0].headers["x-a"]) == ("POST", "/v1?q=1", body, "b")


async def test_a_compressed_body_is_unpacked(transport: HttpTransport) -> None:
    async with server(Reply(gzip.compress(b"{}"), headers={"content-encoding": "gzip"})) as running:
        reply = await transport.send(request(running.port))

    assert reply.body == b"{}"


@pytest.mark.parametrize("packed", [False, True])
async def test_an_answer_over_the_limit_is_refused_with_the_limit_and_not_asked_for_again(packed: bool) -> None:
    body, headers = b"x" * 1001, dict[str, str]()
    if packed:
        body, headers = gzip.compress(body), {"content-encoding": "gzip"}
    transport = HttpTransport(max_reply_bytes=1000)
    async with server(Reply(body, headers=headers)) as running:
        failed, endpoint = await failure(transport, request(running.port)), f"http://127.0.0.1:{running.port}/v1"
    await transport.close()

    assert (failed.error_code, failed.retryable) == ("model.upstream_invalid_response", False)
    assert "1000 bytes" in failed.message
    assert "reply_limit of the engine, max_reply_bytes of the transport" in failed.message
    assert failed.details == {"endpoint": endpoint, "limitBytes": 1000}


async def test_an_answer_as_long_as_the_limit_passes() -> None:
    transport = HttpTransport(max_reply_bytes=1000)
    async with server(Reply(b"x" * 1000)) as running:
        reply = await transport.send(request(running.port))
    await transport.close()

    assert len(reply.body) == 1000


async def test_an_answer_that_does_not_say_its_length_is_read_up_to_the_limit_and_no_further() -> None:
    sent = asyncio.Event()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 4096)
                await writer.drain()
        except ConnectionError:
            sent.set()

    transport = HttpTransport(max_reply_bytes=100_000)
    async with await asyncio.start_server(endless, "127.0.0.1", 0) as running:
        failed = await failure(transport, request(running.sockets[0].getsockname()[1]))
        await asyncio.wait_for(sent.wait(), 5)
    await transport.close()

    assert failed.details["limitBytes"] == 100_000


async def test_requests_share_one_connection(transport: HttpTransport) -> None:
    async with server(Reply(b"1"), Reply(b"2", 429), Reply(b"3")) as running:
        bodies = [(await transport.send(request(running.port))).body for _ in range(3)]
        opened = running.connections

    assert (bodies, opened) == ([b"1", b"2", b"3"], 1)


async def test_a_redirect_is_not_followed(transport: HttpTransport) -> None:
    seen: list[Received] = []
    async with server(Reply(b"", 307, {"location": "/elsewhere"}), seen=seen) as running:
        reply = await transport.send(request(running.port))

    assert (reply.status, len(seen)) == (307, 1)


async def test_of_a_refusal_no_more_than_64_kib_is_read(transport: HttpTransport) -> None:
    async with server(Reply(b"x" * 1_000_000, 500), Reply(b"x" * 1_000_000)) as running:
        refusal = await transport.send(request(running.port))
        answer = await transport.send(request(running.port))

    assert (len(refusal.body), len(answer.body)) == (ERROR_BODY_BYTES, 1_000_000)


async def test_proxies_of_the_environment_are_not_used(
    transport: HttpTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with server(Reply(b"{}")) as running:
        reply = await transport.send(request(running.port))

    assert reply.status == 200


@pytest.mark.parametrize("drop", ["before_answer", "inside_body"])
async def test_a_connection_that_breaks_off_is_worth_another_try(transport: HttpTransport, drop: str) -> None:
    reply = Reply(b'{"a": 1}', drop="before_answer" if drop == "before_answer" else "inside_body")
    async with server(reply) as running:
        failed = await failure(transport, request(running.port))

    assert (failed.error_code, failed.retryable) == ("model.request_failed", True)
    assert failed.details["networkCode"] == "network.body_interrupted"


async def test_a_closed_port_is_a_failed_connect(transport: HttpTransport) -> None:
    async with server() as running:
        port = running.port
    failed = await failure(transport, request(port, "/v1?key=canary"))

    assert (failed.details["networkCode"], failed.retryable) == ("network.connect_failed", True)
    assert failed.details["endpoint"] == f"http://127.0.0.1:{port}/v1"
    assert "canary" not in f"{failed} {failed.details}"


async def test_a_name_that_does_not_resolve_is_named_so(transport: HttpTransport) -> None:
    failed = await failure(transport, WireRequest("http://no-such-host.invalid/v1", {}, b""))

    assert failed.details["networkCode"] == "network.dns_failed"


async def test_a_server_without_tls_is_named_so(transport: HttpTransport) -> None:
    async with server() as running:
        failed = await failure(transport, WireRequest(f"https://127.0.0.1:{running.port}/v1", {}, b""))

    assert (failed.details["networkCode"], failed.retryable) == ("network.tls_failed", True)


@pytest.mark.parametrize("timeouts", [Timeouts(read=0.1), Timeouts(total=0.1)], ids=["read", "total"])
async def test_a_silent_server_times_out(timeouts: Timeouts) -> None:
    transport = HttpTransport(timeouts)
    async with server(Reply(b"{}").after(60)) as running:
        failed = await failure(transport, request(running.port))
        await transport.close()

    assert (failed.details["networkCode"], failed.retryable) == ("network.timeout", True)


async def test_cancelling_the_task_closes_the_socket_and_stays_a_cancel(transport: HttpTransport) -> None:
    seen: list[Received] = []
    async with server(Reply(b"{}").after(60), seen=seen) as running:
        task = asyncio.create_task(transport.send(request(running.port)))
        while not seen:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            while not running.aborted:
                await asyncio.sleep(0.001)


@pytest.mark.parametrize("url", ["file:///etc/hosts", "http://h:x/", "nowhere"])
async def test_an_address_that_can_not_be_asked_is_a_build_failure(transport: HttpTransport, url: str) -> None:
    failed = await failure(transport, WireRequest(url, {}, b""))

    assert (failed.error_code, failed.retryable) == ("model.request_build_failed", False)


async def test_a_header_that_can_not_be_sent_is_not_quoted_in_the_error(transport: HttpTransport) -> None:
    async with server() as running:
        wire = WireRequest(f"http://127.0.0.1:{running.port}/", {"authorization": "Bearer sk-canary\n"}, b"")
        failed = await failure(transport, wire)

    assert failed.error_code == "model.request_build_failed"
    assert "canary" not in f"{failed} {failed.details} {failed.__cause__}"
    assert failed.__suppress_context__


async def test_urls_are_not_logged(transport: HttpTransport, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with server(Reply(b"{}")) as running:
        await transport.send(request(running.port, "/v1?key=canary"))

    assert "canary" not in caplog.text


async def test_a_closed_transport_opens_again(transport: HttpTransport) -> None:
    async with server(Reply(b"1"), Reply(b"2")) as running:
        first = await transport.send(request(running.port))
        await transport.close()
        second: WireReply = await transport.send(request(running.port))
        opened = running.connections

    assert (first.body, second.body, opened) == (b"1", b"2", 2)


def test_a_request_does_not_show_its_headers() -> None:
    assert "canary" not in repr(WireRequest("http://h", {"authorization": "canary"}, b"canary"))


async def test_a_request_goes_through_the_proxy_that_it_names_and_others_do_not(transport: HttpTransport) -> None:
    through: list[Received] = []
    straight: list[Received] = []
    async with server(Reply(b"{}"), seen=through) as proxy, server(Reply(b"{}"), seen=straight) as model:
        wire = request(model.port)
        await transport.send(replace(wire, proxy=f"http://me:canary@127.0.0.1:{proxy.port}"))
        await transport.send(wire)

    assert through[0].path == wire.url
    assert through[0].headers["proxy-authorization"].startswith("Basic ")
    assert [seen.path for seen in straight] == ["/v1"]


async def test_a_proxy_that_can_not_be_reached_is_told_without_its_password(transport: HttpTransport) -> None:
    wire = replace(request(9), proxy="http://me:canary@127.0.0.1:1")
    failed = await failure(transport, wire)

    assert str(failed.details["networkCode"]).startswith("network.")
    assert "canary" not in f"{failed} {failed.details} {wire!r}"
