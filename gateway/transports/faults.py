"""What went wrong on the line, in the words that both transports share."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from socket import gaierror

from ...graph.errors import Details, ModelFailed

ERROR_BODY_BYTES = 64 * 1024
"""Of a reply outside 200 to 299 no more is read."""

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Of an answer, unless another limit is set: what is longer is refused, and not read to its end."""


def line_failed(network_code: str, what: str, endpoint: str, *, retryable: bool = True, **more: object) -> ModelFailed:
    """`what` continues "the model's server …"; `endpoint` has no query, `more` are further details."""
    details: Details = {"networkCode": network_code, "endpoint": endpoint, **more}
    return ModelFailed(f"the model's server {what} ({network_code})", retryable=retryable, details=details)


def too_long(limit: int, endpoint: str, setting: str) -> ModelFailed:
    """The answer is over the limit; the same request would bring it again. `setting` is the transport's own word."""
    return ModelFailed(
        f"the model's server sent an answer over the limit of {limit} bytes, so it was not read; ask for a shorter one, "
        f"or raise the limit: reply_limit of the engine, {setting} of the transport",
        code="model.upstream_invalid_response",
        details={"endpoint": endpoint, "limitBytes": limit},
    )


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
