"""What Google accepted is accepted, what it refused is refused alike, and every recorded stream replays to the byte."""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from echo_workers.gemini_sim import SimSettings
from sim_fixture import RunningSim
from sim_recordings import API_HOST, Corpus, Exchange

pytestmark = pytest.mark.recordings

#: The server of the recordings issued their signatures and files and still served their models.
REPLAY = SimSettings(trust_foreign_signatures=True, trust_foreign_files=True, serve_retired_models=True)
KEY = {"x-goog-api-key": "replay-key"}


@pytest.fixture(scope="module")
def corpus(recordings: Path) -> Corpus:
    return Corpus(recordings).load()


@pytest.fixture(scope="module")
def replaying() -> Iterator[RunningSim]:
    with RunningSim(REPLAY) as running:
        yield running


def why_not_judged(row: Exchange) -> str:
    """Why a recorded exchange says nothing about this simulator; "" when it does."""
    if row.host == "websocket":
        return "the Live API (websocket) is not simulated"
    if row.host.endswith("aiplatform.googleapis.com"):
        return "Vertex AI is another service with other fields"
    if row.host == "oauth2.googleapis.com":
        return "a service account's JWT sign-in for Vertex AI is not simulated"
    if row.host != API_HOST:
        return "another provider or a plain download"
    if "fileSearchStores" in row.path:
        return "File Search stores are not simulated"
    return ""


def renamed(row: Exchange, names: dict[str, str]) -> tuple[str, Any]:
    """Path and body with resource names of the recording replaced by those of this run."""
    path, body = row.path, row.body
    for old, new in names.items():
        path = path.replace(old, new)
        body = json.loads(json.dumps(body).replace(old, new)) if isinstance(body, dict) else body
    return path, body


def replay(http: httpx.Client, rows: list[Exchange]) -> Iterator[tuple[Exchange, httpx.Response]]:
    names: dict[str, str] = {}
    source = ""
    for row in rows:
        names = names if row.source == source else {}
        source = row.source
        path, body = renamed(row, names)
        content = {"json": body} if isinstance(body, dict) else {"content": body or b""}
        answer = http.request(row.method, path, params=row.query, **content)
        if path == "/v1beta/cachedContents" and answer.status_code == 200:
            names[row.answer["name"]] = answer.json()["name"]
        yield row, answer


def test_recorded_requests_are_judged_as_google_judged_them(
    corpus: Corpus, replaying: RunningSim, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = [row for row in corpus.exchanges if not why_not_judged(row)]
    outcomes: Counter[str] = Counter()
    wrong = []
    with httpx.Client(base_url=replaying.base_url, headers=KEY, timeout=30) as http:
        for row, answer in replay(http, judged):
            accepted = row.status < 400
            outcomes["accepted" if accepted else "refused"] += 1
            if answer.status_code != row.status:
                wrong.append(f"{row.name}: {row.status} became {answer.status_code} {answer.text[:300]}")
            elif not accepted and answer.json()["error"] != row.answer["error"]:
                wrong.append(f"{row.name}: {answer.json()['error']} is not {row.answer['error']}")
    left_out = Counter(reason for reason in map(why_not_judged, corpus.exchanges) if reason)
    with capsys.disabled():
        print(f"\nrecorded requests replayed: {dict(outcomes)}")
        for reason, count in left_out.most_common():
            print(f"  not judged: {count} ({reason})")
    assert not wrong, "\n".join(wrong)
    assert outcomes["accepted"] > 150
    assert outcomes["refused"] == 2
    assert sum(outcomes.values()) + sum(left_out.values()) == len(corpus.exchanges)


def test_a_recorded_signature_is_refused_when_foreign_ones_are_not_trusted(corpus: Corpus, sim: RunningSim) -> None:
    """The counterpart: without the replay switch the same requests fail, so acceptance above means something."""
    refused = 0
    with httpx.Client(base_url=sim.base_url, headers=KEY, timeout=30) as http:
        for row in corpus.exchanges:
            if (
                not why_not_judged(row)
                and "gemini-3-flash-preview:" in row.path
                and "functionResponse" in str(row.body)
            ):
                answer = http.request(row.method, row.path, params=row.query, json=row.body)
                refused += "Corrupted thought signature." in answer.text
    assert refused > 5


@pytest.mark.parametrize("h2", [False, True])
async def test_every_recorded_stream_replays_byte_for_byte(
    corpus: Corpus, replaying: RunningSim, h2: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    count = size = 0
    async with httpx.AsyncClient(base_url=replaying.base_url, headers=KEY, http1=not h2, http2=h2, timeout=30) as http:
        for name, data in corpus.streams():
            pieces = [data[at : at + 4_099] for at in range(0, len(data), 4_099)]
            replaying.script({"chunks": [{"b64": base64.b64encode(piece).decode()} for piece in pieces]})
            received = b""
            body = {"contents": [{"parts": [{"text": name}]}]}
            url = "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
            async with http.stream("POST", url, json=body) as answer:
                assert answer.http_version == ("HTTP/2" if h2 else "HTTP/1.1")
                async for chunk in answer.aiter_raw():
                    received += chunk
            assert received == data, name
            count, size = count + 1, size + len(data)
    with capsys.disabled():
        print(f"\nrecorded streams replayed over {'h2' if h2 else 'h1'}: {count}, {size} bytes")
    assert count > 100
