"""The public API over the wire: framing, refusals, files, caches, implicit caching."""

import json
from typing import Any

import httpx
import pytest

from echo_workers.gemini_sim import SimSettings
from sim_fixture import RunningSim

FLASH = "/v1beta/models/gemini-3-flash-preview"
KEY = {"x-goog-api-key": "api-key"}


@pytest.fixture
def http(sim: RunningSim) -> Any:
    with httpx.Client(base_url=sim.base_url, headers=KEY, timeout=30) as client:
        yield client


def ask(*texts: str, **more: Any) -> dict[str, Any]:
    roles = ("user", "model")
    contents = [{"role": roles[at % 2], "parts": [{"text": text}]} for at, text in enumerate(texts)]
    return {"contents": contents, **more}


def error(answer: httpx.Response) -> tuple[int, str, str]:
    row = answer.json()["error"]
    assert row["code"] == answer.status_code
    return row["code"], row["status"], row["message"]


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    frames = answer.content.split(b"\r\n\r\n")
    assert frames[-1] == b""
    assert all(frame.startswith(b"data: {") and b"\n" not in frame for frame in frames[:-1])
    return [json.loads(frame[6:]) for frame in frames[:-1]]


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_a_stream_is_framed_as_google_frames_it(http: httpx.Client, version: str) -> None:
    answer = http.post(f"/{version}/models/gemini-3-flash-preview:streamGenerateContent?alt=sse", json=ask("Hello <b>"))
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["content-disposition"] == "attachment"
    chunks = events(answer)
    assert b'{"candidates": [{"content": {"parts": [{"text": "' in answer.content
    assert b"\\u003cb\\u003e" in answer.content
    assert b"<" not in answer.content
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    assert {chunk["responseId"] for chunk in chunks} == {chunks[0]["responseId"]}


def test_a_stream_without_alt_sse_is_one_json_array(http: httpx.Client) -> None:
    answer = http.post(f"{FLASH}:streamGenerateContent", json=ask("Hello"))
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"
    assert b"}\r\n,\r\n{" in answer.content
    assert answer.json()[-1]["candidates"][0]["finishReason"] == "STOP"
    refused = http.post(f"{FLASH}:streamGenerateContent", json={"contents": []})
    assert refused.json()[0]["error"]["status"] == "INVALID_ARGUMENT"


