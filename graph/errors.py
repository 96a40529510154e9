"""Every error Treadle raises: its code is the contract, its docstring is its message.

A failure that the model can mend is a `ToolRefused`; it goes back to the model as a tool result. Everything else
ends the run, or is told to the caller before a run exists.

    TreadleError
    +-- InvalidInput            what the caller gave is wrong (nothing was changed)
    +-- NotFound                what the caller named does not exist
    +-- PermissionDenied        this caller may not do this
    +-- InvalidData             what is on disk is damaged or not ours
    +-- StorageFailed           the disk refused
    +-- ModelFailed             the model's side refused or answered wrongly
    +-- RunFailed               the run cannot go on
    +-- RunBusy                 another process drives the run
    +-- HostFailed              the chat host refused
    +-- McpFailed               a server of outside tools can't be used
    RunCancelled                a signal, not an error: the run was asked to stop
    ToolRefused                 recoverable: told to the model
"""

from __future__ import annotations

from typing import ClassVar

Details = dict[str, object]


_USER_RETRYABLE = frozenset({"model.tool_call_required", "agent.tool_after_finish", "agent.max_tool_rounds_exceeded"})


class TreadleError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "agent.internal_error"
    prefix: ClassVar[str] = "Internal error: "
    """What `technicalMessage` puts before the code."""

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        retryable: bool = False,
        details: Details | None = None,
    ) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.error_code = code or type(self).code
        self.retryable = retryable
        self.details: Details = details or {}
        super().__init__(f"{self.error_code}: {self.message}")

    @property
    def technical_message(self) -> str:
        return f"{self.prefix}{self.error_code}: {self.message}"

    def report(self) -> dict[str, object]:
        """What `run_failed` carries of the error."""
        return {
            "code": self.error_code,
            "message": self.message,
            "technicalMessage": self.technical_message,
            "retryable": self.retryable,
            "userRetryable": self.retryable or self.error_code in _USER_RETRYABLE,
            "details": self.details,
        }


class InvalidInput(TreadleError):
    """What was given can't be used."""

    code = "agent.validation_error"
    prefix = "Validation error: "


class NotFound(TreadleError):
    """There is no such thing here."""

    code = "agent.not_found"
    prefix = "Not found: "


class PermissionDenied(TreadleError):
    """This is not allowed."""

    code = "agent.permission_denied"
    prefix = "Permission denied: "


class InvalidData(TreadleError):
    """What is stored is damaged, or was not written by Treadle."""

    code = "agent.validation_error"
    prefix = "Validation error: "


class StorageFailed(TreadleError):
    """The disk refused a read or a write."""

    code = "agent.storage_failed"


class JournalAppendFailed(StorageFailed):
    """The journal could not be written, so nothing further was done."""

    code = "journal.append_failed"


class RunLeft(StorageFailed):
    """The disk refused to record what others see already, or how the run ends; the run is left, to be resumed."""


class JournalDamaged(InvalidData):
    """The journal is damaged before its last line."""

    code = "agent.journal_damaged"


class ModelFailed(TreadleError):
    """The model's server refused, or its answer can't be used."""

    code = "model.request_failed"
    prefix = ""

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        retryable: bool = False,
        retry_after_ms: int | None = None,
        details: Details | None = None,
    ) -> None:
        super().__init__(message, code=code, retryable=retryable, details=details)
        self.retry_after_ms = retry_after_ms


class NativeMetadataLost(ModelFailed):
    """A provider's own block is missing or altered; nothing was sent."""

    code = "model.native_metadata_lost"


class RunFailed(TreadleError):
    """The run can't go on."""

    prefix = "Validation error: "


class RunBusy(TreadleError):
    """Another process is driving this run; wait for it, or cancel the run."""

    code = "agent.run_busy"


class LeaseLost(TreadleError):
    """Another process took this run over; this one changes nothing more."""

    code = "agent.run_busy"


class EffectUnknown(RunFailed):
    """A crash hid whether a change was made, and the file does not tell."""

    code = "agent.effect_unknown"


class HostFailed(TreadleError):
    """The chat could not take the change."""

    code = "agent.chat_commit_failed"


class McpFailed(TreadleError):
    """A server of outside tools can't be used."""

    code = "mcp.server_unavailable"


class ToolRefused(Exception):
    """The model asked for something it can mend: it is told, and the run goes on."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")


class RunCancelled(Exception):
    """The run was asked to stop."""
