"""Through which network proxy a model's server is asked: only one that was named, never one of the environment."""

from __future__ import annotations

from urllib.parse import quote, urlsplit, urlunsplit

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json
from ...graph.ports import SecretStore
from .connection import PROXY_SCHEMES, base_url
from .deployment import Deployment, NetworkProxy
from .fields import text
from .policy import check_host
from .secret import Secret


def network_proxy(payload: dict[str, Json], deployed: Deployment) -> NetworkProxy | None:
    """The payload's proxy, whose host must be allowed; else the deployment's own. Raises InvalidInput, ModelFailed."""
    given = text(payload, "network_proxy")
    if not given:
        if text(payload, "network_proxy_secret_id"):
            raise InvalidInput("network_proxy_secret_id is without network_proxy; add it, or leave both out")
        return deployed.proxy
    url = base_url(given, "network_proxy", PROXY_SCHEMES)
    check_host(deployed.policy, url, "the network proxy")
    return NetworkProxy(url, text(payload, "network_proxy_secret_id"))


def proxy_url(proxy: NetworkProxy, secrets: SecretStore) -> Secret:
    """The URL with the user and password that its secret names, percent-quoted."""
    if not proxy.secret_ref:
        return Secret(proxy.url)
    user, colon, password = (secrets.get(proxy.secret_ref) or "").strip().partition(":")
    if not user or not colon:
        raise InvalidInput("the network proxy's secret is missing, or is not of the form user:password")
    parts = urlsplit(proxy.url)
    return Secret(
        urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{parts.netloc}"))
    )