def test_a_unary_answer_holds_the_same_text_as_the_stream(http: httpx.Client) -> None:
    body = ask("write 60 words")
    whole = http.post(f"{FLASH}:generateContent", json=body).json()
    chunks = events(http.post(f"{FLASH}:streamGenerateContent?alt=sse", json=body))
    streamed = "".join(part["text"] for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"])
    (part,) = whole["candidates"][0]["content"]["parts"]
    assert part["text"] == streamed
    assert part["thoughtSignature"]


@pytest.mark.parametrize(
    ("headers", "query", "expected"),
    [
        ({}, "", (403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers")),
        (
            {"x-goog-api-key": "bad-one"},
            "",
            (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        ),
        ({}, "?key=bad-two", (400, "INVALID_ARGUMENT", "API key not valid.")),
        ({"authorization": "Bearer bad-token"}, "", (401, "UNAUTHENTICATED", "Request had invalid authentication")),
    ],
)
def test_callers_without_a_good_key_are_refused(
    sim: RunningSim, headers: dict[str, str], query: str, expected: tuple[int, str, str]
) -> None:
    with httpx.Client(base_url=sim.base_url, headers=headers) as client:
        for path in ("/v1beta/models", "/v1beta/files", "/v1beta/cachedContents"):
            code, status, message = error(client.get(path + query))
            assert (code, status) == expected[:2]
            assert message.startswith(expected[2])
        assert error(client.post(f"{FLASH}:generateContent{query}", json=ask("Hello")))[0] == expected[0]


@pytest.mark.parametrize("headers", [{"authorization": "Bearer some-token"}, {"x-goog-api-key": "any"}])
def test_any_other_key_or_token_is_good(sim: RunningSim, headers: dict[str, str]) -> None:
    assert httpx.get(f"{sim.base_url}/v1beta/models", headers=headers).status_code == 200
    assert httpx.get(f"{sim.base_url}/v1beta/models?key=any").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "POST",
            "/v1/models/none:generateContent",
            "models/none is not found for API version v1, or is not supported for",
        ),
        (
            "POST",
            f"{FLASH}:fly",
            "models/gemini-3-flash-preview is not found for API version v1beta, or is not supported",
        ),
        ("GET", "/v1beta/models/none", "models/none is not found for API version v1beta"),
        ("GET", "/v3/models", "Requested entity was not found."),
        ("GET", "/nowhere", "Requested entity was not found."),
        ("DELETE", "/v1beta/models", "Requested entity was not found."),
    ],
)
def test_what_does_not_exist_is_a_404_of_google(http: httpx.Client, method: str, path: str, message: str) -> None:
    answer = http.request(method, path, **({"json": ask("Hello")} if method == "POST" else {}))
    code, status, text = error(answer)
    assert (code, status) == (404, "NOT_FOUND")
    assert text.startswith(message)


def test_a_prompt_above_the_window_is_refused(http: httpx.Client) -> None:
    body = ask("x" * (4 * 1_048_576 + 1))
    code, _, message = error(http.post(f"{FLASH}:generateContent", json=body))
    assert code == 400
    assert message == "The input token count exceeds the maximum number of tokens allowed (1048576)."


def test_output_stops_at_its_limit_and_at_stop_sequences(http: httpx.Client) -> None:
    config = {"maxOutputTokens": 60, "thinkingConfig": {"thinkingLevel": "MINIMAL"}}
    short = http.post(f"{FLASH}:generateContent", json=ask("write 300 words", generationConfig=config)).json()
    assert short["candidates"][0]["finishReason"] == "MAX_TOKENS"
    assert 20 < short["usageMetadata"]["candidatesTokenCount"] <= 44
    none = http.post(f"{FLASH}:generateContent", json=ask("hello", generationConfig={"maxOutputTokens": 5})).json()
    assert none["candidates"][0] == {"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}
    assert none["usageMetadata"]["thoughtsTokenCount"] == 5
    stopped = http.post(
        f"{FLASH}:generateContent", json=ask("write 80 words", generationConfig={"stopSequences": ["stone"]})
    ).json()
    text = stopped["candidates"][0]["content"]["parts"][0]["text"]
    assert text.endswith("every ")
    assert stopped["candidates"][0]["finishReason"] == "STOP"


def test_json_on_request(http: httpx.Client) -> None:
    schema = {"type": "OBJECT", "properties": {"level": {"type": "STRING", "enum": ["PRO", "FLASH"]}}}
    config = {"responseMimeType": "application/json", "responseSchema": schema}
    answer = http.post(f"{FLASH}:generateContent", json=ask("Classify", generationConfig=config)).json()
    assert json.loads(answer["candidates"][0]["content"]["parts"][0]["text"]) == {"level": "PRO"}


def test_implicit_caching_follows_the_prefix(http: httpx.Client, sim: RunningSim) -> None:
    first = ask("A long story. " * 600, systemInstruction={"parts": [{"text": "Be kind."}]})
    grown = {**first, "contents": [*first["contents"], *ask("", "answer", "next")["contents"][1:]]}
    changed = {**grown, "systemInstruction": {"parts": [{"text": "Be rude."}]}}
    for body in (first, grown, changed):
        assert http.post(f"{FLASH}:generateContent", json=body).status_code == 200
    rows = sim.requests()
    assert rows[0]["cached_tokens"] == 0
    assert rows[1]["cached_tokens"] == rows[0]["prompt_tokens"] > 1_024
    assert rows[2]["cached_tokens"] == 0
    other_key = httpx.post(f"{sim.base_url}{FLASH}:generateContent", json=grown, headers={"x-goog-api-key": "other"})
    assert "cachedContentTokenCount" not in other_key.json()["usageMetadata"]
    told = http.post(f"{FLASH}:generateContent", json=grown).json()["usageMetadata"]
    assert told["cachedContentTokenCount"] == told["promptTokenCount"] == rows[1]["prompt_tokens"]


def test_a_short_prompt_is_not_cached(http: httpx.Client, sim: RunningSim) -> None:
    for _ in range(2):
        http.post(f"{FLASH}:generateContent", json=ask("Hello"))
    assert [row["cached_tokens"] for row in sim.requests()] == [0, 0]


def test_a_signature_brings_its_thoughts_into_the_next_prompt(http: httpx.Client) -> None:
    first = http.post(f"{FLASH}:generateContent", json=ask("Hello")).json()
    plain = http.post(f"{FLASH}:countTokens", json=ask("Hello", "Hi", "And?")).json()["totalTokens"]
    body = ask("Hello", "Hi", "And?")
    body["contents"][1]["parts"][0]["thoughtSignature"] = first["candidates"][0]["content"]["parts"][0][
        "thoughtSignature"
    ]
    signed = http.post(f"{FLASH}:countTokens", json=body).json()["totalTokens"]
    assert signed - plain == first["usageMetadata"]["thoughtsTokenCount"] == 320


def test_tokens_of_a_whole_request_are_counted(http: httpx.Client) -> None:
    inner = ask("Hello", systemInstruction={"parts": [{"text": "Be kind and brief."}]})
    whole = http.post(f"{FLASH}:countTokens", json={"generateContentRequest": {"model": "models/x", **inner}}).json()
    assert whole["totalTokens"] > http.post(f"{FLASH}:countTokens", json=ask("Hello")).json()["totalTokens"]
    both = http.post(f"{FLASH}:countTokens", json={"generateContentRequest": inner, **ask("Hello")})
    assert error(both)[0] == 400


def upload(http: httpx.Client, data: bytes = b"hello", mime: str = "text/plain", **headers: str) -> httpx.Response:
    start = http.post(
        "/upload/v1beta/files",
        json={"file": {"display_name": "a"}},
        headers={
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(len(data)),
            "x-goog-upload-header-content-type": mime,
        },
    )
    assert start.headers["x-goog-upload-status"] == "active"
    assert start.content == b""
    steps = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0", **headers}
    return httpx.post(start.headers["x-goog-upload-url"], content=data, headers=steps)


def test_files_expire_after_48_hours_of_the_simulators_clock(sim: RunningSim, http: httpx.Client) -> None:
    stored = upload(http).json()["file"]
    assert stored["state"] == "ACTIVE"
    assert stored["sizeBytes"] == "5"
    use = ask("Look")
    use["contents"][0]["parts"].append({"fileData": {"fileUri": stored["uri"], "mimeType": "text/plain"}})
    assert http.post(f"{FLASH}:generateContent", json=use).status_code == 200
    sim.advance(48 * 3_600 - 5)
    assert http.get(f"/v1beta/{stored['name']}").status_code == 200
    sim.advance(6)
    file_id = stored["name"].removeprefix("files/")
    gone = (403, "PERMISSION_DENIED", f"You do not have permission to access the File {file_id} or it may not exist.")
    assert error(http.get(f"/v1beta/{stored['name']}")) == gone
    assert error(http.post(f"{FLASH}:generateContent", json=use)) == gone
    assert http.get("/v1beta/files").json() == {}


def test_files_belong_to_their_key(sim: RunningSim, http: httpx.Client) -> None:
    stored = upload(http).json()["file"]
    other = httpx.get(f"{sim.base_url}/v1beta/{stored['name']}", headers={"x-goog-api-key": "other"})
    assert error(other)[0] == 403


def test_a_video_is_processed_before_it_can_be_used(sim: RunningSim, http: httpx.Client) -> None:
    stored = upload(http, mime="video/mp4").json()["file"]
    assert stored["state"] == "PROCESSING"
    use = ask("Look")
    use["contents"][0]["parts"].append({"fileData": {"fileUri": stored["uri"], "mimeType": "video/mp4"}})
    assert "is not in an ACTIVE state" in error(http.post(f"{FLASH}:generateContent", json=use))[2]
    sim.advance(3)
    assert http.get(f"/v1beta/{stored['name']}").json()["state"] == "ACTIVE"
    assert http.post(f"{FLASH}:generateContent", json=use).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-goog-upload-offset": "3"}, 400),
        ({"x-goog-upload-offset": "x"}, 400),
        ({"x-goog-upload-command": "fly"}, 400),
    ],
)
def test_uploads_out_of_order_are_refused(http: httpx.Client, headers: dict[str, str], status: int) -> None:
    assert error(upload(http, **headers))[0] == status


