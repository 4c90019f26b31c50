"""Programs that call Open WebUI's API: the official OpenAI client, and the wire as it is."""

import base64
import json
import re
from collections.abc import Iterator

import httpx
import openai
import pytest

from echo_cli._model_record import ECHO_MODEL_ID
from echo_workers.gemini_sim.core import faults
from echo_workers.gemini_sim.core.demo.picture import png
from live import answers
from live.client import Client
from live.stack import Live

PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"


@pytest.fixture(autouse=True)
def _fresh(live: Live) -> None:
    live.sim.reset()


@pytest.fixture
def program(live: Live, ada: Client) -> Iterator[openai.OpenAI]:
    """The official client, as Ada."""
    with (
        httpx.Client(trust_env=False, timeout=60.0) as http,
        openai.OpenAI(base_url=f"{live.api_url}/api", api_key=ada.token, http_client=http, max_retries=0) as client,
    ):
        yield client


def test_a_whole_completion(program: openai.OpenAI) -> None:
    completion = program.chat.completions.create(
        model=ECHO_MODEL_ID, messages=[{"role": "user", "content": "Say hello."}]
    )
    assert completion.object == "chat.completion"
    [choice] = completion.choices
    assert "Say hello." in (choice.message.content or "")
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop")
    usage = completion.usage
    assert usage is not None
    assert usage.prompt_tokens > 0 < usage.completion_tokens
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.completion_tokens_details is not None and usage.completion_tokens_details.reasoning_tokens


def test_a_stream(program: openai.OpenAI) -> None:
    chunks = list(
        program.chat.completions.create(
            model=ECHO_MODEL_ID, messages=[{"role": "user", "content": "Say hello."}], stream=True
        )
    )
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk.id for chunk in chunks}) == 1
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "Say hello." in "".join(delta.content or "" for delta in deltas)
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    [usage] = [chunk.usage for chunk in chunks if chunk.usage]
    assert usage.total_tokens > 0


def test_the_stream_on_the_wire(live: Live, ada: Client) -> None:
    body = {"model": ECHO_MODEL_ID, "stream": True, "messages": [{"role": "user", "content": "Say hello."}]}
    headers = {"Authorization": f"Bearer {ada.token}"}
    url = f"{live.api_url}/api/chat/completions"
    with httpx.Client(trust_env=False) as http, http.stream("POST", url, json=body, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    assert "response." not in "".join(lines), "no Responses event reaches a program"


def test_an_answer_that_was_cut_short_says_so(live: Live, program: openai.OpenAI) -> None:
    live.sim.script(answers.parts({"text": "Half a sen"}, finish="MAX_TOKENS"))
    completion = program.chat.completions.create(model=ECHO_MODEL_ID, messages=[{"role": "user", "content": "Talk"}])
    assert (completion.choices[0].message.content, completion.choices[0].finish_reason) == ("Half a sen", "length")


@pytest.mark.parametrize(
    ("script", "kind", "told"),
    [
        (faults.quota_exhausted(quota_id=PER_DAY), openai.RateLimitError, "The Gemini quota for this model is used up"),
        (answers.key_rejected(), openai.PermissionDeniedError, "Google did not accept the Gemini API key"),
        (answers.model_unknown("gone"), openai.NotFoundError, "Gemini does not know the model"),
        (answers.prompt_blocked(), openai.BadRequestError, "Gemini refused this message for safety reasons"),
        (
            {**answers.only({"finishReason": "STOP"}), "times": -1},
            openai.InternalServerError,
            "Gemini sent an empty answer",
        ),
    ],
)
def test_a_failure_is_an_api_error(
    live: Live, program: openai.OpenAI, script: faults.Entry, kind: type[openai.APIStatusError], told: str
) -> None:
    live.sim.script(script)
    with pytest.raises(kind) as caught:
        program.chat.completions.create(model=ECHO_MODEL_ID, messages=[{"role": "user", "content": "Talk"}])
    message = caught.value.body["message"]  # type: ignore[index]
    assert message.startswith(told)
    reference = re.search(r"\(([0-9a-f]{8})\)$", message)
    assert reference and reference[1] in live.log()


def test_a_stream_that_breaks_gives_its_text_and_then_an_api_error(live: Live, program: openai.OpenAI) -> None:
    live.sim.script(faults.mid_stream_error("Half an ", "answer", times=-1))
    stream = program.chat.completions.create(
        model=ECHO_MODEL_ID, messages=[{"role": "user", "content": "Talk"}], stream=True
    )
    got = ""
    with pytest.raises(openai.APIError, match=r"Gemini is busy.*\([0-9a-f]{8}\)"):
        for chunk in stream:
            got += chunk.choices[0].delta.content or ""
    assert got == "Half an answer"


def test_a_client_that_asks_in_french_is_told_in_french(live: Live, program: openai.OpenAI) -> None:
    live.sim.script(answers.prompt_blocked())
    with pytest.raises(openai.BadRequestError, match="Gemini a refusé ce message"):
        program.with_options(default_headers={"Accept-Language": "fr-FR,fr;q=0.9"}).chat.completions.create(
            model=ECHO_MODEL_ID, messages=[{"role": "user", "content": "Parle"}]
        )


def test_a_client_that_hangs_up_stops_the_generation(live: Live, program: openai.OpenAI) -> None:
    live.sim.script(faults.hang("Endless "))
    stream = program.chat.completions.create(
        model=ECHO_MODEL_ID, messages=[{"role": "user", "content": "Never stop"}], stream=True
    )
    assert next(iter(stream)).choices[0].delta.content == "Endless "
    stream.close()
    live.sim.wait_ended("Never stop", "reset_by_client")


def test_an_image_as_data_uri_reaches_gemini_as_inline_data(live: Live, program: openai.OpenAI) -> None:
    picture = png("a heron")
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
    ]
    program.chat.completions.create(model=ECHO_MODEL_ID, messages=[{"role": "user", "content": content}])  # type: ignore[list-item,misc]
    [request] = live.sim.requests("streamGenerateContent")
    parts = json.loads(request["body"])["contents"][0]["parts"]
    assert parts[0] == {"text": "What is this?"}
    assert parts[1]["inlineData"]["mimeType"] == "image/png"
    assert base64.b64decode(parts[1]["inlineData"]["data"]) == base64.b64decode(picture)


def test_the_callers_own_settings_and_system_prompt_are_sent(live: Live, program: openai.OpenAI) -> None:
    program.chat.completions.create(
        model=ECHO_MODEL_ID,
        messages=[{"role": "system", "content": "Answer like a pirate."}, {"role": "user", "content": "Hi"}],
        max_tokens=500,
        stop=["END"],
    )
    body = json.loads(live.sim.requests("streamGenerateContent")[0]["body"])
    assert "Answer like a pirate." in body["systemInstruction"]["parts"][0]["text"]
    config = body["generationConfig"]
    assert (config["maxOutputTokens"], config["stopSequences"]) == (500, ["END"])


def test_a_tool_loop_without_a_page(live: Live, program: openai.OpenAI, toolkit: str) -> None:
    completion = program.chat.completions.create(
        model=ECHO_MODEL_ID,
        messages=[{"role": "user", "content": 'Call forecast {"city": "Lyon"} and call weigh {"what": "gold"}.'}],
        extra_body={"tool_ids": [toolkit]},
    )
    answer = completion.choices[0].message
    assert answer.tool_calls is None, "ECHO has run them itself"
    assert "21" in (answer.content or "") and "the scale is broken" in (answer.content or "")
    assert len(live.sim.requests("streamGenerateContent")) == 2
