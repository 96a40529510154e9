"""The Gemini simulator answers as generateContent does, and holds contents to the order and signatures it demands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest

from treadle.gateway.wire import elements, member
from treadle.testkit.replies import call
from treadle.testkit.simulators.gemini import GeminiRules, gemini
from treadle.testkit.simulators.provider import ScriptedServer
from treadle.testkit.turns import Refusal, Usage, says

from .asking import GOOGLE_HEADERS, PARAMETERS, Body, post, spliced

DECLARED = [{"functionDeclarations": [{"name": "read_file", "description": "Read", "parameters": PARAMETERS}]}]
USER = {"role": "user", "parts": [{"text": "Compare a.md and b.md"}]}
ASK: Body = {"contents": [USER], "tools": DECLARED}
ANSWER = says(
    "Reading both.",
    call("read_file", path="a.md"),
    call("read_file", path="b.md"),
    reasoning="Read b\u00f6th.",
    usage=Usage(60, 20, 10, 30),
)
PATH = "/v1beta/models/gemini-3-x:generateContent"
OLDER = "/v1beta/models/gemini-2.5-flash:generateContent"


def result(place: int, name: str = "read_file", **changes: Any) -> Body:
    return {"functionResponse": {"id": f"call-000001-{place}", "name": name, "response": {"ok": True}, **changes}}


RESULTS = [result(1), result(2)]


async def ask(server: ScriptedServer, body: Any = ASK, path: str = PATH) -> httpx.Response:
    return await post(server, path, GOOGLE_HEADERS, body)


async def content_of(server: ScriptedServer, path: str = PATH) -> str:
    """The content of the answer, exactly as received."""
    answer = await ask(server, path=path)
    assert answer.status_code == 200, answer.text
    return member(elements(member(answer.text, "candidates") or "")[0], "content") or ""


def second(content: str, results: Sequence[Any] = RESULTS) -> str:
    contents = [USER, "@content", {"role": "user", "parts": list(results)}]
    return spliced({**ASK, "contents": contents}, content=content)


async def said_to(contents: Sequence[Any], path: str = PATH) -> str:
    """What the server says in refusal of a first request."""
    async with gemini([says("ok")]) as server:
        answer = await ask(server, {**ASK, "contents": contents}, path)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert server.refusals == [error["message"]]
    return server.refusals[0]


async def said_to_second(change: Callable[[str], str], results: Sequence[Any] = RESULTS) -> str:
    """What the server says in refusal of a second request, whose content `change` makes of the one it sent."""
    async with gemini([ANSWER]) as server:
        answer = await ask(server, second(change(await content_of(server)), results))
    assert answer.status_code == 400, answer.text
    return server.refusals[0]


def unchanged(content: str) -> str:
    return content


def signature_of(content: str) -> str:
    return (member(elements(member(content, "parts") or "")[2], "thoughtSignature") or "").strip('"')


async def test_it_answers_in_the_shape_of_generate_content_and_takes_its_content_back() -> None:
    async with gemini([ANSWER, says("Done.")]) as server:
        first = await ask(server)
        content = member(elements(member(first.text, "candidates") or "")[0], "content") or ""
        later = await ask(server, second(content))

    document = first.json()
    thought, text, one, two = document["candidates"][0]["content"]["parts"]
    assert (document["responseId"], document["modelVersion"]) == ("response-000001", "gemini-3-x")
    assert document["candidates"][0]["finishReason"] == "STOP"
    assert document["usageMetadata"] == {
        "promptTokenCount": 60,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 10,
        "cachedContentTokenCount": 30,
        "totalTokenCount": 90,
    }
    assert (thought, text) == ({"text": "Read b\u00f6th.", "thought": True}, {"text": "Reading both."})
    assert one["functionCall"] == {"name": "read_file", "id": "call-000001-1", "args": {"path": "a.md"}}
    assert "thoughtSignature" in one and "thoughtSignature" not in two
    assert later.json()["candidates"][0]["content"]["parts"][0] == {"text": "Done."}
    assert later.json()["candidates"][0]["content"]["parts"][1]["text"] == ""


async def test_a_filtered_answer_has_no_content_and_a_prompt_may_be_blocked() -> None:
    blocked = says(candidates=[], promptFeedback={"blockReason": "SAFETY"})
    async with gemini([says(finish="filter"), blocked]) as server:
        filtered = (await ask(server)).json()
        prompt = (await ask(server)).json()

    assert filtered["candidates"] == [{"index": 0, "finishReason": "SAFETY"}]
    assert (prompt["candidates"], prompt["promptFeedback"]) == ([], {"blockReason": "SAFETY"})


@pytest.mark.parametrize(("status", "word"), [(404, "NOT_FOUND"), (429, "RESOURCE_EXHAUSTED"), (503, "UNAVAILABLE")])
async def test_errors_have_googles_shape(status: int, word: str) -> None:
    async with gemini([Refusal(status, "No.", headers={"retry-after": "45"})]) as server:
        answer = await ask(server)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["status"], error["message"]) == (status, status, word, "No.")
    assert error["details"] == [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "45s"}]


async def test_the_key_comes_in_its_header_and_never_in_the_url() -> None:
    async with gemini([says("ok")], api_key="k") as server:
        missing = await post(server, PATH, {}, ASK)
        wrong = await post(server, PATH, {"x-goog-api-key": "other"}, ASK)
        shown = await ask(server, path=f"{PATH}?key=k")

    assert (missing.status_code, missing.json()["error"]["status"]) == (403, "PERMISSION_DENIED")
    assert (wrong.status_code, wrong.json()["error"]["details"][0]["reason"]) == (400, "API_KEY_INVALID")
    assert (shown.status_code, server.steps_left) == (400, 1)


async def test_the_model_stands_in_the_path_and_nowhere_else() -> None:
    async with gemini([says("ok")]) as server:
        paths = [
            "/v1beta/models/claude-x:generateContent",
            "/v1beta/models/models/gemini-3-x:generateContent",
            "/v1beta/x",
        ]
        lost = [(await ask(server, path=path)).status_code for path in paths]
        doubled = await ask(server, {**ASK, "model": "gemini-3-x"})
        broken = await ask(server, b"{")
        listed = await ask(server, [])

    assert (lost, broken.status_code, listed.status_code) == ([404, 404, 404], 400, 400)
    assert 'Unknown name "model": Cannot find field.' in doubled.json()["error"]["message"]


BAD_RESULTS: list[tuple[list[Body], str]] = [
    (RESULTS[:1], "Please ensure that the number of function response parts is equal to"),
    ([*RESULTS, {"text": "Go on."}], "Please ensure that the number of function response parts is equal to"),
    ([{"text": "Go on."}], "Please ensure that the number of function response parts is equal to"),
    (RESULTS[::-1], "Please ensure that the function response parts match"),
    ([result(1), result(2, name="write_file")], "Please ensure that the function response parts match"),
    ([result(1), {"functionResponse": {"name": "read_file", "response": {}}}], "Please ensure that the function resp"),
    ([result(1), result(1)], "Please ensure that the function response parts match"),
]


@pytest.mark.parametrize(("results", "said"), BAD_RESULTS)
async def test_the_next_content_answers_every_call_once_by_its_name_and_id(results: list[Any], said: str) -> None:
    assert (await said_to_second(unchanged, results)).startswith(said)


async def test_calls_and_results_stand_side_by_side() -> None:
    made = {"role": "model", "parts": [{"functionCall": {"name": "read_file"}, "thoughtSignature": "YQ=="}]}
    answered: Body = {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {}}}]}
    said = [
        await said_to([made, answered]),
        await said_to([USER, {"role": "model", "parts": [{"text": "a"}]}, made, answered]),
        await said_to([USER, answered]),
        await said_to([USER, made]),
        await said_to([USER, {"role": "model", "parts": [{"text": "a"}]}]),
    ]

    assert [one[:52] for one in said] == [
        "Please ensure that function call turn comes immediat",
        "Please ensure that function call turn comes immediat",
        "Please ensure that function response turn comes imme",
        "Please ensure that single turn requests end with a u",
        "Please ensure that single turn requests end with a u",
    ]


async def test_a_signature_that_is_missing_or_changed_is_refused() -> None:
    def stripped(content: str) -> str:
        return content.replace(f', "thoughtSignature": "{signature_of(content)}"', "")

    def swapped(content: str) -> str:
        return content.replace(signature_of(content), "c2tpcA==")

    def dummy(content: str) -> str:
        return content.replace(signature_of(content), "skip_thought_signature_validator")

    def doubled(content: str) -> str:
        return content[:-3] + f', "thoughtSignature": "{signature_of(content)}"}}]}}'

    said = [await said_to_second(change) for change in (stripped, swapped, dummy, doubled)]

    assert said[0].startswith("Function call is missing a thought_signature in functionCall parts.")
    assert "function call `default_api:read_file` , position 2" in said[0]
    assert said[1:] == ["Corrupted thought signature."] * 3


async def test_no_part_of_a_content_may_be_left_out_or_printed_again() -> None:
    def shortened(content: str) -> str:
        return content.replace('{"text": "Reading both."}, ', "")

    def printed(content: str) -> str:
        return content.replace('"args": {"path": "b.md"}', '"args":{"path":"b.md"}')

    said = [await said_to_second(change) for change in (shortened, printed)]

    assert said == ["contents[1] is not, byte for byte, the content that this server sent."] * 2


async def test_calls_of_no_model_take_the_dummy_signature_and_others_do_not() -> None:
    def history(**signature: str) -> list[Body]:
        made = {"role": "model", "parts": [{"functionCall": {"name": "read_file"}, **signature}]}
        return [USER, made, {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {}}}]}]

    said = [
        await said_to(history()),
        await said_to(history(thoughtSignature="YQ==")),
        await said_to(history(thoughtSignature="a signature")),
    ]
    async with gemini([says("ok")] * 2) as server:
        skipped = await ask(server, {"contents": history(thoughtSignature="skip_thought_signature_validator")})
        older = await ask(server, {"contents": history()}, OLDER)

    assert said[0].startswith("Function call is missing a thought_signature")
    assert said[1] == "Corrupted thought signature."
    assert "Base64 decoding failed" in said[2]
    assert (skipped.status_code, older.status_code) == (200, 200)


async def test_an_earlier_turn_may_come_back_without_its_signatures() -> None:
    made = {"role": "model", "parts": [{"functionCall": {"name": "read_file"}}]}
    answered: Body = {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {}}}]}
    async with gemini([says("ok")]) as server:
        answer = await ask(server, {"contents": [USER, made, answered, USER]})

    assert answer.status_code == 200


async def test_a_server_without_call_ids_sends_none_and_refuses_them() -> None:
    rules = GeminiRules(call_ids=False)
    bare: list[Body] = [{"functionResponse": {"name": "read_file", "response": {}}}] * 2
    async with gemini([ANSWER, says("Done.")], rules=rules) as server:
        content = await content_of(server)
        refused = await ask(server, second(content))
        answer = await ask(server, second(content, bare))

    assert '"id"' not in content
    assert refused.json()["error"]["message"] == (
        "Invalid JSON payload received. Unknown name \"id\" at 'contents[2].parts[0].function_response': Cannot find field."
    )
    assert answer.status_code == 200
