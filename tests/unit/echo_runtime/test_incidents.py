"""What is left when a call could not be answered: a reference, a log line, the right form for the caller."""

import importlib
import json
import logging
from typing import Any

import pytest
from starlette.responses import StreamingResponse

from echo_constants import AuthError, ConfigError, EchoError, LimitError, UpstreamError
from echo_runtime import PipeCall, loading, respond
from echo_runtime.incidents import refuse, report


def call_as(*, page: bool = False, stream: bool = False, task: str | None = None, language: str = "en") -> PipeCall:
    ids = {"chat_id": "c", "message_id": "m", "session_id": "s"} if page else {}
    metadata = {"variables": {"{{USER_LANGUAGE}}": language}, **ids}
    return PipeCall(
        body={"stream": stream}, user={"id": "u"}, metadata=metadata, valves=None, tools={}, task=task
    )  # fmt: skip


async def body_of(answer: StreamingResponse) -> dict[str, Any]:
    return json.loads(b"".join([piece async for piece in answer.body_iterator]))  # type: ignore[misc]


def test_the_reader_and_the_log_get_the_same_reference(caplog: pytest.LogCaptureFixture) -> None:
    failure = report(ValueError("secret inner text"), "fr", chat_id="c", message_id="m")
    assert len(failure.reference) == 8
    assert failure.reference in caplog.text
    assert "secret inner text" in caplog.text
    assert caplog.records[0].levelno == logging.ERROR
    assert failure.message.startswith("Quelque chose s'est cassé dans ECHO.")
    assert "secret" not in failure.message


@pytest.mark.parametrize(
    ("error", "status"),
    [(EchoError(), 500), (ConfigError(), 500), (AuthError(), 403), (LimitError(), 429), (UpstreamError(), 503)],
)
async def test_an_api_caller_without_a_stream_gets_an_http_status(error: EchoError, status: int) -> None:
    answer = refuse(error, call_as())
    assert isinstance(answer, StreamingResponse)
    assert answer.status_code == status
    assert answer.media_type == "application/json"
    assert (await body_of(answer))["error"]["code"] == error.code


TOLD = "Gemini is not answering right now. Try again in a moment. ("


@pytest.mark.parametrize("stream", [True, False])
def test_the_page_gets_the_text(stream: bool) -> None:
    assert refuse(UpstreamError(), call_as(page=True, stream=stream))["error"].startswith(TOLD)


def test_a_stream_gets_openais_form() -> None:
    error = refuse(UpstreamError(), call_as(stream=True))["error"]
    assert error["message"].startswith(TOLD)
    assert error["code"] == "upstream"


def test_a_task_gets_nothing() -> None:
    assert refuse(UpstreamError(), call_as(task="title_generation")) == ""


@pytest.mark.parametrize(
    "problem",
    [ModuleNotFoundError("No module named 'h2'"), AttributeError("module 'httpx' has no attribute 'AsyncByteStream'")],
)
@pytest.mark.parametrize("language", ["en", "fr"])
async def test_a_foreign_package_is_told_with_what_to_do(
    problem: Exception, language: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse_import(name: str) -> Any:
        raise problem

    monkeypatch.setattr(importlib, "import_module", refuse_import)
    answer = await respond(call_as(page=True, stream=True, language=language))
    message = answer["error"]
    assert "`echoctl doctor`" in message
    assert ("un autre plugin" if language == "fr" else "another plugin") in message
    assert str(problem) in caplog.text
    assert "'code': 'libraries_unfit'" in caplog.text


async def test_what_was_mended_works_at_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    class Composition:
        @staticmethod
        def build() -> str:
            return "an orchestrator"

    found: list[Any] = [ImportError("h2"), Composition]

    def import_module(name: str) -> Any:
        value = found.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    monkeypatch.setattr(importlib, "import_module", import_module)
    with pytest.raises(loading.LibrariesUnfit):
        await loading.orchestrator()
    assert await loading.orchestrator() == "an orchestrator"


@pytest.mark.parametrize("variables", [None, 5, {"{{USER_LANGUAGE}}": ["fr"]}])
def test_a_language_that_is_none_is_read_as_english(variables: Any) -> None:
    """A failure is told in the caller's language, so finding that out must never fail."""
    metadata = {"variables": variables}
    call = PipeCall(body={}, user={}, metadata=metadata, valves=None, tools={})
    assert call.locale == "en"


async def test_what_hinders_echo_is_logged_at_start_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """C11: another plugin's package is found out when Open WebUI starts, not by the first user."""

    def refuse_import(name: str) -> Any:
        raise ImportError("cannot import name 'AsyncByteStream' from 'httpx'")

    monkeypatch.setattr(importlib, "import_module", refuse_import)
    await loading.warm_up()
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "`echoctl doctor`" in record.getMessage()
    assert "'AsyncByteStream' from 'httpx'" in caplog.text