def test_an_upload_can_be_asked_how_far_it_got_and_given_up(http: httpx.Client) -> None:
    start = http.post(
        "/upload/v1beta/files", headers={"x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start"}
    )
    url = start.headers["x-goog-upload-url"]
    http.post(url, content=b"abc", headers={"x-goog-upload-command": "upload", "x-goog-upload-offset": "0"})
    state = http.post(url, headers={"x-goog-upload-command": "query"})
    assert state.headers["x-goog-upload-size-received"] == "3"
    http.post(url, headers={"x-goog-upload-command": "cancel"})
    assert error(http.post(url, headers={"x-goog-upload-command": "query"}))[0] == 404


CACHE = {"model": "models/gemini-2.5-flash", "contents": ask("Paris. " * 800)["contents"], "ttl": "300s"}
OLD = "/v1beta/models/gemini-2.5-flash"


def test_a_cache_expires_and_must_fit_its_request(sim: RunningSim, http: httpx.Client) -> None:
    name = http.post("/v1beta/cachedContents", json=CACHE).json()["name"]
    assert http.post(f"{OLD}:generateContent", json=ask("Hello", cachedContent=name)).status_code == 200
    both = ask("Hello", cachedContent=name, systemInstruction={"parts": [{"text": "x"}]})
    assert (
        "CachedContent can not be used with GenerateContent request setting"
        in http.post(f"{OLD}:generateContent", json=both).text
    )
    foreign = http.post("/v1beta/models/gemini-2.5-pro:generateContent", json=ask("Hello", cachedContent=name))
    assert "has to be the same" in error(foreign)[2]
    sim.advance(301)
    late = http.post(f"{OLD}:generateContent", json=ask("Hello", cachedContent=name))
    assert error(late) == (403, "PERMISSION_DENIED", "CachedContent not found (or permission denied)")


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        (
            {"contents": ask("short")["contents"]},
            400,
            "Cached content is too small. total_token_count=2, min_total_token_count=",
        ),
        ({"model": "models/gemini-4-argon"}, 404, "is not supported for createCachedContent"),
        ({"model": ""}, 400, "model is required"),
        ({"ttl": "soon"}, 400, "Invalid value at 'ttl'"),
        ({"expireTime": "2026-01-01T00:00:00Z"}, 400, "Only one of ttl and expire_time may be set."),
        ({"ttl": None, "expireTime": "2020-01-01T00:00:00Z"}, 400, "expire_time must be in the future."),
    ],
)
def test_caches_that_are_refused(http: httpx.Client, change: dict[str, Any], code: int, text: str) -> None:
    answer = http.post("/v1beta/cachedContents", json={**CACHE, **change})
    assert answer.status_code == code
    assert text in error(answer)[2]


