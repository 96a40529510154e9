"""What Google Vertex needs beside a key: how to sign in, a region, a project, and perhaps a service account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_object, loads
from .fields import text
from .secret import Secret

AuthMode = Literal["express", "full"]
"""`express`: an API key. `full`: a service account, whose key is traded for short-lived access tokens."""

AUTH_MODES: tuple[AuthMode, ...] = ("express", "full")
DEFAULT_REGION = "us-central1"
SERVICE_ACCOUNT = "vertexai_service_account_json"
"""The reference under which mode `full` looks for the service account, unless the payload names another."""

_ACCOUNT_KEYS = ("client_email", "private_key", "token_uri", "project_id")
_REGION = re.compile(r"[a-z0-9-]{1,63}")
_PROJECT = re.compile(r"[a-z0-9.:_-]{1,128}", re.IGNORECASE)
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])[:/]")


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A Google service account; its private key is masked."""

    client_email: str
    private_key: Secret
    token_uri: str
    project_id: str
    private_key_id: str = ""
    tokens: list[Secret] = field(default_factory=list[Secret], repr=False, compare=False)
    """Access tokens that were lately given for it: they are secrets of the connection too."""


@dataclass(frozen=True, slots=True)
class Vertex:
    """Which project answers in which region."""

    auth_mode: AuthMode = "express"
    region: str = DEFAULT_REGION
    project: str = ""
    """Blank only in mode `express`, where the key alone may tell it."""
    account: ServiceAccount | None = None
    """In mode `full`; the connection's key is then an access token, or not yet there."""

    @property
    def base_url(self) -> str:
        prefix = "" if self.region == "global" else f"{self.region}-"
        return f"https://{prefix}aiplatform.googleapis.com"

    def secrets(self) -> Iterator[Secret]:
        if self.account is not None:
            yield self.account.private_key
            yield from self.account.tokens


def vertex_settings(payload: dict[str, Json]) -> Vertex:
    """Mode, region and project from `vertexai_*` keys, still without an account; raises InvalidInput naming the key."""
    mode = text(payload, "vertexai_auth_mode") or "express"
    if mode not in AUTH_MODES:
        raise InvalidInput("vertexai_auth_mode must be express (an API key) or full (a service account)")
    region = text(payload, "vertexai_region") or DEFAULT_REGION
    if not is_region(region):
        raise InvalidInput("vertexai_region must be a region's name, such as us-central1 or global")
    key = "vertexai_express_project_id" if mode == "express" else "vertexai_project_id"
    project = text(payload, key)
    if project and not is_project(project):
        raise InvalidInput(f"{key} must be a project's id")
    return Vertex("full" if mode == "full" else "express", region, project)


def is_region(name: str) -> bool:
    return _REGION.fullmatch(name) is not None


def is_project(name: str) -> bool:
    return _PROJECT.fullmatch(name) is not None


def service_account(secret: str) -> ServiceAccount:
    """The account in a service account's JSON; raises InvalidInput that names what is missing and quotes nothing."""
    document = _document(secret)
    if not is_object(document):
        raise InvalidInput("the service account's secret is not a JSON object; store the whole file that Google gave")
    for key in _ACCOUNT_KEYS:
        value = document.get(key)
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(f"the service account's JSON has no {key}; store the whole file that Google gave")
    if "PRIVATE KEY-----" not in document["private_key"]:
        raise InvalidInput("the service account's private_key is not a PEM key; store the whole file that Google gave")
    token_uri = document["token_uri"].strip()
    if not token_uri.startswith("https://") and not _LOOPBACK.match(token_uri):
        raise InvalidInput("the service account's token_uri must begin with https://")
    if not is_project(document["project_id"].strip()):
        raise InvalidInput("the service account's project_id must be a project's id")
    named = document.get("private_key_id")
    return ServiceAccount(
        client_email=document["client_email"].strip(),
        private_key=Secret(document["private_key"]),
        token_uri=token_uri,
        project_id=document["project_id"].strip(),
        private_key_id=named.strip() if isinstance(named, str) else "",
    )


def _document(secret: str) -> Json:
    """The JSON value; None where it is none. No cause is kept: it would quote the key."""
    try:
        return loads(secret)
    except ValueError:
        return None
