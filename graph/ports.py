"""The outside world, as small protocols: time, ids, secrets, the chat, the wire, and waiting for an answer.

The engine is given these; tests give counters and scripts. Stores have their ports in storage/.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from .identity import ChatRef
from .jsontext import Json
from .mcp_tools import McpAnswer, McpTool


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch (UTC)."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for durations."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self) -> str:
        """32 lower-case hex digits, never given twice."""
        ...


class SecretStore(Protocol):
    def get(self, reference: str) -> str | None:
        """The secret, or None where there is none under that name."""
        ...


class ConnectionStore(Protocol):
    """What a data root keeps about models, as documents that the gateway checks. Blocking; raises TreadleError."""

    def get(self, connection_id: str) -> Json | None:
        """The connection's record, or None where there is none of that id."""
        ...

    def settings(self) -> Json | None:
        """The document of policy, network proxy and wire log, or None where there is none."""
        ...


class PresetStore(Protocol):
    """The presets of a front end, as it saved them. Blocking; raises TreadleError."""

    def get(self, api_id: str, name: str) -> Json | None:
        """The preset, or None where there is none of that name; names are compared as they are."""
        ...


@dataclass(frozen=True, slots=True)
class PromptParts:
    """All that a prompt may be made of: no chat, no book and no settings beside these may be looked at."""

    generation_type: str
    prompt_inputs: dict[str, Json]
    """A copy of the frozen ones, with no more history and lore than the context policy allows."""
    macro_context: dict[str, Json]
    settings: dict[str, Json]
    """The preset's, with the model's connection in place."""
    system_prompt: str
    task_prompt: str | None = None
    model_id: str | None = None
    json_schema: Json = None


@dataclass(frozen=True, slots=True)
class AssembledPrompt:
    payload: dict[str, Json]
    """A chat payload: messages, model, source, settings; without tools."""
    token_counts: dict[str, Json] = field(default_factory=dict[str, Json])
    """Empty where nothing was counted."""


class PromptAssembler(Protocol):
    """Makes a prompt as a front end's prompt manager does."""

    @property
    def engine(self) -> str:
        """Its name, kept with what it makes."""
        ...

    async def assemble(self, parts: PromptParts) -> AssembledPrompt:
        """Raises InvalidInput where the parts make no prompt. The parts are its own to change."""
        ...


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request as it leaves: the body is final."""

    url: str
    headers: Mapping[str, str] = field(repr=False)  # they hold the key
    body: bytes = field(repr=False)
    method: str = "POST"
    pieces: tuple[bytes, ...] = field(default=(), repr=False)
    """What the body was joined from, where it was: earlier messages are the same pieces in every request."""
    proxy: str | None = field(default=None, repr=False)  # it may hold a password
    """The network proxy's URL, where the request must go through one."""


@dataclass(frozen=True, slots=True)
class WireReply:
    """A reply as it came: the body is never touched."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class ModelTransport(Protocol):
    async def send(self, request: WireRequest) -> WireReply:
        """One exchange; raises ModelFailed for faults of the line. Cancelling the task closes the socket."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ChatHead:
    """The part of a chat that a run may see: how many messages, and the SHA-256 of the last one's line."""

    message_count: int
    last_sha256: str | None

    def to_json(self) -> dict[str, Json]:
        return {"messageCount": self.message_count, "lastSha256": self.last_sha256}


CommitMode = Literal["replace", "append"]


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """`chat_commit_requested` with the file's text and the head that the commit must find."""

    payload: dict[str, Json]
    """The event's payload, as docs/events.md lists it."""
    text: str
    commit_seq: int
    """1 for the run's first commit."""
    head: ChatHead
    """What the run saw at its start; the first commit requires that prefix unchanged."""
    message_id: str | None
    """The message that the run's earlier commits made; None before the first."""

    @property
    def chat_ref(self) -> Json:
        return self.payload["chatRef"]


@dataclass(frozen=True, slots=True)
class CommitReceipt:
    """Where the text stands now: the zero-based index of the message, as a string."""

    message_id: str


class ChatHost(Protocol):
    """A chat that runs write into. Every method raises TreadleError subclasses that say what is wrong."""

    async def stable_chat_id(self, ref: ChatRef) -> str:
        """The chat's identity, which survives renames (the header's `integrity`)."""
        ...

    async def head(self, ref: ChatRef, generation_type: str) -> ChatHead:
        """The messages a run of this type may see; raises `agent.swipe_target_invalid`."""
        ...

    async def commit(self, request: CommitRequest) -> CommitReceipt:
        """Write the text into the chat once; the same commitId again gives the first receipt."""
        ...

    async def update_persist_metadata(self, payload: dict[str, Json]) -> None:
        """Mark the run's message with its persist state; repeating it changes nothing."""
        ...


