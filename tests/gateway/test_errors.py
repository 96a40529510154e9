"""What a refusal means: its code, whether asking again helps, and when."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from treadle.gateway import errors
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json, dumps
from treadle.graph.ports import WireReply

from .traps import trap
from .words import KEY, connection

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


def failure(status: int, body: Json | bytes = b"", headers: Mapping[str, str] | None = None) -> ModelFailed:
    data = body if isinstance(body, bytes) else dumps(body)
    reply = WireReply(status, dict(headers or {}), data)
    return errors.failure(reply, now=NOW, scrub=connection().scrub)


def inside(document: Json, headers: Mapping[str, str] | None = None) -> ModelFailed:
    reply = WireReply(200, dict(headers or {}), dumps(document))
    return errors.failure_inside(reply, document, now=NOW, scrub=connection().scrub)


def said(code: str | None = None, kind: str | None = None, message: str = "no") -> Json:
    return {"error": {"message": message, "type": kind, "code": code}}


@trap(20)
@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 520, 524, 529, 599])
def test_a_status_that_may_pass_is_worth_another_try(status: int) -> None:
    failed = failure(status)

    assert (failed.error_code, failed.retryable) == ("model.request_failed", True)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "rejected"), (401, "auth"), (402, "billing"), (403, "auth"), (404, "not_found"), (413, "rejected"),
     (422, "rejected"), (501, "rejected"), (505, "rejected"), (301, "redirect"), (307, "redirect"), (418, "rejected")],
)  # fmt: skip
def test_a_status_that_will_not_pass_is_final(status: int, kind: str) -> None:
    failed = failure(status)

    assert (failed.error_code, failed.retryable, failed.details["kind"]) == ("model.request_failed", False, kind)


@pytest.mark.parametrize("document", [said(), said(kind="invalid_request_error"), {"error": "slow"}, []])
def test_429_is_a_rate_limit_whatever_it_calls_itself(document: Json) -> None:
    failed = failure(429, document)

    assert (failed.error_code, failed.retryable) == ("model.provider_rate_limited", True)


@trap(53, 54)
@pytest.mark.parametrize(
    "document",
    [
        said("insufficient_quota", "insufficient_quota"),
        said(None, "billing_error"),
        {"error": {"status": "RESOURCE_EXHAUSTED", "details": [{"violations": [{"quotaId": "FreeTierPerDay"}]}]}},
        [{"error": {"details": [{"violations": [{"quotaId": "RequestsPerDayPerProject"}]}]}}],
    ],
)
def test_a_spent_quota_is_final_though_it_comes_as_429(document: Json) -> None:
    failed = failure(429, document, {"retry-after": "1", "x-should-retry": "true"})

    assert (failed.error_code, failed.retryable, failed.retry_after_ms) == ("model.provider_rate_limited", False, None)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("rate_limit_exceeded", "tokens", True),
        (None, "overloaded_error", True),
        ("slow_down", None, True),
        (None, "invalid_request_error", False),
        ("context_length_exceeded", "invalid_request_error", False),
    ],
)
def test_in_a_400_the_providers_own_word_decides(code: str | None, kind: str | None, retryable: bool) -> None:
    assert failure(400, said(code, kind)).retryable is retryable


@pytest.mark.parametrize("code", ["invalid_api_key", "context_length_exceeded", "content_filter"])
def test_a_firm_word_is_believed_whatever_the_status(code: str) -> None:
    assert failure(503, said(code), {"x-should-retry": "true"}).retryable is False


def test_a_vague_word_does_not_make_a_broken_server_final() -> None:
    assert failure(500, said(None, "invalid_request_error")).retryable is True


@pytest.mark.parametrize(
    ("status", "wish", "retryable"), [(500, "false", False), (400, "true", True), (400, "?", False)]
)
def test_the_server_may_say_whether_to_ask_again(status: int, wish: str, retryable: bool) -> None:
    assert failure(status, b"", {"x-should-retry": wish}).retryable is retryable


@trap(51)
@pytest.mark.parametrize(
    ("code", "error_code", "retryable"),
    [
        (429, "model.provider_rate_limited", True),
        ("429", "model.provider_rate_limited", True),
        (502, "model.request_failed", True),
        (401, "model.request_failed", False),
        ("rate_limit_exceeded", "model.provider_rate_limited", True),
        (None, "model.request_failed", False),
    ],
)
def test_an_error_inside_a_200_is_judged_by_its_own_code(code: Json, error_code: str, retryable: bool) -> None:
    failed = inside({"error": {"code": code, "message": "x"}})

    assert (failed.error_code, failed.retryable) == (error_code, retryable)


def test_a_content_filter_says_so_and_offers_the_person_another_try() -> None:
    failed = failure(400, said("content_filter"))

    assert (failed.error_code, failed.retryable) == ("model.request_failed", False)
    assert (failed.details["kind"], failed.details["userRetryable"]) == ("content_filter", True)


@trap(55)
@pytest.mark.parametrize(
    ("headers", "milliseconds"),
    [
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "0.25"}, 250),
        ({"retry-after-ms": "1234.1", "retry-after": "9"}, 1235),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9000),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, 30_000),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, 0),
        ({"retry-after": "abc"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "٣"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_from_each_of_its_spellings(headers: dict[str, str], milliseconds: int | None) -> None:
    failed = failure(529, said(None, "overloaded_error"), headers)

    assert failed.retry_after_ms == milliseconds
    assert failed.details.get("retryAfterMs") == milliseconds


@trap(54)
@pytest.mark.parametrize(
    ("delay", "milliseconds"), [("45.837906927s", 45_838), ("3s", 3000), ("-1s", None), ("3", None)]
)
def test_the_delay_in_geminis_body_is_rounded_up(delay: str, milliseconds: int | None) -> None:
    document = {"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}}

    assert failure(429, document).retry_after_ms == milliseconds


@pytest.mark.parametrize(
    "document",
    [
        {"error": {"message": "told"}},
        {"error": "told"},
        {"message": "told", "code": "x"},
        {"detail": "told"},
        [{"error": {"message": "told"}}],
    ],
)
def test_the_providers_message_is_found_in_each_of_its_places(document: Json) -> None:
    assert failure(400, document).message == "the model's server answered 400: told"


def test_a_page_is_named_and_not_quoted() -> None:
    failed = failure(502, b"<html><head><title>Bad gateway</title></head></html>")

    assert failed.message == "the model's server answered 502: an HTML page (52 bytes)"
    assert "<" not in str(failed.details)


def test_a_page_inside_a_json_message_is_named_too() -> None:
    assert failure(502, {"error": {"message": "<html>x</html>"}}).message.endswith("an HTML page")


def test_plain_text_is_told_by_its_first_line() -> None:
    assert failure(503, b"upstream connect error\nstack\n").message.endswith(": upstream connect error")


@trap(49, 56)
def test_a_key_that_the_server_echoes_is_told_nowhere() -> None:
    echo = f"Incorrect API key provided: {KEY}. See https://h.test/?k={KEY}"
    failed = failure(401, said(f"code {KEY}", message=echo))
    broken = errors.unreadable(WireReply(200, {}, echo.encode()), "text that is not JSON", scrub=connection().scrub)

    for error in (failed, broken):
        assert KEY not in f"{error} {error.details} {error.technical_message}"


@trap(56)
def test_a_long_message_and_a_long_preview_are_cut() -> None:
    failed = failure(400, said(message="é" * 5000))
    broken = errors.unreadable(WireReply(200, {}, b"x" * 5000), "text that is not JSON", scrub=str)

    assert len(failed.message.encode()) < 600
    assert len(str(broken.details["preview"]).encode()) == 512


def test_a_key_on_the_edge_of_the_preview_does_not_show_a_half() -> None:
    body = b"x" * 505 + KEY.encode() + b"y" * 50
    preview = errors.preview(body, connection().scrub)

    assert "sk-" not in preview


@trap(51, 56)
def test_an_unreadable_success_is_worth_another_try_and_a_malformed_one_is_not() -> None:
    broken = errors.unreadable(WireReply(200, {}, b""), "an empty body", scrub=str)
    malformed = errors.malformed("no choices")

    assert (broken.error_code, broken.retryable) == ("model.upstream_invalid_response", True)
    assert (malformed.error_code, malformed.retryable) == ("model.upstream_invalid_response", False)
