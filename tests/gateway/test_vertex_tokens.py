"""Service accounts against a token server on loopback: what is signed, how long a token lasts, what refusals tell."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from treadle.gateway.connections.connection import Connection
from treadle.gateway.connections.sources import connection_from_payload
from treadle.gateway.connections.vertex import service_account
from treadle.gateway.connections.vertex_tokens import AccessTokens, signed_word
from treadle.gateway.gateway import ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import InvalidInput, ModelFailed
from treadle.graph.jsontext import Json, dumps
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

from .gemini_words import answer, said
from .words import MemorySecrets

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
TOKEN = "ya29.canary-token"
FULL: dict[str, Json] = {
    "chat_completion_source": "vertexai", "model": "gemini-2.5-flash", "vertexai_auth_mode": "full",
    "vertexai_region": "europe-west4",
}  # fmt: skip


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey = RSA) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def account_json(token_uri: str, **changes: Json) -> str:
    given: dict[str, Json] = {
        "type": "service_account", "client_email": "writer@ink.test", "private_key": pem(), "private_key_id": "k1",
        "token_uri": token_uri, "project_id": "ink",
    }  # fmt: skip
    return json.dumps({key: value for key, value in (given | changes).items() if value is not None})


def connected(secret: str, **changes: Json) -> Connection:
    return connection_from_payload(FULL | changes, MemorySecrets({"vertexai_service_account_json": secret}))


def _numbered(number: int) -> Reply:
    return granted(f"{TOKEN}-{number}")


class Tokens:
    """A token server that grants numbered tokens, or answers as it is told."""

    def __init__(self, reply: Callable[[int], Reply] | None = None) -> None:
        self.received: list[Received] = []
        self._reply = reply or _numbered
        self.clock = ManualClock()
        self.transport = HttpTransport()
        self.tokens = AccessTokens(self.transport, self.clock)
        self.server = LoopbackServer(self._respond)

    def _respond(self, request: Received) -> Reply:
        self.received.append(request)
        return self._reply(len(self.received))

    def connection(self, **changes: Json) -> Connection:
        return connected(account_json(f"http://127.0.0.1:{self.server.port}/token", **changes))

    async def key(self) -> str:
        signed_in = await self.tokens.signed_in(self.connection())
        assert signed_in.api_key is not None
        return signed_in.api_key.reveal()


def granted(token: str, **changes: Json) -> Reply:
    return Reply(dumps({"access_token": token, "expires_in": 3600, "token_type": "Bearer", **changes}))


@asynccontextmanager
async def serving(reply: Callable[[int], Reply] | None = None) -> AsyncGenerator[Tokens]:
    made = Tokens(reply)
    async with made.server:
        yield made
        await made.transport.close()


def decoded(part: str) -> Json:
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_a_record_of_mode_full_names_its_project_and_keeps_its_key_to_itself() -> None:
    made = connected(account_json("https://token.test"))

    assert made.vertex is not None
    assert (made.vertex.project, made.vertex.region, made.api_key) == ("ink", "europe-west4", None)
    assert made.base_url == "https://europe-west4-aiplatform.googleapis.com"
    assert "PRIVATE KEY" not in repr(made)
    assert connected(account_json("https://token.test"), vertexai_project_id="other").vertex == replace(
        made.vertex, project="other"
    )


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ("{", "not a JSON object"),
        ("[]", "not a JSON object"),
        (pem(), "not a JSON object"),
        (account_json("https://t.test", client_email=None), "no client_email"),
        (account_json("https://t.test", private_key=1), "no private_key"),
        (account_json("https://t.test", private_key="abc"), "not a PEM key"),
        (account_json("http://t.test/token"), "token_uri must begin with https://"),
        (account_json("http://localhost.evil.test/token"), "token_uri must begin with https://"),
        (account_json("http://127.0.0.1@evil.test/token"), "token_uri must begin with https://"),
        (account_json("https://t.test", project_id="a/../b"), "project_id must be a project's id"),
    ],
)
def test_a_secret_that_is_no_service_account_is_refused_and_not_quoted(secret: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        service_account(secret)

    assert told in refused.value.message
    assert "PRIVATE KEY" not in str(refused.value.report())
    assert refused.value.__cause__ is None


def test_the_word_is_signed_for_the_token_server_and_lasts_an_hour() -> None:
    head, claims, signature = signed_word(service_account(account_json("https://token.test")), 1000.9).split(".")

    RSA.public_key().verify(
        base64.urlsafe_b64decode(signature + "=="), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    assert decoded(head) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    assert decoded(claims) == {
        "iss": "writer@ink.test", "scope": "https://www.googleapis.com/auth/cloud-platform",
        "aud": "https://token.test", "iat": 1000, "exp": 4600,
    }  # fmt: skip


@pytest.mark.parametrize(
    "key",
    ["-----BEGIN PRIVATE KEY-----\nYWJj\n-----END PRIVATE KEY-----\n", pem(ec.generate_private_key(ec.SECP256R1()))],
)
def test_a_key_that_can_not_sign_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(InvalidInput, match="not an RSA key") as refused:
        signed_word(service_account(account_json("https://token.test", private_key=key)), 0)

    assert key.splitlines()[1] not in "".join(traceback.format_exception(refused.value))


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)

    with pytest.raises(InvalidInput, match=r"pip install 'treadle\[vertex\]'"):
        signed_word(service_account(account_json("https://token.test")), 0)


async def test_a_token_is_asked_for_once_and_again_a_minute_before_it_expires() -> None:
    async with serving() as held:
        first, second = await held.key(), await held.key()
        await held.clock.sleep(3539)
        third = await held.key()
        await held.clock.sleep(1)
        fourth = await held.key()

    assert (first, second, third, fourth) == (f"{TOKEN}-1", f"{TOKEN}-1", f"{TOKEN}-1", f"{TOKEN}-2")
    form = parse_qs(held.received[0].body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    assert form["assertion"][0].count(".") == 2
    assert held.received[0].headers["content-type"] == "application/x-www-form-urlencoded"


async def test_runs_that_start_together_share_one_token() -> None:
    async with serving() as held:
        keys = await asyncio.gather(*(held.key() for _ in range(5)))

    assert (set(keys), len(held.received)) == ({f"{TOKEN}-1"}, 1)


async def test_two_accounts_have_a_token_each() -> None:
    async with serving() as held:
        one = await held.tokens.signed_in(held.connection())
        other = await held.tokens.signed_in(held.connection(client_email="other@ink.test"))

    assert one.api_key != other.api_key


@pytest.mark.parametrize(
    ("reply", "told", "retryable"),
    [
        (Reply(dumps({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}), 400),
         "Invalid JWT Signature.", False),
        (Reply(b"<html>", 503), "HTTP 503", True),
        (Reply(b"", 302, {"location": "http://127.0.0.1:1/elsewhere"}), "HTTP 302", False),
        (Reply(b"{}"), "holds no access_token", False),
        (Reply(b"nothing"), "holds no access_token", False),
        (granted("bad\ntoken"), "holds no access_token", False),
    ],
)  # fmt: skip
async def test_a_refused_token_is_a_matter_of_authorization(reply: Reply, told: str, *, retryable: bool) -> None:
    async with serving(lambda _: reply) as held:
        with pytest.raises(ModelFailed, match="writer@ink") as refused:
            await held.key()

    assert told in refused.value.message
    assert (refused.value.error_code, refused.value.retryable) == ("model.request_failed", retryable)
    assert refused.value.details["kind"] == "auth"
    assert len(held.received) == 1


async def test_what_was_signed_is_not_quoted_back() -> None:
    def quoting(request: Received) -> Reply:
        (assertion,) = parse_qs(request.body.decode())["assertion"]
        return Reply(dumps({"error_description": f"{assertion} {pem()}"}), 400)

    transport = HttpTransport()
    async with LoopbackServer(quoting) as server:
        at = connected(account_json(f"http://127.0.0.1:{server.port}/token"))
        with pytest.raises(ModelFailed) as refused:
            await AccessTokens(transport, ManualClock()).signed_in(at)
        await transport.close()

    assert "eyJ" not in refused.value.message
    assert "PRIVATE KEY" not in refused.value.message


class Line:
    """A gateway whose Vertex and token server are one server on loopback."""

    def __init__(self, statuses: list[int]) -> None:
        self.received: list[Received] = []
        self._statuses = statuses
        self.server = LoopbackServer(self._respond)
        self.gateway = ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())
        self.granted = 0

    def _respond(self, request: Received) -> Reply:
        if request.path == "/token":
            self.granted += 1
            return granted(f"{TOKEN}-{self.granted}")
        self.received.append(request)
        status = self._statuses.pop(0)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return Reply(
            answer('{"text":"Hi."}').encode() if status == 200 else f'{{"error":"bad {token}"}}'.encode(), status
        )

    async def ask(self, at: Connection) -> None:
        fragments = [self.gateway.encode_turn(at, said("Go."))]
        await self.gateway.generate(self.gateway.outgoing(at, {}, fragments, (), {"sessionId": "s"}))


async def test_a_request_bears_the_token_and_a_refused_one_is_not_used_again() -> None:
    held = Line([200, 401, 200])
    async with held.server:
        base = f"http://127.0.0.1:{held.server.port}"
        at = replace(connected(account_json(f"{base}/token")), base_url=base)
        await held.ask(at)
        with pytest.raises(ModelFailed) as refused:
            await held.ask(at)
        await held.ask(at)
        await held.gateway.close()

    bearers = [request.headers["authorization"] for request in held.received]
    assert bearers == [f"Bearer {TOKEN}-1", f"Bearer {TOKEN}-1", f"Bearer {TOKEN}-2"]
    assert held.received[0].path == (
        "/v1/projects/ink/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent"
    )
    assert "x-goog-api-key" not in held.received[0].headers
    assert TOKEN not in str(refused.value.report())
    assert TOKEN not in at.scrub(f"{TOKEN}-2 was taken")
    assert TOKEN not in repr(at)