def test_calls_and_responses_split_between_cache_and_request_are_checked_together(http: httpx.Client) -> None:
    contents = [*CACHE["contents"], {"role": "model", "parts": [{"functionCall": {"name": "f"}}]}]
    tools = [{"functionDeclarations": [{"name": "f"}]}]
    name = http.post("/v1beta/cachedContents", json={**CACHE, "contents": contents, "tools": tools}).json()["name"]
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "42"}}}]}
    good = http.post(f"{OLD}:generateContent", json={"cachedContent": name, "contents": [answer]})
    assert "42" in good.text
    assert error(http.post(f"{OLD}:generateContent", json=ask("Hello", cachedContent=name)))[0] == 400


def test_lists_are_paged(http: httpx.Client) -> None:
    for _ in range(3):
        http.post("/v1beta/cachedContents", json=CACHE)
    names, token = [], ""
    while True:
        page = http.get("/v1beta/cachedContents", params={"pageSize": 2, "pageToken": token}).json()
        names += [row["name"] for row in page["cachedContents"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert len(set(names)) == len(names) >= 3
    assert error(http.get("/v1beta/models?pageToken=!"))[0] == 400
    assert error(http.get("/v1beta/models?pageSize=many"))[0] == 400


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            {"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 64},
            "output_dimensionality must be in the range",
        ),
        ({"content": {"parts": []}}, "contents.parts must not be empty"),
        ({"model": "models/other", "content": {"parts": [{"text": "a"}]}}, "does not match"),
        ({"content": {"parts": [{"text": "a"}]}, "task": 1}, 'Unknown name "task"'),
    ],
)
def test_embeddings_that_are_refused(http: httpx.Client, body: dict[str, Any], text: str) -> None:
    assert text in error(http.post("/v1beta/models/gemini-embedding-001:embedContent", json=body))[2]


def test_one_embedding_and_too_many(http: httpx.Client) -> None:
    row = {"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 256}
    url = "/v1beta/models/gemini-embedding-001"
    assert len(http.post(f"{url}:embedContent", json=row).json()["embedding"]["values"]) == 256
    many = {"requests": [{"model": "models/gemini-embedding-001", **row}] * 101}
    assert "at most 100 requests can be in one batch" in error(http.post(f"{url}:batchEmbedContents", json=many))[2]


def test_continuation_belongs_to_generation_four() -> None:
    with RunningSim(SimSettings(hop_unary_tokens=50)) as sim, httpx.Client(base_url=sim.base_url, headers=KEY) as http:
        body = ask("write 100 words")
        hop = http.post("/v1beta/models/gemini-4-argon:generateContent", json=body).json()["candidates"][0]
        assert hop["finishReason"] == "CONTINUATION"
        token = {"continuationToken": hop["continuationToken"]}
        capped = http.post(
            "/v1beta/models/gemini-4-argon:generateContent",
            json={**body, "generationConfig": {"maxOutputTokens": 1_000}, **token},
        )
        assert "does not belong to this request" in error(capped)[2]
        older = http.post(f"{FLASH}:generateContent", json={**body, **token})
        assert "not supported for this model" in error(older)[2]
        hops = [hop]
        while hops[-1]["finishReason"] == "CONTINUATION":
            more = {**body, "continuationToken": hops[-1]["continuationToken"]}
            hops.append(http.post("/v1beta/models/gemini-4-argon:generateContent", json=more).json()["candidates"][0])
        text = "".join(hop["content"]["parts"][0]["text"] for hop in hops)
    assert len(hops) > 2
    assert hops[-1]["finishReason"] == "STOP"
    assert text.startswith("## Part 1\n\n")
