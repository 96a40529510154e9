"""The MCP servers of this process's runs: each run has connections of its own, made at its first call and closed with it."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from pathlib import Path

from ...gateway.connections.secret import scrub
from ...graph.errors import McpFailed, RunCancelled, ToolRefused, TreadleError
from ...graph.jsontext import Json
from ...graph.mcp_tools import McpAnswer, McpTool
from ...graph.ports import SecretStore
from ...nodes.cancel import CancelSignal
from ...storage.mcp_servers import McpServersFile
from .answers import answer_of
from .client import Listed, ServerRefused, Session, TimedOut, Unreachable
from .settings import ServerSettings, mcp_servers, way_to

_LOG_TAIL = 300


class McpSessions:
    """Blocking, and safe to call from several threads."""

    def __init__(self, file: McpServersFile, secrets: SecretStore) -> None:
        self._file = file
        self._secrets = secrets
        self._runs: dict[str, RunMcpTools] = {}
        self._ending: list[Session] = []
        self._lock = threading.Lock()

    def settings(self) -> Mapping[str, ServerSettings]:
        """Raises InvalidInput for a bad file."""
        return mcp_servers(self._file)

    def listed(self, servers: Iterable[str]) -> dict[str, tuple[Listed, ...]]:
        """What these servers, which the file names, offer now: each is connected to for it, and let go.

        Raises McpFailed `mcp.server_unavailable` for one that can't be reached, with its last words.
        """
        settings = self.settings()
        return {name: self._listed(name, settings[name]) for name in servers}

    def for_run(self, run_id: str, logs: Path, cancel: CancelSignal) -> RunMcpTools:
        """The run's own connections; none is made before its first call. `logs`: the folder of the servers' logs."""
        tools = RunMcpTools(self, logs, cancel)
        with self._lock:
            self._runs[run_id] = tools
        return tools

    def session(self, name: str, settings: ServerSettings, log: Path) -> Session:
        """A connection that is not yet open; raises InvalidInput for a key that is not there."""
        return Session(way_to(name, settings, self._secrets), log)

    def let_go(self, run_id: str) -> None:
        """Close the run's connections; nobody waits for the servers to end."""
        with self._lock:
            tools = self._runs.pop(run_id, None)
        if tools is not None:
            tools.close()

    def leave(self, session: Session) -> None:
        """Close the connection without waiting; `close` waits for it."""
        session.close()
        with self._lock:
            self._ending = [one for one in self._ending if not one.has_ended] + [session]

    def close(self) -> None:
        """Close all connections, and wait until no server that was started is left."""
        for run_id in list(self._runs):
            self.let_go(run_id)
        with self._lock:
            ending, self._ending = self._ending, []
        for session in ending:
            session.join()

    def _listed(self, name: str, settings: ServerSettings) -> tuple[Listed, ...]:
        with tempfile.TemporaryDirectory(prefix="treadle-mcp-") as folder:
            log = Path(folder) / "stderr.log"
            session = self.session(name, settings, log)
            try:
                return session.open()
            except Unreachable as error:
                session.join()
                words = scrub(_last_words(log), session.way.secrets)
                raise McpFailed(f"the MCP server {name} can't be used: {error.reason}{words}") from None
            finally:
                session.close()
                session.join()


class RunMcpTools:
    """The servers of one run: an `McpTools`."""

    def __init__(self, sessions: McpSessions, logs: Path, cancel: CancelSignal) -> None:
        self._sessions = sessions
        self._logs = logs
        self._cancel = cancel
        self._open: dict[str, tuple[Session, Mapping[str, Listed]]] = {}
        self._closed = False
        self._lock = threading.Lock()

    def call(self, tool: McpTool, arguments: dict[str, Json]) -> McpAnswer:
        session, listed = self._session(tool, self._allowing(tool))
        _check_unchanged(tool, listed.get(tool.tool))
        try:
            future = session.call(tool.tool, arguments)
            with self._cancel.stopping(future.cancel):
                return answer_of(session.result(future))
        except CancelledError:
            raise RunCancelled from None
        except Unreachable as error:
            self._drop(tool.server)
            if self._cancel.is_raised:
                raise RunCancelled from None
            raise _unavailable(tool, f"{error.reason}. Whether the call was carried out is not known") from None
        except TimedOut:
            raise ToolRefused(
                "mcp.timeout",
                f"{tool.spec.model_name} did not answer within {session.way.timeout_s:g} s and was told to stop. Whether "
                "the call was carried out is not known.",
            ) from None
        except ServerRefused as error:
            raise ToolRefused("mcp.tool_error", error.message) from None

    def close(self) -> None:
        with self._lock:
            self._closed = True
            held, self._open = self._open, {}
        for session, _ in held.values():
            self._sessions.leave(session)

    def _allowing(self, tool: McpTool) -> ServerSettings:
        """The server's settings as they are now; a tool that they no longer allow is refused."""
        try:
            settings = self._sessions.settings().get(tool.server)
        except TreadleError as error:
            raise _unavailable(tool, error.message) from error
        if settings is None or not settings.enabled:
            raise ToolRefused(
                "mcp.server_denied", f"The user's settings no longer allow the server of {tool.spec.model_name}."
            )
        if not settings.allows(tool.tool):
            raise ToolRefused("mcp.tool_denied", f"The user's settings no longer allow {tool.spec.model_name}.")
        return settings

    def _session(self, tool: McpTool, settings: ServerSettings) -> tuple[Session, Mapping[str, Listed]]:
        """The server's connection: the one there is, or a new one."""
        held = self._open.get(tool.server)
        if held is not None and not held[0].has_ended:
            return held
        try:
            session = self._sessions.session(tool.server, settings, self._logs / f"{tool.server}.log")
            opened = session, self._opened(session, tool)
        except TreadleError as error:
            raise _unavailable(tool, error.message) from error
        with self._lock:
            if not self._closed:
                self._open[tool.server] = opened
                return opened
        self._sessions.leave(session)
        raise _unavailable(tool, "the run is being closed. The call was not made")

    def _opened(self, session: Session, tool: McpTool) -> Mapping[str, Listed]:
        try:
            with self._cancel.stopping(session.close):
                return {one.name: one for one in session.open()}
        except Unreachable as error:
            self._sessions.leave(session)
            if self._cancel.is_raised:
                raise RunCancelled from None
            raise _unavailable(tool, f"{error.reason}. The call was not made") from None

    def _drop(self, server: str) -> None:
        with self._lock:
            held = self._open.pop(server, None)
        if held is not None:
            self._sessions.leave(held[0])


def _check_unchanged(tool: McpTool, now: Listed | None) -> None:
    """A tool is called only as the model knows it."""
    if now is None:
        raise ToolRefused("mcp.tool_changed", f"Its server no longer offers {tool.spec.model_name}. Go on without it.")
    if now.schema != tool.spec.input_schema:
        raise ToolRefused(
            "mcp.tool_changed",
            f"The arguments of {tool.spec.model_name} have changed since this run began. Go on without it.",
        )


def _unavailable(tool: McpTool, reason: str) -> ToolRefused:
    return ToolRefused("mcp.server_unavailable", f"The server of {tool.spec.model_name} can't be used: {reason}.")


def _last_words(log: Path) -> str:
    """The last line that the server said on its standard error."""
    try:
        lines = log.read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return f"; its last words: {lines[-1].strip()[:_LOG_TAIL]}" if lines else ""
