"""The two envelopes: what is sent where, and how an answer is unwrapped. Pure.

Source: the Gemini API reference, and for Code Assist the published source of gemini-cli.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import quote

from echo_constants import ECHO_VERSION
from echo_core.ports import GenerateRequest

DEFAULT_BASE_URL: Final = "https://generativelanguage.googleapis.com"
DEFAULT_API_VERSION: Final = "v1beta"
CODE_ASSIST_BASE_URL: Final = "https://cloudcode-pa.googleapis.com"
USER_AGENT: Final = f"echo-owui/{ECHO_VERSION}"
_MODELS_PAGE: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class WireCall:
    """One HTTP request without credentials.

    Args:
        idempotent: sending it twice does no harm, so a broken connection may be answered by sending again.
        with_key: False where the URL itself authorises.
    """

    method: str
    url: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotent: bool = False
    with_key: bool = True


class Api(Protocol):
    """What the client asks an envelope."""

    name: str
    base_url: str

    def generate(self, request: GenerateRequest, *, stream: bool) -> WireCall:
        """The call for an answer, streamed or whole."""
        ...

    def count_tokens(self, request: GenerateRequest) -> WireCall:
        """The call that counts a request's tokens."""
        ...

    def list_models(self, page_token: str) -> WireCall:
        """One page of the model list; "" = the first."""
        ...

    def models_of(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The models of one page."""
        ...

    def unwrap(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """The GenerateContentResponse inside an answer."""
        ...

    def auth(self, secret: str) -> Mapping[str, str]:
        """Headers that carry the key or token."""
        ...


class AiStudioApi:
    """The Gemini API with an API key.

    Args:
        base_url: scheme and host, optionally with the version (`https://host` or `https://host/v1beta`).
        api_version: used when the base URL names none.
    """

    name = "ai_studio"

    def __init__(self, base_url: str = DEFAULT_BASE_URL, api_version: str = DEFAULT_API_VERSION) -> None:
        found = re.fullmatch(r"(.*?)/+(v\d[a-z0-9]*)/*", base_url.strip())
        self.base_url, self.api_version = found.groups() if found else (base_url.strip().rstrip("/"), api_version)

    @property
    def root(self) -> str:
        """Base URL with version."""
        return f"{self.base_url}/{self.api_version}"

    def generate(self, request: GenerateRequest, *, stream: bool) -> WireCall:
        """The call for an answer, streamed or whole."""
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return WireCall(method="POST", url=f"{self.root}/{_path(request.model)}:{method}", body=request.body_json)

    def count_tokens(self, request: GenerateRequest) -> WireCall:
        """The call that counts a whole request, with its tools and system instruction."""
        inner = b'{"model":' + json.dumps(_path(request.model)).encode()
        body = b'{"generateContentRequest":' + _with_more(inner, request.body_json) + b"}"
        return WireCall(
            method="POST", url=f"{self.root}/{_path(request.model)}:countTokens", body=body, idempotent=True
        )

    def list_models(self, page_token: str) -> WireCall:
        """One page of the model list; "" = the first."""
        token = f"&pageToken={quote(page_token, safe='')}" if page_token else ""
        return WireCall(method="GET", url=f"{self.root}/models?pageSize={_MODELS_PAGE}{token}", idempotent=True)

    def models_of(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The models of one page."""
        return [model for model in answer.get("models") or [] if isinstance(model, dict)]

    def unwrap(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """Answers come bare."""
        return chunk

    def auth(self, secret: str) -> Mapping[str, str]:
        """The API key header; never in the URL, which lands in logs."""
        return {"x-goog-api-key": secret}


class CodeAssistApi:
    """`/v1internal` with a bearer token.

    Args:
        project: Google Cloud project, "" = none.
        base_url: scheme and host.
        envelope: further top-level fields of a generate request, such as `user_prompt_id`.
        headers: client headers that the administrator configured.
    """

    name = "code_assist"

    def __init__(
        self,
        *,
        project: str = "",
        base_url: str = CODE_ASSIST_BASE_URL,
        envelope: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.base_url = base_url.strip().rstrip("/")
        self._project = project
        self._envelope = dict(envelope or {})
        self._headers = dict(headers or {})

    def generate(self, request: GenerateRequest, *, stream: bool) -> WireCall:
        """The call for an answer; the request's bytes are put into the envelope unchanged."""
        head = {"model": request.model, **({"project": self._project} if self._project else {}), **self._envelope}
        body = json.dumps(head).encode()[:-1] + b',"request":' + request.body_json + b"}"
        return self._call("streamGenerateContent?alt=sse" if stream else "generateContent", body)

    def count_tokens(self, request: GenerateRequest) -> WireCall:
        """Counts the contents only: this method takes nothing else."""
        contents = json.loads(request.body_json).get("contents", [])
        body = json.dumps({"request": {"model": _path(request.model), "contents": contents}}, ensure_ascii=False)
        return self._call("countTokens", body.encode(), idempotent=True)

    def list_models(self, page_token: str) -> WireCall:
        """All models; this method has no pages."""
        body = json.dumps({"project": self._project} if self._project else {}).encode()
        return self._call("fetchAvailableModels", body, idempotent=True)

    def models_of(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The entries of the `models` mapping, each with its id as `name` (`models/ID`, as the Gemini API has it)."""
        models = answer.get("models")
        if not isinstance(models, dict):
            return []
        return [{"name": f"models/{key}", **value} for key, value in models.items() if isinstance(value, dict)]

    def unwrap(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """The `response`, empty when missing; `traceId` stands in for a missing `responseId`."""
        if "candidates" in chunk:
            return chunk
        inner = chunk.get("response")
        response: dict[str, Any] = inner if isinstance(inner, dict) else {}
        if "traceId" in chunk:
            response.setdefault("responseId", chunk["traceId"])
        return response

    def auth(self, secret: str) -> Mapping[str, str]:
        """The bearer token."""
        return {"authorization": f"Bearer {secret}"}

    def _call(self, method: str, body: bytes, *, idempotent: bool = False) -> WireCall:
        return WireCall(
            method="POST",
            url=f"{self.base_url}/v1internal:{method}",
            body=body,
            headers=self._headers,
            idempotent=idempotent,
        )


def _path(model: str) -> str:
    return quote(model if "/" in model else f"models/{model}", safe="/:@")


def _with_more(open_object: bytes, object_json: bytes) -> bytes:
    """`{"a":1` and `{"b":2}` become `{"a":1,"b":2}` without parsing the second."""
    rest = object_json.strip()[1:]
    return open_object + (rest if rest.strip() == b"}" else b"," + rest)
