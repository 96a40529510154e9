"""The rules of Responses switched off, over HTTP and over sockets."""

from __future__ import annotations

from .mutation import Mutation

_FORMAT = "gateway/formats/openai_responses.py"
_ITEMS = "gateway/responses/items.py"
_SETTINGS = "gateway/responses/settings.py"
_EVENTS = "gateway/responses/events.py"
_STATE = "gateway/provider_state.py"
_SESSIONS = "gateway/responses/sessions.py"
_SOCKETS = "gateway/transports/websocket.py"
_LINE = "gateway/transports/websocket_line.py"
_ERRORS = "gateway/errors.py"

_INCLUDE = "return given if ENCRYPTED in given else [*given, ENCRYPTED]"
_CALL_ID = 'calls.call_id(item.get("call_id"), f"'
_DOUBT = "doubt = self._doubt(outgoing, opened)"
_STALE = "return found == self._previous if self._created is None else found != self._created"

MUTATIONS = (
    Mutation(32, _FORMAT, _CALL_ID, 'calls.call_id(item.get("id"), f"'),
    Mutation(33, _FORMAT, _CALL_ID, 'calls.call_id(item.get("call_id") or item.get("id"), f"'),
    Mutation(34, _FORMAT, "native = calls.own_native(message, NATIVE, connection)", "native = None"),
    Mutation(34, _ITEMS, "inside = output.strip()[1:-1]", "inside = output.strip()[1:-1].replace('\"id\"', '\"_id\"')"),
    Mutation(
        35, _ITEMS, "inside = output.strip()[1:-1]", "inside = output.strip()[1:-1].replace('\"phase\"', '\"_p\"')"
    ),
    Mutation(36, _SETTINGS, _INCLUDE, "return given"),
    Mutation(36, _SETTINGS, _INCLUDE, "return [*given, ENCRYPTED]"),
    Mutation(36, _SETTINGS, "return [ENCRYPTED]", "return []"),
    Mutation(
        36, _SETTINGS, "if not is_list(given) or not all(isinstance(entry, str) for entry in given):", "if False:"
    ),
    Mutation(37, _STATE, "if previous is not None and not _is_count(cursor):", "if False:"),
    Mutation(37, _STATE, "if cursor > message_count:", "if False:"),
    Mutation(38, _FORMAT, "if fragment.role is not Role.ASSISTANT]", "]"),
    Mutation(38, _FORMAT, "later = outgoing.fragments[outgoing.cursor :]", "later = outgoing.fragments"),
    Mutation(39, _FORMAT, "if fragment.role is not Role.ASSISTANT]", "if fragment.role is Role.TOOL]"),
    Mutation(39, _FORMAT, "if fragment.role is not Role.ASSISTANT]", "if fragment.role is not Role.ASSISTANT][:2]"),
    Mutation(40, _SESSIONS, "if builds and code == NOT_FOUND:", "if False:"),
    Mutation(40, _SESSIONS, "if can_repeat and builds and not opened.fresh", "if False and not opened.fresh"),
    Mutation(40, _SESSIONS, _DOUBT, "doubt = None"),
    Mutation(41, _SESSIONS, "if code == LIMIT:", "if False:"),
    Mutation(41, _SOCKETS, "now - live.opened < self._times.max_age", "now >= live.opened"),
    Mutation(42, _SOCKETS, "if not is_whole:", "if False:"),
    Mutation(42, _EVENTS, _STALE, "return False"),
    Mutation(
        43,
        _LINE,
        "            raise self._lost(closed) from None\n",
        "            if closed.rcvd is None or closed.rcvd.code != 1000:\n"
        "                raise self._lost(closed) from None\n",
    ),
    Mutation(43, _LINE, "retryable=closed.rcvd.code != _TOO_BIG,", "retryable=False,"),
    Mutation(44, _ERRORS, "    if is_object(error):\n        return error\n", ""),
    Mutation(44, _ERRORS, "return document if is_object(document) else {}", "return {}"),
    Mutation(45, _SOCKETS, "max_size=self._max_size,", "max_size=2**20,"),
    Mutation(46, _FORMAT, "return Finish.LENGTH, text_of(reason)", "return Finish.STOP, text_of(reason)"),
    Mutation(47, _STATE, "return all(state.get(name) in (None, value)", "return any(True"),
    Mutation(47, _STATE, '"connectionKey": connection.key,\n    }', "}"),
    Mutation(48, _FORMAT, "COUNTED = True", "COUNTED = False"),
    Mutation(62, _STATE, "if continues and response.id is None:", "if False:"),
)
