"""Custody of native blocks: what a provider sent us goes back as it came, or nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.errors import NativeMetadataLost
from ..graph.messages import Message, ModelResponse, NativePart
from ..graph.text import sha256_bytes


def born(message: Message) -> tuple[str, ...]:
    """The SHA-256 of each native block, in order: taken when the answer is decoded, and kept with it."""
    return tuple(sha256_bytes(part.value) for part in message.parts if isinstance(part, NativePart))


def check(message: Message, digests: Sequence[str]) -> None:
    """Raises NativeMetadataLost unless the message still holds exactly the blocks that were born with it."""
    held = born(message)
    if len(held) != len(digests):
        raise NativeMetadataLost(
            f"{len(digests)} provider blocks came with this answer, {len(held)} are left; nothing was sent",
            details={"expected": len(digests), "found": len(held)},
        )
    for position, (now, then) in enumerate(zip(held, digests, strict=True)):
        if now != then:
            raise NativeMetadataLost(
                "a provider's block is not as it was received; nothing was sent",
                details={"block": position, "expectedSha256": then, "foundSha256": now},
            )


def check_arrival(response: ModelResponse, provider: str) -> None:
    """Raises NativeMetadataLost where an answer has tool calls and its native part did not come with it."""
    parts = response.message.parts
    if response.tool_calls and not any(isinstance(part, NativePart) and part.provider == provider for part in parts):
        raise NativeMetadataLost(
            f"the answer has tool calls but no native {provider} blocks; it can't be continued, and nothing was executed",
            details={"provider": provider, "toolCalls": len(response.tool_calls)},
        )


def check_body(body: bytes, sha256: str) -> None:
    """Raises NativeMetadataLost unless a stored reply is the one that was received."""
    now = sha256_bytes(body)
    if now != sha256:
        raise NativeMetadataLost(
            "a stored reply is not as it was received; nothing was sent",
            details={"expectedSha256": sha256, "foundSha256": now},
        )