ChatRole = Literal["user", "assistant", "system"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat as tools show it."""

    index: int
    """Zero-based; the header is not counted."""
    role: ChatRole
    text: str
    name: str | None = None
    send_date: str | None = None


@dataclass(frozen=True, slots=True)
class ChatHit:
    """A message that holds words that were looked for."""

    index: int
    weight: int
    """Of the words that it holds, each counted once."""


class ChatReader(Protocol):
    """One chat as tools read it, as it is at each call. Safe for threads.

    Blocking; raises NotFound `chat.not_found`, and InvalidData naming a damaged line.
    """

    def count(self) -> int:
        """How many messages the chat has now."""
        ...

    def read(self, indexes: Collection[int]) -> Mapping[int, ChatMessage]:
        """The messages at these indexes, without those that do not exist; no other message is parsed."""
        ...

    def search(
        self, words: Mapping[str, int], within: range, *, role: ChatRole | None = None, limit: int
    ) -> Sequence[ChatHit]:
        """The messages within a range of indexes that weigh most, newer before older ones of the same weight.

        A message weighs what the words together weigh that its text holds: words are in lower case, and are held
        where they are a part of the text in lower case (`str.lower`). One without any is no hit.
        """
        ...


@runtime_checkable
class ReadableHost(Protocol):
    """A chat host whose chats the run's tools may read; other hosts have no chat to search."""

    def chat_reader(self, ref: ChatRef) -> ChatReader: ...


@dataclass(frozen=True, slots=True)
class MessageRewind:
    """`committed_message_rollback_requested`, with the text that the run's message is to have."""

    payload: dict[str, Json]
    """The event's payload, as docs/events.md lists it; `commits` are those that stay, as the message's notes list them."""
    text: str | None
    """None: no commit stays, so the message goes, or the swipe that the run added to it."""
    repeated: bool
    """The request was made before and its answer was lost, so it may be carried out already."""


@runtime_checkable
class RewindableHost(Protocol):
    """A chat host that can put a run's message back as an earlier commit left it; other hosts refuse such a rollback."""

    async def rewind_message(self, request: MessageRewind) -> str | None:
        """The message's id, None where it, or the swipe, is gone; a repeated request changes nothing more.

        Raises HostFailed, with the chat as it was: `agent.commit_chat_mismatch` for another chat,
        `commit.cursor_integrity` where the text is not the one that the run left, `agent.rollback_*` for the rest.
        """
        ...


class McpTools(Protocol):
    """The servers whose tools one run may call. Blocking: called in a thread, one call at a time."""

    def call(self, tool: McpTool, arguments: dict[str, Json]) -> McpAnswer:
        """Call the tool once; raises ToolRefused `mcp.*` for what kept it from an answer.

        Raises RunCancelled as soon as the run is cancelled; the server is told to stop.
        """
        ...


AskKind = Literal["chat_commit", "persist_metadata", "approval"]

Ask = Callable[[AskKind, dict[str, Json]], Awaitable[dict[str, Json]]]
"""Wait for a person or a host: the payload that was journalled goes out, the answer comes back.

In the engine it waits for a future; in a bare graph it interrupts.
"""


class UpgradeRefused(Exception):
    """The server answered a request for a WebSocket with plain HTTP; `reply` is its answer, at most 64 KiB of body."""

    def __init__(self, reply: WireReply) -> None:
        self.reply = reply
        super().__init__(f"the server refused a WebSocket with {reply.status}")


@dataclass(frozen=True, slots=True)
class Opened:
    """The socket that the next turn of a session will use."""

    fresh: bool
    """Whether it was opened just now: what lies behind it remembers nothing."""
    age_s: float
    generation: int
    """Which socket it is; no two of the same `ModelSockets` share the number."""


class ModelSockets(Protocol):
    async def open(self, session: str, request: WireRequest) -> Opened:
        """See to a live socket to the request's URL with its headers; raises UpgradeRefused, or ModelFailed."""
        ...

    async def turn(self, session: str, message: bytes, is_last: Callable[[bytes], bool]) -> tuple[bytes, ...]:
        """Send one text frame; the frames received up to the one of which `is_last` is true.

        Turns of one session wait for each other. A turn that ends otherwise, by cancel too, ends its socket.
        """
        ...

    def discard(self, session: str) -> None:
        """Drop the session's socket: the next `open` makes a new one."""
        ...

    def close_session(self, session: str) -> None:
        """End the session without waiting; a turn of it fails with `model.cancelled`."""
        ...

    async def close(self) -> None: ...
