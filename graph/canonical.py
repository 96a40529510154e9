"""The canonical form of a JSON value (RFC 8785), and its fingerprint: equal values have equal ones."""

from __future__ import annotations

import hashlib
import json

import rfc8785

from .jsontext import Json


def canonical_sha256(value: Json) -> str:
    """Hex digits of the RFC 8785 form; what that can't hold (big integers) is spelled as it came, keys sorted."""
    try:
        canonical = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        canonical = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()
    return hashlib.sha256(canonical).hexdigest()


def fingerprint(value: Json) -> str:
    """`sha256:` and the hex digits."""
    return f"sha256:{canonical_sha256(value)}"
