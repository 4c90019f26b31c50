"""The Code Assist backend and Google's sign-in."""

import base64
import hashlib
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from echo_workers.gemini_sim import SimSettings
from sim_fixture import RunningSim

VERIFIER = "a-code-verifier-of-enough-length-0123456789abcdef"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
AUTH = {
    "client_id": "client",
    "redirect_uri": "http://127.0.0.1:8020/callback?a=1",
    "response_type": "code",
    "scope": "https://www.googleapis.com/auth/cloud-platform",
    "state": "st4te",
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "access_type": "offline",
    "prompt": "consent",
}
EXCHANGE = {
    "grant_type": "authorization_code",
    "client_id": "client",
    "client_secret": "hush",
    "redirect_uri": AUTH["redirect_uri"],
    "code_verifier": VERIFIER,
}


def code_of(http: httpx.Client, **change: str) -> str:
    answer = http.get("/o/oauth2/v2/auth", params={**AUTH, **change})
    assert answer.status_code == 302
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert query["state"] == ["st4te"]
    assert query["a"] == ["1"]
    return query["code"][0]


@pytest.fixture
def http(sim: RunningSim) -> Any:
    with httpx.Client(base_url=sim.base_url, timeout=10) as client:
        yield client


@pytest.fixture
def tokens(http: httpx.Client) -> dict[str, Any]:
    return http.post("/token", data={**EXCHANGE, "code": code_of(http)}).json()


def call(http: httpx.Client, method: str, body: Any = None, token: str = "ca-token", **params: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    return http.post(f"/v1internal:{method}", json=body or {}, headers=headers, params=params)


def envelope(text: str = "Hello", model: str = "gemini-3-flash-agent", **more: Any) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": text}]}]
    return {"model": model, "project": "p", "user_prompt_id": "u1", "request": {"contents": contents, **more}}


def test_signing_in_with_pkce_gives_tokens_that_work(http: httpx.Client, tokens: dict[str, Any]) -> None:
    assert tokens["token_type"] == "Bearer"
    assert tokens["expires_in"] == 3_599
    assert tokens["refresh_token"].startswith("1//")
    claims = tokens["id_token"].split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))["aud"] == "client"
    for path in ("/oauth2/v2/userinfo", "/oauth2/v3/userinfo"):
        user = http.get(path, headers={"authorization": f"Bearer {tokens['access_token']}"}).json()
        assert user["email"] == "ada@example.com"
    assert call(http, "loadCodeAssist", token=tokens["access_token"]).json()["currentTier"]["id"] == "free-tier"


@pytest.mark.parametrize(
    ("change", "error", "description"),
    [
        ({"code": "4/0nonsense"}, "invalid_grant", "Malformed auth code."),
        ({"code_verifier": "another"}, "invalid_grant", "Invalid code verifier."),
        ({"code_verifier": None}, "invalid_grant", "Invalid code verifier."),
        ({"redirect_uri": "http://127.0.0.1/other"}, "redirect_uri_mismatch", "Bad Request"),
        ({"client_id": "other"}, "invalid_grant", "Malformed auth code."),
        ({"grant_type": "password"}, "unsupported_grant_type", "Invalid grant_type: password"),
    ],
)
def test_a_code_is_exchanged_only_by_whom_it_was_given_to(
    http: httpx.Client, change: dict[str, Any], error: str, description: str
) -> None:
    answer = http.post("/token", data={**EXCHANGE, "code": code_of(http), **change})
    assert (answer.status_code, answer.json()) == (400, {"error": error, "error_description": description})


def test_a_code_works_once_and_not_after_ten_minutes(http: httpx.Client, sim: RunningSim) -> None:
    once, late = code_of(http), code_of(http)
    assert http.post("/token", data={**EXCHANGE, "code": once}).status_code == 200
    assert http.post("/token", data={**EXCHANGE, "code": once}).json()["error"] == "invalid_grant"
    sim.advance(601)
    assert http.post("/token", data={**EXCHANGE, "code": late}).json()["error"] == "invalid_grant"


def test_a_wrong_client_secret_is_an_invalid_client(http: httpx.Client) -> None:
    answer = http.post("/token", data={**EXCHANGE, "code": code_of(http), "client_secret": "bad-secret"})
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


