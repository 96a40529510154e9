"""Every key that a case may expect, with the check that it stands for; a key that is not here fails the case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from treadle.graph.jsontext import Json

from .expects import measured, runs, skills, tools, wire
from .faults import CaseFault, a_list, an_object
from .observed import Observed

Check = Callable[[Json, Observed], Iterator[str]]

CHECKS: dict[str, Check] = {
    "next_request": wire.next_request,
    "request": wire.request,
    "upstream_request_absent_keys": wire.absent_keys,
    "decoded": wire.decoded,
    "provider_state": wire.provider_state,
    "read_model_turn": wire.read_model_turn,
    "upstream_calls_total": wire.calls_total,
    "attempts": wire.attempts,
    "attempt_error_code": wire.attempt_error_code,
    "min_wait_ms": wire.min_wait_ms,
    "cancel_latency_ms_max": partial(measured.at_most, "cancel_latency_ms"),
    "run": runs.run,
    "error_code_any_of": runs.error_code_any_of,
    "events_contain": runs.events_contain,
    "events_absent": runs.events_absent,
    "event_counts": runs.event_counts,
    "last_event": runs.last_event,
    "event_payload_absent": runs.event_payload_absent,
    "journal_must_not_contain": runs.journal_must_not_contain,
    "every_line_parses": runs.every_line_parses,
    "torn_tail_reported": runs.torn_tail_reported,
    "files": skills.files,
    "files_hex": runs.files_hex,
    "error_mentions": runs.error_mentions,
    "error_mentions_any": runs.error_mentions_any,
    "fatal": runs.fatal,
    "no_crash": runs.no_crash,
    "rejected_at_start_or_tool_error": runs.rejected_at_start_or_tool_error,
    "run_dirs_created": runs.run_dirs_created,
    "audit": runs.audit,
    "tools": tools.tools,
    "results": tools.results,
    "tools_executed": tools.tools_executed,
    "tools_executed_total": tools.tools_executed_total,
    "tool_start_count": tools.tool_start_count,
    "model_text_must_not_contain": tools.model_text_must_not_contain,
    "results_mark_damage": tools.results_mark_damage,
    "read_seqs_one_of": measured.read_seqs_one_of,
    "lines_added": partial(measured.fact, "lines_added"),
    "roundtrip_equal": partial(measured.fact, "roundtrip_equal"),
    "seqs": measured.seqs,
    "delivered": measured.delivered,
    "after_unsubscribe_calls": partial(measured.fact, "after_unsubscribe_calls"),
    "empty_ok": measured.empty_ok,
    "rejected_or_clamped": measured.rejected_or_clamped,
    "committed": measured.committed,
    "host_commits": measured.host_commits,
    "chat_messages_created": measured.chat_messages_created,
    "chat_message_text": measured.chat_message_text,
    "message_count": measured.message_count,
    "file_unchanged": measured.file_unchanged,
    "persist_unchanged": partial(measured.fact, "persist_unchanged"),
    "rendered": measured.rendered,
    "canonical_unchanged": partial(measured.fact, "canonical_unchanged"),
    "terminates": partial(measured.fact, "terminates"),
    "tool_strict_one_of": measured.tool_strict_one_of,
    "names_match": measured.names_match,
    "names_unique": measured.names_unique,
    "count": measured.count,
    "reject": measured.reject,
    "accept": measured.accept,
    "host_read": measured.host_read,
    "nothing_outside": measured.nothing_outside,
    "outside_unchanged": partial(measured.fact, "outside_unchanged"),
    "no_successful_access_through_link": measured.no_successful_access_through_link,
    "resumes_ok": partial(measured.fact, "resumes_ok"),
    "resumes_rejected": partial(measured.fact, "resumes_rejected"),
    "checkpoint_bytes_max": partial(measured.at_most, "checkpoint_bytes"),
    "equal_or_loud": partial(measured.fact, "equal_or_loud"),
    "silent_change": partial(measured.fact, "silent_change"),
    "distinct": measured.distinct,
    "stable_across_calls": partial(measured.fact, "stable_across_calls"),
    "regex": measured.regex,
    "installed": skills.installed,
    "error": skills.error,
    "name": partial(measured.fact, "name"),
    "description": partial(measured.fact, "description"),
    "body": partial(measured.fact, "body"),
    "warnings_min": skills.warnings_min,
    "other_skills_unchanged": partial(measured.fact, "other_skills_unchanged"),
    "staging_empty": partial(measured.fact, "staging_empty"),
    "export_bytes_equal_import": partial(measured.fact, "export_bytes_equal_import"),
}

_NUMBERED = re.compile(r"request_([1-9][0-9]*)")


def what_is_wrong(expect: dict[str, Json], seen: Observed) -> list[str]:
    """Every expectation that does not hold, in words; none is passed over."""
    found: list[str] = []
    for key, value in expect.items():
        if key == "any_of":
            found += _none_of(a_list(value, "any_of"), seen)
        else:
            found += [f"{key}: {fault}" for fault in _faults(key, value, seen)]
    return found


def _faults(key: str, value: Json, seen: Observed) -> list[str]:
    try:
        return list(_check(key)(value, seen))
    except CaseFault as fault:
        return [str(fault)]


def _check(key: str) -> Check:
    numbered = _NUMBERED.fullmatch(key)
    if numbered is not None:
        return partial(wire.numbered_request, int(numbered[1]))
    if key not in CHECKS:
        raise CaseFault("the runner has no check for it")
    return CHECKS[key]


def _none_of(alternatives: list[Json], seen: Observed) -> list[str]:
    """Nothing where one alternative holds, else what is wrong with each."""
    found: list[str] = []
    for place, expect in enumerate(alternatives):
        wrong = what_is_wrong(an_object(expect, f"any_of[{place}]"), seen)
        if not wrong:
            return []
        found += [f"any_of[{place}]: {fault}" for fault in wrong]
    return found
