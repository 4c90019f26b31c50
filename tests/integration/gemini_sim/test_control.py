"""The stable interface that outside harnesses use: scripts, requests, reset, clock, settings."""

import asyncio
import base64
import json
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from echo_workers.gemini_sim.core import faults
from sim_fixture import RunningSim

STREAM = "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
HELLO = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
KEY = {"x-goog-api-key": "a-test-key"}


def client(sim: RunningSim, *, h2: bool = False) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=sim.base_url, headers=KEY, http1=not h2, http2=h2, timeout=10)


@pytest.mark.parametrize("h2", [False, True])
async def test_scripted_bytes_arrive_exactly(sim: RunningSim, h2: bool) -> None:
    data = b'data: {"a": "\xe2\x80\xa8\xc3\xa9"}\r\n\r\n\x00\xff'
    sim.script({"chunks": [{"text": "x\r\n"}, {"b64": base64.b64encode(data).decode(), "delay_ms": 5}]})
    async with client(sim, h2=h2) as http:
        answer = await http.post(STREAM, json=HELLO)
    assert answer.content == b"x\r\n" + data
    assert answer.headers["content-type"] == "text/event-stream"
    row = sim.requests()[0]
    assert row["http_version"] == ("2" if h2 else "1.1")
    assert row["ended"] == "complete"
    assert json.loads(row["body"]) == HELLO
    assert row["prompt_tokens"] > 0


@pytest.mark.parametrize("h2", [False, True])
async def test_reset_breaks_the_stream_after_its_chunks(sim: RunningSim, h2: bool) -> None:
    sim.script(faults.reset("one", "two"))
    received = b""
    async with client(sim, h2=h2) as http:
        with pytest.raises(httpx.HTTPError):
            async with http.stream("POST", STREAM, json=HELLO) as answer:
                async for chunk in answer.aiter_raw():
                    received += chunk
        assert received.count(b"data: ") == 2
        follow_up = await http.post(STREAM, json=HELLO)
    assert follow_up.status_code == 200
    assert [row["ended"] for row in sim.requests()] == ["reset_by_server", "complete"]


@pytest.mark.parametrize("h2", [False, True])
async def test_a_reset_without_any_chunk(sim: RunningSim, h2: bool) -> None:
    sim.script({"end": "reset"})
    async with client(sim, h2=h2) as http:
        with pytest.raises(httpx.HTTPError):
            await http.post(STREAM, json=HELLO)


@pytest.mark.parametrize("h2", [False, True])
async def test_a_client_that_leaves_is_noticed(sim: RunningSim, h2: bool) -> None:
    sim.script(faults.hang("one"))
    async with client(sim, h2=h2) as http, http.stream("POST", STREAM, json=HELLO) as answer:
        async for _ in answer.aiter_raw():
            break
    rows = await asyncio.to_thread(sim.wait_for, lambda rows: rows[0]["ended"] != "open")
    assert rows[0]["ended"] == "reset_by_client"


async def test_the_demo_models_own_stream_notices_a_client_that_leaves(sim: RunningSim) -> None:
    sim.settings(chunk_delay_ms=50)
    try:
        async with client(sim) as http, http.stream("POST", STREAM, json=HELLO) as answer:
            async for _ in answer.aiter_raw():
                break
        rows = await asyncio.to_thread(sim.wait_for, lambda rows: rows[0]["ended"] != "open")
    finally:
        sim.settings(chunk_delay_ms=0)
    assert rows[0]["ended"] == "reset_by_client"


def test_a_reset_stream_on_a_living_h2_connection_is_noticed(sim: RunningSim) -> None:
    """httpx closes an HTTP/2 stream without telling the server, so this speaks HTTP/2 itself."""
    sim.script(faults.hang("one"))
    with socket.create_connection(("127.0.0.1", sim.port), timeout=10) as wire:
        peer = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        peer.initiate_connection()
        head = [(":method", "POST"), (":scheme", "http"), (":authority", "sim"), (":path", STREAM), *KEY.items()]
        peer.send_headers(1, head)
        peer.send_data(1, json.dumps(HELLO).encode(), end_stream=True)
        wire.sendall(peer.data_to_send())
        while not any(isinstance(event, h2.events.DataReceived) for event in peer.receive_data(wire.recv(65_536))):
            wire.sendall(peer.data_to_send())
        peer.reset_stream(1)
        wire.sendall(peer.data_to_send())
        rows = sim.wait_for(lambda rows: rows[0]["ended"] != "open")
        assert rows[0]["ended"] == "reset_by_client"
        peer.send_headers(3, head)
        peer.send_data(3, json.dumps(HELLO).encode(), end_stream=True)
        wire.sendall(peer.data_to_send())
        sim.wait_for(lambda rows: len(rows) == 2 and rows[1]["ended"] == "complete")


