"""Answers generateContent: the demo model's pieces become signed, counted response chunks."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from echo_workers.gemini_sim.core.continuation import Continuation, request_digest, seal, unseal
from echo_workers.gemini_sim.core.demo.answer import Piece, plan, thought
from echo_workers.gemini_sim.core.generation import thinks
from echo_workers.gemini_sim.core.signatures import carrier_of
from echo_workers.gemini_sim.core.tokens import details, text_tokens
from echo_workers.gemini_sim.core.tools import declared
from echo_workers.gemini_sim.services.journal import digest_of
from echo_workers.gemini_sim.services.prompt import Prompt
from echo_workers.gemini_sim.services.state import SimState
from echo_workers.gemini_sim.services.view import view_of

_WORD_GROUP: Final = re.compile(r"(?:\S+\s*){1,4}|\s+")
#: Thoughts are short; smaller chunks let a reader see them arrive.
_THOUGHT_GROUP: Final = re.compile(r"(?:\S+\s*){1,2}|\s+")
_CALL_FINISH: Final = "Model generated function call(s)."
#: Source: about the price of one generated image, documented.
_IMAGE_TOKENS: Final = 1_120


@dataclass(slots=True, kw_only=True)
class Generation:
    """One answer, or one hop of it, on its way out; `chunks` may be walked once.

    Args:
        serial: number of the answer; seeds ids and signatures, so that a fresh simulator repeats itself.
        signed: digest of each signature whose part went out.

    Raises:
        GoogleRefusal: the continuation token is not one of this request.
    """

    prompt: Prompt
    state: SimState
    stream: bool
    serial: int
    thought_tokens: int = 0
    answer_tokens: int = 0
    signed: list[str] = field(default_factory=list)
    _seed: bytes = b""
    _pieces: list[Piece] = field(default_factory=list)
    _signed: int = 0
    _hop: Continuation | None = None
    _next: Continuation | None = None

    def __post_init__(self) -> None:
        prompt, secret = self.prompt, self.state.settings.signing_secret.encode()
        token = prompt.sent.get("continuationToken")
        if token:
            self._hop = unseal(token, prompt.sent, secret)
            self._seed = bytes.fromhex(self._hop.seed)
        else:
            last = json.dumps(prompt.request["contents"][-1], sort_keys=True).encode()
            self._seed = hashlib.sha256(self.serial.to_bytes(8, "big") + last).digest()
        view = view_of(prompt, self._hop.cached_tokens if self._hop else prompt.cached_tokens)
        self._pieces = plan(view)
        if self._hop is None:
            self.thought_tokens = thinks(prompt.request, prompt.model)
            if self._config.get("thinkingConfig", {}).get("includeThoughts") and self.thought_tokens:
                self._pieces.insert(0, thought(view))

    @property
    def _config(self) -> dict[str, Any]:
        config: dict[str, Any] = self.prompt.request.get("generationConfig", {})
        return config

    @property
    def response_id(self) -> str:
        """22 characters, as recorded ones have."""
        return base64.urlsafe_b64encode(self._seed[:17]).decode()[:22]

    def chunks(self) -> Iterator[dict[str, Any]]:
        """Response objects in stream order; the last one has the finish reason and the final usage."""
        parts, reason = self._limited(list(self._parts()))
        calls = any("functionCall" in part for part in parts)
        for index, part in enumerate(parts):
            self._count(part)
            yield self._response([part], reason if index == len(parts) - 1 else None, calls=calls)
        if not parts:
            yield self._response([], reason, calls=False)

    def _parts(self) -> Iterator[dict[str, Any]]:
        old_style = self._signs_old_style()
        calls = 0
        for piece in self._pieces:
            match piece.kind:
                case "thought":
                    yield from ({"text": bit, "thought": True} for bit in _THOUGHT_GROUP.findall(piece.text))
                case "text":
                    for found in _WORD_GROUP.finditer(piece.text):
                        part: dict[str, Any] = {"text": found.group()}
                        yield self._sign(part) if old_style and not self._signed else part
                case "call":
                    part = {"functionCall": self._call(piece, calls)}
                    signs = self.prompt.model.checks_signatures or old_style
                    yield self._sign(part) if signs and not calls else part
                    calls += 1
                case "image":
                    part = {"inlineData": {"mimeType": "image/png", "data": piece.text}}
                    yield self._sign(part) if self.prompt.model.checks_signatures else part
        if self.prompt.model.checks_signatures and self._pieces[-1].kind == "text":
            yield self._sign({"text": ""})

    def _signs_old_style(self) -> bool:
        """2.5 signs the first answer part of any kind, when functions are declared. Source: recorded."""
        model = self.prompt.model
        signs = model.signature_scope is not None and not model.checks_signatures
        return signs and bool(declared(self.prompt.request))

    def _call(self, piece: Piece, number: int) -> dict[str, Any]:
        call: dict[str, Any] = {"name": piece.name, "args": dict(piece.args)}
        if self.prompt.model.issues_call_ids:
            digest = hashlib.sha256(b"call" + self._seed + number.to_bytes(4, "big")).digest()
            call["id"] = base64.b32encode(digest).decode().lower()[:8]
        return call

    def _sign(self, part: dict[str, Any]) -> dict[str, Any]:
        """Add a signature; the first one of an answer carries its thought tokens into the next prompt."""
        thoughts = self.thought_tokens if not self._signed else 0
        self._signed += 1
        signature = self.state.signer().issue(
            carrier_of(part),
            scope=self.prompt.model.signature_scope or "",
            backend=self.prompt.backend,
            thought_tokens=thoughts,
            seed=self._seed + self._signed.to_bytes(4, "big"),
        )
        return {**part, "thoughtSignature": signature}

    def _limited(self, parts: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
        """Cut at stop sequences, at maxOutputTokens and, on Gemini 4, at the cap of one hop."""
        model, done = self.prompt.model, self._hop
        parts = _cut_at_stop(parts, self._config.get("stopSequences", []))
        most = self._config.get("maxOutputTokens", None if model.unified_window else model.output_tokens)
        left = None if most is None else most - self.thought_tokens - (done.tokens_done if done else 0)
        if left is not None and left < 1:
            self.thought_tokens = min(self.thought_tokens, most or 0)
            return [], "MAX_TOKENS"
        settings = self.state.settings
        hop_cap = settings.hop_stream_tokens if self.stream else settings.hop_unary_tokens
        cap = hop_cap if model.generation >= 4 else None
        kept: list[dict[str, Any]] = []
        spent = 0
        skip = done.parts_done if done else 0
        for index, part in enumerate(parts[skip:]):
            spent += 0 if part.get("thought") else _part_tokens(part)
            if left is not None and spent > left:
                return kept, "MAX_TOKENS"
            if cap is not None and spent > cap and kept:
                self._stop_here(skip + index, spent - _part_tokens(part))
                return kept, "CONTINUATION"
            kept.append(part)
        return kept, "STOP"

    def _stop_here(self, parts_done: int, spent: int) -> None:
        self._next = Continuation(
            parts_done=parts_done,
            tokens_done=(self._hop.tokens_done if self._hop else self.thought_tokens) + spent,
            seed=self._seed.hex(),
            cached_tokens=self._hop.cached_tokens if self._hop else self.prompt.cached_tokens,
            digest=request_digest(self.prompt.sent),
        )

    def _count(self, part: dict[str, Any]) -> None:
        if "thoughtSignature" in part:
            self.signed.append(digest_of(part["thoughtSignature"]))
        if not part.get("thought"):
            self.answer_tokens += _part_tokens(part)

    def usage(self) -> dict[str, Any]:
        """UsageMetadata so far; zero fields are left out. Source: proto3 JSON, recorded."""
        prompt = self.prompt
        out: dict[str, Any] = {"promptTokenCount": prompt.prompt_tokens}
        if prompt.cached_tokens:
            out["cachedContentTokenCount"] = prompt.cached_tokens
        if self.answer_tokens:
            out["candidatesTokenCount"] = self.answer_tokens
        out["totalTokenCount"] = prompt.prompt_tokens + self.answer_tokens + self.thought_tokens
        out["promptTokensDetails"] = details(prompt.segments)
        if prompt.cached_tokens:
            out["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": prompt.cached_tokens}]
        if self.thought_tokens:
            out["thoughtsTokenCount"] = self.thought_tokens
        return out

    def _response(self, parts: list[dict[str, Any]], reason: str | None, *, calls: bool) -> dict[str, Any]:
        content: dict[str, Any] = {"parts": parts, "role": "model"} if parts else {"role": "model"}
        candidate: dict[str, Any] = {"content": content}
        if reason:
            candidate["finishReason"] = reason
            if calls and not self.stream:
                candidate["finishMessage"] = _CALL_FINISH
        candidate["index"] = 0
        if reason == "CONTINUATION" and self._next:
            candidate["continuationToken"] = seal(self._next, self.state.settings.signing_secret.encode())
        return {
            "candidates": [candidate],
            "usageMetadata": self.usage(),
            "modelVersion": self.prompt.model.id,
            "responseId": self.response_id,
        }

    def whole(self) -> dict[str, Any]:
        """The unary answer: the stream's parts with neighbouring texts joined."""
        parts: list[dict[str, Any]] = []
        last: dict[str, Any] = {}
        for last in self.chunks():
            for part in last["candidates"][0]["content"].get("parts", []):
                _join(parts, part)
        last["candidates"][0]["content"] = {"parts": parts, "role": "model"} if parts else {"role": "model"}
        return last


def _part_tokens(part: dict[str, Any]) -> int:
    if "text" in part:
        return text_tokens(part["text"])
    if "functionCall" in part:
        return text_tokens(json.dumps(part["functionCall"], ensure_ascii=False))
    return _IMAGE_TOKENS


def _cut_at_stop(parts: list[dict[str, Any]], stops: list[str]) -> list[dict[str, Any]]:
    said = ""
    for index, part in enumerate(parts):
        if "text" not in part or part.get("thought"):
            continue
        before, said = len(said), said + part["text"]
        cut = min((said.find(stop) for stop in stops if stop and stop in said), default=-1)
        if cut >= 0:
            return [*parts[:index], {**part, "text": part["text"][: max(0, cut - before)]}]
    return parts


def _join(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    before = parts[-1] if parts else None
    if (
        before is not None
        and "text" in part
        and "text" in before
        and part.get("thought") == before.get("thought")
        and "thoughtSignature" not in before
    ):
        parts[-1] = {**before, **part, "text": before["text"] + part["text"]}
    else:
        parts.append(part)
