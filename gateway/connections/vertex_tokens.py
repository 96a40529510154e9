"""Access tokens for Google service accounts: asked for with a signed word, kept until shortly before they expire."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from ...graph.errors import InvalidInput, ModelFailed
from ...graph.jsontext import Json, dumps, is_object, loads
from ...graph.ports import Clock, ModelTransport, WireReply, WireRequest
from .connection import Connection, without_query
from .secret import Secret, scrub
from .vertex import ServiceAccount

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"

_ASKED_SECONDS = 3600
_SPARE_SECONDS = 60
"""A token that expires sooner is not used any more: the request takes time too."""
_KEPT = 2
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(slots=True)
class _Held:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    token: Secret | None = None
    expires_at: float = 0.0


class AccessTokens:
    """One token an account at a time, however many runs ask for it."""

    def __init__(self, transport: ModelTransport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        self._held: dict[ServiceAccount, _Held] = {}

    async def signed_in(self, connection: Connection) -> Connection:
        """The connection with an access token for its key, where it has a service account; else as it is.

        Raises ModelFailed where no token is given, and InvalidInput for a private key that can't sign.
        """
        account = None if connection.vertex is None else connection.vertex.account
        if account is None:
            return connection
        held = self._held.setdefault(account, _Held())
        async with held.lock:
            if held.token is None or self._clock.now() >= held.expires_at - _SPARE_SECONDS:
                await self._renew(held, account, connection)
        _remember(account, held.token)
        return replace(connection, api_key=held.token)

    def forget(self, connection: Connection) -> None:
        """Ask for a new token next time: the server did not take this one."""
        account = None if connection.vertex is None else connection.vertex.account
        if account is not None:
            self._held.pop(account, None)

    async def _renew(self, held: _Held, account: ServiceAccount, connection: Connection) -> None:
        now = self._clock.now()
        assertion = await asyncio.to_thread(signed_word, account, now)
        proxy = None if connection.proxy is None else connection.proxy.reveal()
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        body = urlencode({"grant_type": GRANT, "assertion": assertion}).encode()
        reply = await self._transport.send(WireRequest(account.token_uri, headers, body, proxy=proxy))
        held.token, lifetime = _granted(reply, account, Secret(assertion))
        held.expires_at = now + lifetime


def signed_word(account: ServiceAccount, now: float) -> str:
    """The JWT that stands for the account for an hour, signed RS256."""
    head = {"alg": "RS256", "typ": "JWT"} | ({"kid": account.private_key_id} if account.private_key_id else {})
    claims = {
        "iss": account.client_email,
        "scope": SCOPE,
        "aud": account.token_uri,
        "iat": int(now),
        "exp": int(now) + _ASKED_SECONDS,
    }
    signed = _base64(dumps(head)) + b"." + _base64(dumps(claims))
    return (signed + b"." + _base64(_signature(account, signed))).decode()


def _signature(account: ServiceAccount, data: bytes) -> bytes:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
    except ImportError:
        raise InvalidInput("a service account needs the extra vertex: pip install 'treadle[vertex]'") from None
    try:
        key = serialization.load_pem_private_key(account.private_key.reveal().encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise InvalidInput("the service account's private_key is not an RSA key; store the whole file that Google gave")
    return key.sign(data, padding.PKCS1v15(), hashes.SHA256())


def _granted(reply: WireReply, account: ServiceAccount, assertion: Secret) -> tuple[Secret, float]:
    """The token and its seconds; raises ModelFailed."""
    document = _document(reply.body)
    if not 200 <= reply.status < 300:
        told = document.get("error_description") or document.get("error")
        why = scrub(told, [account.private_key, assertion])[:200] if isinstance(told, str) else f"HTTP {reply.status}"
        raise _refused(account, why, retryable=reply.status in _TRANSIENT, status=reply.status)
    token, lifetime = document.get("access_token"), document.get("expires_in")
    if not isinstance(token, str) or not token.strip() or not all("!" <= char <= "~" for char in token.strip()):
        raise _refused(account, "the answer holds no access_token")
    seconds = lifetime if isinstance(lifetime, int | float) and not isinstance(lifetime, bool) else _ASKED_SECONDS
    return Secret(token.strip()), float(seconds)


def _document(body: bytes) -> dict[str, Json]:
    try:
        document = loads(body)
    except ValueError:
        return {}
    return document if is_object(document) else {}


def _refused(account: ServiceAccount, why: str, *, retryable: bool = False, status: int | None = None) -> ModelFailed:
    details: dict[str, object] = {"kind": "auth", "endpoint": without_query(account.token_uri)}
    if status is not None:
        details["status"] = status
    return ModelFailed(
        f"no access token for the service account {account.client_email}: {why}", retryable=retryable, details=details
    )


def _remember(account: ServiceAccount, token: Secret | None) -> None:
    """What a run's texts are scrubbed of: its connection knows the account, not each request's token."""
    if token is not None and token not in account.tokens:
        account.tokens.append(token)
        del account.tokens[:-_KEPT]


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