def test_the_first_entry_that_fits_answers_as_often_as_it_may(sim: RunningSim) -> None:
    sim.script(
        {"match": {"model": "gemini-3.8-flash"}, "chunks": [{"text": "other model"}]},
        {"match": {"method": "countTokens"}, "chunks": [{"text": "count"}]},
        {"match": {"body_regex": 'he.*o"}'}, "chunks": [{"text": "twice"}], "times": 2},
        {"match": {}, "status": 503, "times": -1, "headers": {"Content-Type": "text/plain", "X-Test": "1"}},
    )
    with httpx.Client(base_url=sim.base_url, headers=KEY) as http:
        texts = [http.post(STREAM, json=HELLO).text for _ in range(2)]
        last = [http.post(STREAM, json=HELLO) for _ in range(3)]
        count = http.post("/v1/models/gemini-3-flash-preview:countTokens", json=HELLO)
        other = http.post("/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse", json=HELLO)
    assert texts == ["twice", "twice"]
    assert [answer.status_code for answer in last] == [503] * 3
    assert (last[0].headers["content-type"], last[0].headers["x-test"]) == ("text/plain", "1")
    assert (count.text, other.text) == ("count", "other model")
    assert count.headers["content-type"] == "application/json; charset=UTF-8"
    assert [row["status"] for row in sim.requests()] == [200, 200, 503, 503, 503, 200, 200]


@pytest.mark.parametrize(
    ("method", "path", "body", "match"),
    [
        ("GET", "/v1beta/models", None, {"method": "listModels"}),
        ("GET", "/v1/models/x", None, {"method": "getModel", "model": "x"}),
        ("POST", "/upload/v1beta/files", None, {"method": "uploadFile"}),
        ("DELETE", "/v1beta/cachedContents/x", None, {"method": "deleteCachedContent"}),
        ("POST", "/token", None, {"method": "token"}),
        (
            "POST",
            "/v1internal:generateContent",
            {"model": "m", "request": {}},
            {"method": "generateContent", "model": "m"},
        ),
        ("POST", "/v1internal:loadCodeAssist", {}, {"method": "loadCodeAssist"}),
    ],
)
def test_every_endpoint_can_be_scripted_by_name(
    sim: RunningSim, method: str, path: str, body: Any, match: dict[str, str]
) -> None:
    sim.script({"match": {"method": "nothing"}, "status": 500}, {"match": match, "status": 418})
    assert httpx.request(method, sim.base_url + path, json=body).status_code == 418


@pytest.mark.parametrize(
    "entry",
    [
        {"chunks": [{}]},
        {"chunks": [{"text": "a", "b64": "YQ=="}]},
        {"chunks": [{"b64": "?"}]},
        {"chunks": [{"text": "a", "delay_ms": -1}]},
        {"match": {"body_regex": "("}},
        {"match": {"verb": "x"}},
        {"end": "explode"},
        {"status": 42},
        {"surprise": 1},
    ],
)
def test_a_script_that_makes_no_sense_is_refused_whole(sim: RunningSim, entry: dict[str, Any]) -> None:
    good = {"status": 500}
    answer = httpx.post(f"{sim.base_url}/__sim__/script", json=[good, entry])
    assert answer.status_code == 422
    assert answer.json()["error"]
    assert httpx.post(sim.base_url + STREAM, json=HELLO, headers=KEY).status_code == 200


def test_reset_empties_list_and_queue(sim: RunningSim) -> None:
    sim.script({"status": 500, "times": -1})
    httpx.get(f"{sim.base_url}/v1beta/models", headers=KEY)
    sim.reset()
    assert sim.requests() == []
    assert httpx.get(f"{sim.base_url}/v1beta/models", headers=KEY).status_code == 200
    assert [row["n"] for row in sim.requests()] == [1]


def test_starting_over_forgets_everything(sim: RunningSim) -> None:
    long = {"contents": [{"role": "user", "parts": [{"text": "once upon a time " * 500}]}]}
    before = sim.advance(3_600)
    sim.settings(chunk_delay_ms=1)
    httpx.post(sim.base_url + STREAM, json=long, headers=KEY)
    sim.reset(everything=True)
    assert sim.advance(0) < before
    httpx.post(sim.base_url + STREAM, json=long, headers=KEY)
    assert [row["cached_tokens"] for row in sim.requests()] == [0]


def test_secrets_are_masked_and_still_told_apart(sim: RunningSim) -> None:
    secrets = [
        "key-in-header",
        "key-in-query",
        "bearer-token",
        "1//refresh",
        "client-secret",
        "the-verifier",
        "jrefresh",
    ]
    header, query, bearer, refresh, client_secret, verifier, in_json = secrets
    with httpx.Client(base_url=sim.base_url) as http:
        http.get("/v1beta/models", headers={"x-goog-api-key": header})
        http.get("/v1beta/models", headers={"x-goog-api-key": "another"})
        http.get(f"/v1beta/models?pageSize=2&key={query}", headers={"authorization": f"Bearer {bearer}"})
        form = {"refresh_token": refresh, "client_secret": client_secret, "code_verifier": verifier, "client_id": "cid"}
        http.post("/token", data=form)
        http.post("/token", json={"refresh_token": in_json})
    rows = sim.requests()
    text = json.dumps(rows)
    assert [secret for secret in secrets if secret in text] == []
    assert rows[0]["headers"]["x-goog-api-key"] != rows[1]["headers"]["x-goog-api-key"]
    assert rows[2]["path"].startswith("/v1beta/models?pageSize=2&key=***")
    assert "client_id=cid" in rows[3]["body"]