def test_consent_is_asked_for_properly(http: httpx.Client) -> None:
    for change in ({"client_id": ""}, {"response_type": "token"}, {"code_challenge_method": "S1"}):
        assert http.get("/o/oauth2/v2/auth", params={**AUTH, **change}).status_code == 400
    denied = http.get("/o/oauth2/v2/auth", params={**AUTH, "login_hint": "deny"})
    assert "error=access_denied" in denied.headers["location"]


def test_a_refresh_token_comes_with_the_first_consent_or_a_forced_one(http: httpx.Client) -> None:
    quiet = {"prompt": "", "client_id": "quiet"}
    grant = {**EXCHANGE, "client_id": "quiet"}
    first, second = (http.post("/token", data={**grant, "code": code_of(http, **quiet)}).json() for _ in range(2))
    forced = http.post("/token", data={**grant, "code": code_of(http, client_id="quiet")}).json()
    assert ["refresh_token" in answer for answer in (first, second, forced)] == [True, False, True]


def test_an_access_token_dies_and_is_renewed_until_revoked(
    http: httpx.Client, sim: RunningSim, tokens: dict[str, Any]
) -> None:
    renew = {"grant_type": "refresh_token", "client_id": "client", "refresh_token": tokens["refresh_token"]}
    sim.advance(3_600)
    dead = call(http, "loadCodeAssist", token=tokens["access_token"])
    assert (dead.status_code, dead.json()["error"]["status"]) == (401, "UNAUTHENTICATED")
    renewed = http.post("/token", data=renew).json()
    assert "refresh_token" not in renewed
    assert call(http, "loadCodeAssist", token=renewed["access_token"]).status_code == 200
    assert http.post("/revoke", data={"token": tokens["refresh_token"]}).json() == {}
    gone = http.post("/token", data=renew)
    assert gone.json() == {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}
    assert http.post("/revoke", data={"token": tokens["refresh_token"]}).json()["error"] == "invalid_token"
    assert http.post("/revoke", data={"token": renewed["access_token"]}).json() == {}
    assert call(http, "loadCodeAssist", token=renewed["access_token"]).status_code == 401


def test_no_token_or_an_api_key_does_not_open_the_backend(http: httpx.Client) -> None:
    assert http.post("/v1internal:loadCodeAssist", json={}, headers={"x-goog-api-key": "k"}).status_code == 401


def test_answers_come_in_an_envelope(http: httpx.Client) -> None:
    unary = call(http, "generateContent", envelope()).json()
    assert unary["response"]["modelVersion"] == "gemini-3.5-flash"
    streamed = call(http, "streamGenerateContent", envelope(), alt="sse")
    assert streamed.headers["x-cloudaicompanion-trace-id"]
    events = [json.loads(line[6:]) for line in streamed.text.split("\r\n\r\n") if line]
    assert {event["traceId"] for event in events} == {streamed.headers["x-cloudaicompanion-trace-id"]}
    assert events[-1]["response"]["candidates"][0]["finishReason"] == "STOP"


def test_refusals_carry_the_backends_own_shape(http: httpx.Client) -> None:
    body = envelope(surprise=1)
    text = "Invalid JSON payload received. Unknown name \"surprise\" at 'request': Cannot find field."
    unary = call(http, "generateContent", body).json()["error"]
    assert unary["message"] == text
    assert unary["errors"] == [{"message": text, "domain": "global", "reason": "badRequest"}]
    assert call(http, "streamGenerateContent", body, alt="sse").json()[0]["error"]["message"] == text
    assert call(http, "generateContent", {**envelope(), "odd": 1}).status_code == 400
    unknown = call(http, "generateContent", envelope(model="gemini-0"))
    assert (unknown.status_code, unknown.json()["error"]["message"]) == (404, "Requested entity was not found.")


