"""Answers generateContent: the demo model's pieces become signed, counted response chunks."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from echo_workers.gemini_sim.core.demo.answer import Piece, plan, thought
from echo_workers.gemini_sim.core.demo.view import Facts, View, bare_prompt, language_of
from echo_workers.gemini_sim.core.generation import thinks
from echo_workers.gemini_sim.core.signatures import Carrier, carrier_of
from echo_workers.gemini_sim.core.tokens import details, text_tokens
from echo_workers.gemini_sim.core.tools import declared
from echo_workers.gemini_sim.core.turns import current_turn_start
from echo_workers.gemini_sim.services.prompt import Prompt
from echo_workers.gemini_sim.services.state import SimState

_WORD_GROUP: Final = re.compile(r"(?:\S+\s*){1,8}|\s+")
_CALL_FINISH: Final = "Model generated function call(s)."


def view_of(prompt: Prompt) -> View:
    """What the demo model looks at."""
    request = prompt.request
    contents = request["contents"]
    start = current_turn_start(contents)
    after = contents[start + 1 :]
    steps = sum(1 for content in after if any("functionCall" in part for part in content["parts"]))
    last = contents[-1]["parts"] if contents[-1].get("role") != "model" else []
    answers = [part["functionResponse"] for part in last if "functionResponse" in part]
    config = request.get("generationConfig", {})
    calling = request.get("toolConfig", {}).get("functionCallingConfig", {})
    text = bare_prompt(contents[start]["parts"])
    schema = config.get("responseJsonSchema", config.get("responseSchema"))
    if schema is None and config.get("responseMimeType") == "application/json":
        schema = {}
    return View(
        prompt=text,
        locale=language_of(text),
        facts=Facts(
            turns=sum(1 for content in contents if content.get("role") != "model"),
            prompt_tokens=prompt.prompt_tokens,
            cached_tokens=prompt.cached_tokens,
            signatures=prompt.signatures,
            signatures_valid=prompt.signatures_valid,
            attachments=sum(
                1 for content in contents for part in content["parts"] if "inlineData" in part or "fileData" in part
            ),
        ),
        steps_done=steps,
        results=[(answer.get("name", ""), answer.get("response", {})) for answer in answers],
        tools=declared(request),
        mode=calling.get("mode", "AUTO"),
        allowed=calling.get("allowedFunctionNames", ()),
        schema=schema,
        image=prompt.model.image or "IMAGE" in config.get("responseModalities", ()),
    )


@dataclass(slots=True, kw_only=True)
class Generation:
    """One answer on its way out; `chunks` may be walked once.

    Args:
        serial: number of the answer; seeds ids and signatures, so that a fresh simulator repeats itself.
    """

    prompt: Prompt
    state: SimState
    stream: bool
    serial: int
    thought_tokens: int = 0
    answer_tokens: int = 0
    _thoughts_said: int = 0
    _seed: bytes = b""
    _signed_first: bool = False
    _pieces: list[Piece] = field(default_factory=list)

    def __post_init__(self) -> None:
        last = json.dumps(self.prompt.request["contents"][-1], sort_keys=True).encode("utf-8", "surrogatepass")
        self._seed = hashlib.sha256(self.serial.to_bytes(8, "big") + last).digest()
        view = view_of(self.prompt)
        self.thought_tokens = thinks(self.prompt.request, self.prompt.model)
        self._pieces = plan(view)
        thinking = self.prompt.request.get("generationConfig", {}).get("thinkingConfig", {})
        if thinking.get("includeThoughts") and self.thought_tokens:
            self._pieces.insert(0, thought(view))

    @property
    def response_id(self) -> str:
        """22 characters, as recorded ones have."""
        return base64.urlsafe_b64encode(self._seed[:17]).decode()[:22]

    def chunks(self) -> Iterator[dict[str, Any]]:
        """Response objects in stream order; the last one has the finish reason and the final usage."""
        parts, reason = self._limited(list(self._parts()))
        for index, part in enumerate(parts):
            is_last = index == len(parts) - 1
            self._count(part)
            yield self._response([part], reason if is_last else None, calls=any("functionCall" in p for p in parts))
        if not parts:
            yield self._response([], reason, calls=False)

    def _parts(self) -> Iterator[dict[str, Any]]:
        for piece in self._pieces:
            match piece.kind:
                case "thought":
                    yield {"text": piece.text, "thought": True}
                case "text":
                    yield from self._text(piece.text)
                case "call":
                    yield self._call(piece)
                case "image":
                    part = {"inlineData": {"mimeType": "image/png", "data": piece.text}}
                    yield self._signed(part, len(piece.text)) if self.prompt.model.checks_signatures else part
        if self._signs_last_text():
            yield self._signed({"text": ""}, 0)

    def _signs_last_text(self) -> bool:
        return self.prompt.model.checks_signatures and self._pieces[-1].kind == "text"

    def _text(self, text: str) -> Iterator[dict[str, Any]]:
        for number, found in enumerate(_WORD_GROUP.finditer(text)):
            part: dict[str, Any] = {"text": found.group()}
            if number == 0 and self._signs_old_style():
                part = self._signed(part, number)
            yield part

    def _signs_old_style(self) -> bool:
        """2.5 signs the first answer part of any kind, when functions are declared. Source: recorded."""
        model = self.prompt.model
        wanted = model.signature_scope is not None and not model.checks_signatures
        if not wanted or self._signed_first or not declared(self.prompt.request):
            return False
        self._signed_first = True
        return True

    def _call(self, piece: Piece) -> dict[str, Any]:
        call: dict[str, Any] = {"name": piece.name, "args": dict(piece.args)}
        number = sum(1 for other in self._pieces[: self._index(piece)] if other.kind == "call")
        if self.prompt.model.issues_call_ids:
            digest = hashlib.sha256(b"call" + self._seed + bytes([number])).digest()
            call["id"] = base64.b32encode(digest).decode().lower()[:8]
        part: dict[str, Any] = {"functionCall": call}
        signs = (self.prompt.model.checks_signatures and number == 0) or self._signs_old_style()
        return self._signed(part, number) if signs else part

    def _index(self, piece: Piece) -> int:
        return next(index for index, other in enumerate(self._pieces) if other is piece)

    def _signed(self, part: dict[str, Any], salt: int) -> dict[str, Any]:
        model = self.prompt.model
        carrier: Carrier = carrier_of(part)
        signature = self.state.signer().issue(
            carrier,
            scope=model.signature_scope or "",
            backend=self.prompt.backend,
            thought_tokens=self.thought_tokens,
            seed=self._seed + carrier.kind.encode() + str(salt).encode(),
        )
        return {**part, "thoughtSignature": signature}

    def _limited(self, parts: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
        config = self.prompt.request.get("generationConfig", {})
        left = config.get("maxOutputTokens", self.prompt.model.output_tokens) - self.thought_tokens
        if left < 1:
            self.thought_tokens = config["maxOutputTokens"]
            return [], "MAX_TOKENS"
        stops = [stop for stop in config.get("stopSequences", []) if stop]
        kept: list[dict[str, Any]] = []
        said = ""
        for part in parts:
            if "text" in part and not part.get("thought"):
                said += part["text"]
                cut = min((said.find(stop) for stop in stops if stop in said), default=-1)
                if cut >= 0:
                    keep = part["text"][: max(0, cut - (len(said) - len(part["text"])))]
                    return [*kept, {**part, "text": keep}], "STOP"
                left -= text_tokens(part["text"])
                if left < 0:
                    return kept, "MAX_TOKENS"
            kept.append(part)
        return kept, "STOP"

    def _count(self, part: dict[str, Any]) -> None:
        if part.get("thought"):
            self._thoughts_said = self.thought_tokens
            return
        self._thoughts_said = self.thought_tokens
        if "text" in part:
            self.answer_tokens += text_tokens(part["text"])
        elif "functionCall" in part:
            self.answer_tokens += text_tokens(json.dumps(part["functionCall"], ensure_ascii=False))
        else:
            self.answer_tokens += 1_120

    def usage(self) -> dict[str, Any]:
        """UsageMetadata so far; zero fields are left out. Source: proto3 JSON, recorded."""
        prompt = self.prompt
        out: dict[str, Any] = {"promptTokenCount": prompt.prompt_tokens}
        if prompt.cached_tokens:
            out["cachedContentTokenCount"] = prompt.cached_tokens
        if self.answer_tokens:
            out["candidatesTokenCount"] = self.answer_tokens
        out["totalTokenCount"] = prompt.prompt_tokens + self.answer_tokens + self.thought_tokens
        out["promptTokensDetails"] = details(list(prompt.segments))
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
        content = {"parts": parts, "role": "model"} if parts else {"role": "model"}
        last["candidates"][0]["content"] = content
        return last


def _join(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    before = parts[-1] if parts else None
    joins = (
        before is not None
        and "text" in part
        and "text" in before
        and part.get("thought") == before.get("thought")
        and "thoughtSignature" not in before
    )
    if before is not None and joins:
        parts[-1] = {**before, **part, "text": before["text"] + part["text"]}
    else:
        parts.append(part)