def test_a_body_is_shown_exactly(sim: RunningSim) -> None:
    body = '{ "contents" : [{"parts":[{"text":"h\\u00e9 é \u2028"}]}] }'
    httpx.post(sim.base_url + STREAM, content=body.encode(), headers=KEY)
    row = sim.requests()[0]
    assert row["body"] == body
    assert row["body_bytes"] == len(body.encode())
    assert list(row) == [
        "n",
        "method",
        "path",
        "http_version",
        "headers",
        "body",
        "body_bytes",
        "status",
        "cached_tokens",
        "prompt_tokens",
        "ended",
        "signed",
    ]


def test_scripted_answers_count_their_prompt_and_its_cached_beginning(sim: RunningSim) -> None:
    long = {"contents": [{"role": "user", "parts": [{"text": "once upon a time " * 500}]}]}
    sim.script(faults.stream("a", times=2), faults.overloaded())
    for _ in range(3):
        httpx.post(sim.base_url + STREAM, json=long, headers=KEY)
    rows = sim.requests()
    assert rows[1]["cached_tokens"] == rows[0]["prompt_tokens"] == rows[1]["prompt_tokens"] > 1_024
    assert rows[2]["prompt_tokens"] == 0


@pytest.mark.parametrize("body", ['{"advance_s": -1}', '{"advance_s": "x"}', "[]", "{"])
def test_the_clock_never_goes_back(sim: RunningSim, body: str) -> None:
    before = sim.advance(0)
    assert httpx.post(f"{sim.base_url}/__sim__/clock", content=body).status_code == 422
    assert sim.advance(10) >= before + 10


@pytest.mark.parametrize("values", [{"nonsense": 1}, {"chunk_delay_ms": "x"}, {"chunk_delay_ms": True}])
def test_settings_that_do_not_exist_are_refused(sim: RunningSim, values: dict[str, Any]) -> None:
    assert httpx.post(f"{sim.base_url}/__sim__/settings", json=values).status_code == 422


@pytest.mark.parametrize(
    ("entry", "status", "needle"),
    [
        (faults.quota_exhausted(), 429, '"retryDelay": "56s"'),
        (faults.bare_429(), 429, "Resource has been exhausted (e.g. check quota)."),
        (faults.internal_error(), 500, "INTERNAL"),
        (faults.overloaded(), 503, "currently experiencing high demand"),
        (faults.deadline(), 504, "DEADLINE_EXCEEDED"),
        (faults.capacity_exhausted(), 503, "No capacity available for model"),
        (faults.validation_required(), 403, "VALIDATION_REQUIRED"),
    ],
)
def test_ready_made_errors_have_googles_envelope(
    sim: RunningSim, entry: dict[str, Any], status: int, needle: str
) -> None:
    sim.script(entry)
    answer = httpx.post(sim.base_url + STREAM, json=HELLO, headers=KEY)
    assert answer.status_code == answer.json()["error"]["code"] == status
    assert needle in answer.text


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_error_in_the_middle_of_a_stream(sim: RunningSim, wrapped: bool) -> None:
    sim.script(faults.mid_stream_error("one", wrapped=wrapped))
    answer = httpx.post(sim.base_url + STREAM, json=HELLO, headers=KEY)
    assert answer.status_code == 200
    tail = answer.text.split("\r\n\r\n", 1)[1]
    assert tail.startswith("data: {" if wrapped else '{\n  "error"')
    assert json.loads(tail.removeprefix("data: "))["error"]["code"] == 503


def test_a_slow_drip_cuts_inside_events_and_an_early_end_lacks_the_reason(sim: RunningSim) -> None:
    drip = faults.slow_drip("héllo", delay_ms=1, size=7)
    assert max(len(base64.b64decode(chunk["b64"])) for chunk in drip["chunks"]) == 7
    sim.script(drip, faults.early_eof("one"), faults.latency(1))
    whole, cut, late = (httpx.post(sim.base_url + STREAM, json=HELLO, headers=KEY).text for _ in range(3))
    assert "héllo" in whole
    assert "finishReason" in whole
    assert "finishReason" not in cut
    assert "late answer" in late


def certificate(folder: Path) -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "cert.pem", folder / "key.pem"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return str(pem), str(private)


async def test_tls_offers_h2_and_http_1_1(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with RunningSim(certfile=cert, keyfile=key) as sim:
        assert sim.base_url.startswith("https://")
        for http2, version in ((True, "HTTP/2"), (False, "HTTP/1.1")):
            async with httpx.AsyncClient(base_url=sim.base_url, http2=http2, verify=context, headers=KEY) as http:
                answer = await http.post(STREAM, json=HELLO)
                assert (answer.status_code, answer.http_version) == (200, version)