def test_both_clients_envelopes_are_taken(http: httpx.Client) -> None:
    cli = {**envelope(session_id="s", cachedContent=None, labels={}), "enabled_credit_types": ["GOOGLE_ONE_AI"]}
    agy = {"project": "p", "userAgent": "antigravity", "requestId": "agent-1", "requestType": "agent"}
    thinking = {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": -1}, "maxOutputTokens": 65_536}
    agy |= {"model": "gemini-pro-agent", "request": envelope(sessionId="-37", generationConfig=thinking)["request"]}
    for body in (cli, agy):
        assert call(http, "generateContent", body).status_code == 200


def test_signatures_do_not_cross_the_backends(http: httpx.Client) -> None:
    tools = [{"functionDeclarations": [{"name": "f"}]}]
    ask = envelope("call f {}", tools=tools)
    content = call(http, "generateContent", ask).json()["response"]["candidates"][0]["content"]
    called = content["parts"][0]["functionCall"]
    answer = {"functionResponse": {"name": "f", "id": called["id"], "response": {"output": "1"}}}
    ask["request"]["contents"] += [content, {"role": "user", "parts": [answer]}]
    assert call(http, "generateContent", ask).status_code == 200
    public = http.post(
        "/v1beta/models/gemini-3.5-flash:generateContent", json=ask["request"], headers={"x-goog-api-key": "k"}
    )
    assert (public.status_code, public.json()["error"]["message"]) == (400, "Corrupted thought signature.")


def test_tokens_are_counted_inside_the_envelope(http: httpx.Client) -> None:
    body = {"request": {"model": "models/gemini-3-flash-agent", "contents": envelope()["request"]["contents"]}}
    assert call(http, "countTokens", body).json() == {"totalTokens": 2}


def test_onboarding_is_a_long_running_operation(http: httpx.Client) -> None:
    started = call(http, "onboardUser", {"tierId": "free-tier", "metadata": {}}).json()
    assert started["done"] is False
    polled = http.get(f"/v1internal/{started['name']}", headers={"authorization": "Bearer ca-token"}).json()
    assert polled["done"] is True
    assert polled["response"]["cloudaicompanionProject"]["id"] == "aicode-consumers"
    assert http.get("/v1internal/operations/none", headers={"authorization": "Bearer ca-token"}).status_code == 404
    with_project = call(http, "onboardUser", {"tierId": "free-tier", "cloudaicompanionProject": "p"})
    assert with_project.json()["error"]["message"] == "Precondition Failed"
    assert call(http, "onboardUser", {"tierId": "none"}).status_code == 400


def test_quota_falls_and_an_empty_one_leaves_the_fraction_out() -> None:
    with RunningSim(SimSettings(quota_requests=2)) as sim, httpx.Client(base_url=sim.base_url) as http:

        def fractions() -> list[float | None]:
            bucket = call(http, "retrieveUserQuota", {"project": "p"}).json()["buckets"][0]
            group = call(http, "retrieveUserQuotaSummary").json()["groups"][0]["buckets"]
            listed = call(http, "fetchAvailableModels").json()["models"]["gemini-3-flash-agent"]["quotaInfo"]
            return [row.get("remainingFraction") for row in (bucket, *group, listed)]

        assert fractions() == [1.0] * 4
        assert call(http, "generateContent", envelope()).status_code == 200
        assert fractions() == [0.5] * 4
        assert call(http, "generateContent", envelope()).status_code == 200
        assert fractions() == [None] * 4
        spent = call(http, "generateContent", envelope()).json()["error"]
        other = call(http, "generateContent", envelope(), token="someone-else")
    assert spent["status"] == "RESOURCE_EXHAUSTED"
    assert spent["message"].startswith("You have exhausted your capacity on this model.")
    assert spent["details"][0]["reason"] == "QUOTA_EXHAUSTED"
    assert spent["details"][0]["metadata"]["quotaResetDelay"] == "5h0m0s"
    assert spent["details"][1]["retryDelay"] == "18000s"
    assert other.status_code == 200


def test_the_model_list_names_its_defaults(http: httpx.Client) -> None:
    answer = call(http, "fetchAvailableModels", {"project": "p"}).json()
    assert answer["defaultAgentModelId"] in answer["models"]
    row = answer["models"]["gemini-pro-agent"]
    assert (row["maxTokens"], row["maxOutputTokens"], row["thinkingBudget"]) == (1_048_576, 65_535, 10_001)
    for name in answer["models"]:
        assert call(http, "generateContent", envelope(model=name)).status_code == 200, name


@pytest.mark.parametrize(
    "method", ["listExperiments", "fetchAdminControls", "fetchUserInfo", "recordCodeAssistMetrics"]
)
def test_small_methods_answer(http: httpx.Client, method: str) -> None:
    assert call(http, method).status_code == 200


def test_an_unknown_method_is_not_found(http: httpx.Client) -> None:
    assert call(http, "makeCoffee").status_code == 404


def test_the_command_serves_alone_and_stops_on_a_signal() -> None:
    libs = Path(__file__).resolve().parents[3] / "libs"
    command = [sys.executable, "-m", "echo_workers.gemini_sim", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(libs)}) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert httpx.get(f"{url}/v1beta/models", headers={"x-goog-api-key": "k"}).status_code == 200
        taken = urlsplit(url).port
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", taken)) == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
