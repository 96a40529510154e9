"""What went wrong on the line, in the words that both transports share."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from socket import gaierror

from ...graph.errors import Details, ModelFailed

ERROR_BODY_BYTES = 64 * 1024
"""Of a reply outside 200 to 299 no more is read."""


def line_failed(network_code: str, what: str, endpoint: str, *, retryable: bool = True, **more: object) -> ModelFailed:
    """`what` continues "the model's server …"; `endpoint` has no query, `more` are further details."""
    details: Details = {"networkCode": network_code, "endpoint": endpoint, **more}
    return ModelFailed(f"the model's server {what} ({network_code})", retryable=retryable, details=details)


def not_askable() -> ModelFailed:
    """The address or a header can't be sent; nothing of them is told, as they may hold the key."""
    return ModelFailed("the request's address or headers are not valid", code="model.request_build_failed")


def connect_fault(error: BaseException) -> tuple[str, str]:
    """Network code and words for a connection that could not be made."""
    if any(isinstance(cause, gaierror) for cause in causes(error)):
        return "network.dns_failed", "has a name that can't be resolved"
    if any(isinstance(cause, ssl.SSLError) for cause in causes(error)):
        return "network.tls_failed", "could not be reached securely"
    return "network.connect_failed", "can't be reached"


def is_bad_certificate(error: BaseException) -> bool:
    return any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes(error))


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what caused it, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
