"""What was seen when a case was run. A thing that a kind does not look at stays None, and no check passes on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from treadle.graph.jsontext import Json, is_object, loads

from .faults import CaseFault
from .upstream import Sent

TERMINAL = ("run_completed", "run_partial_success", "run_failed", "run_cancelled")
NOT_EXECUTED = "tool.invalid_arguments"
"""A call refused so was started, but the tool's own code had nothing to do yet."""


@dataclass(frozen=True, slots=True)
class Result:
    """How one call ended."""

    call_id: str
    is_error: bool
    content: str = ""
    structured: Json = None
    error_code: str | None = None
    resource_refs: tuple[str, ...] = ()
    recoverable: bool = True
    """The run went on: the model was told."""
    executed: bool = True


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat file before and after, and the ids of the commits that changed it."""

    before: bytes
    after: bytes
    saved: tuple[str, ...]

    @property
    def messages(self) -> list[dict[str, Json]]:
        return messages_in(self.after)

    @property
    def created(self) -> int:
        return max(0, len(self.messages) - len(messages_in(self.before)))


@dataclass(frozen=True, slots=True)
class RunSeen:
    """A run's folder as it stood when the case was over."""

    id: str
    status: str
    """Where the harness ended the run: the status that it had by then."""
    files: dict[str, bytes]
    """All but the database, by path."""

    @property
    def journal(self) -> bytes:
        return self.files.get("events.jsonl", b"")

    @property
    def events(self) -> list[dict[str, Json]]:
        return events_in(self.journal)

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def of_type(self, *types: str) -> list[dict[str, Json]]:
        """The payloads of the events of these types."""
        return [event.get("payload") or {} for event in self.events if event["type"] in types]

    @property
    def error(self) -> dict[str, Json] | None:
        """The failure that the terminal event tells."""
        told = self.of_type("run_failed", "run_partial_success")
        return told[-1] if told else None

    def json(self, path: str) -> Json:
        if path not in self.files:
            raise CaseFault(f"the run folder has no {path}")
        return loads(self.files[path])

    @property
    def call_ids(self) -> list[str]:
        """Of every call that was requested, in order."""
        return [told["callId"] for told in self.of_type("tool_call_requested")]

    def result(self, call_id: str) -> Result | None:
        """The first call of this id, None where the run never came to its end."""
        stored = [told["path"] for told in self.of_type("tool_result_stored") if told["callId"] == call_id]
        executed = self.executed(call_id)
        if stored:
            held = self.json(stored[0])
            return Result(
                call_id, held["isError"], held["content"], held["structured"], held.get("errorCode"),
                tuple(held["resourceRefs"]), executed=executed,
            )  # fmt: skip
        for told in self.of_type("tool_call_failed"):
            if told["callId"] == call_id:
                error = self.error or {}
                return Result(
                    call_id, True, str(told.get("message")), error_code=error.get("code"), recoverable=False,
                    executed=executed,
                )  # fmt: skip
        return None

    def executed(self, call_id: str) -> bool:
        """Whether the tool's own code ran: the call was started, and its arguments were fit for it."""
        if not any(told["callId"] == call_id for told in self.of_type("tool_call_started")):
            return False
        failed = [told for told in self.of_type("tool_call_failed") if told["callId"] == call_id]
        return not any(told.get("errorCode") == NOT_EXECUTED for told in failed)


@dataclass(slots=True)
class Observed:
    run: RunSeen | None = None
    """None: no run was started."""
    sent: list[Sent] | None = None
    """Every request that the model's server got."""
    next_sent: int = 1
    """The place in `sent` of the first request after turn 1, or after the resume."""
    errors: list[str] = field(default_factory=list[str])
    """What was raised to the caller, as `code: message`."""
    codes: list[str] = field(default_factory=list[str])
    """The codes of those errors."""
    calls: Sequence[Result | None] | None = None
    """One result a call of the case's own list; None for a call that was never answered."""
    chat: Chat | None = None
    facts: dict[str, Json] = field(default_factory=dict[str, Json])
    """What only one kind measures, by the name that expectations use."""
    again: Callable[[], Observed] | None = None
    """The same case once more, from nothing."""

    def the_run(self) -> RunSeen:
        if self.run is None:
            raise CaseFault(f"no run was started: {'; '.join(self.errors) or 'nothing tells why'}")
        return self.run

    def requests(self) -> list[Sent]:
        if self.sent is None:
            raise CaseFault("this kind of case sends no request")
        return self.sent

    def fact(self, name: str) -> Json:
        if name not in self.facts:
            raise CaseFault(f"this kind of case does not measure {name}")
        return self.facts[name]

    def all_results(self) -> list[Result]:
        """Every result there is: of the case's own calls, else of the run's."""
        if self.calls is not None:
            return [result for result in self.calls if result is not None]
        run = self.the_run()
        return [found for call_id in run.call_ids if (found := run.result(call_id)) is not None]

    def error_texts(self) -> list[str]:
        """All that was said of what went wrong, to the caller, in the journal, and to the model."""
        texts = list(self.errors)
        if self.run is not None:
            told = self.run.of_type("run_failed", "run_partial_success", "chat_commit_failed")
            texts += [f"{payload.get('code', '')}: {payload.get('message', '')}" for payload in told]
        if self.run is not None or self.calls is not None:
            texts += [f"{result.error_code}: {result.content}" for result in self.all_results() if result.is_error]
        return texts


def events_in(journal: bytes) -> list[dict[str, Json]]:
    """The events that can be read; what is damaged is passed over here, and judged by who looks at the bytes."""
    found: list[dict[str, Json]] = []
    for line in journal.split(b"\n"):
        try:
            value = loads(line)
        except ValueError:
            continue
        if is_object(value) and "type" in value:
            found.append(value)
    return found


def messages_in(chat: bytes) -> list[dict[str, Json]]:
    """The messages of a chat file; a line that is no object is one too, an empty one."""
    lines = [line for line in chat.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    found: list[dict[str, Json]] = []
    for line in lines[1:]:
        try:
            value = loads(line)
        except ValueError:
            value = {}
        found.append(value if is_object(value) else {})
    return found
