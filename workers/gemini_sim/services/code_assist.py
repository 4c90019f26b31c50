"""The methods of `/v1internal`: tiers, onboarding, quota, models, and the envelope around generateContent."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

from echo_workers.gemini_sim.core.code_assist import (
    PROJECT,
    available_models,
    exhausted,
    internal_model,
    load_answer,
    quota_summary,
)
from echo_workers.gemini_sim.core.errors import GoogleRefusal, invalid
from echo_workers.gemini_sim.core.times import timestamp
from echo_workers.gemini_sim.core.turns import check_contents
from echo_workers.gemini_sim.core.wire import read_message
from echo_workers.gemini_sim.services.generate import Generation
from echo_workers.gemini_sim.services.prompt import Caller, Prompt, read_prompt, segments_of
from echo_workers.gemini_sim.services.state import SimState

_WEEK_S: Final = 7 * 86_400.0
_FIVE_HOURS_S: Final = 5 * 3_600.0
#: Top-level fields of both clients' envelopes. Source: SDK (gemini-cli), third-party (Antigravity).
_ENVELOPE: Final = frozenset(
    {
        "model",
        "project",
        "user_prompt_id",
        "userPromptId",
        "request",
        "enabled_credit_types",
        "enabledCreditTypes",
        "userAgent",
        "requestId",
        "requestType",
    }
)


@dataclass(slots=True)
class CodeAssist:
    """One account's side of the backend.

    Args:
        used: requests by identity, against the quota of the settings.
        operations: onboarding operations by name, True once they were polled.
    """

    state: SimState
    used: dict[str, int] = field(default_factory=dict)
    operations: dict[str, bool] = field(default_factory=dict)

    def _fraction(self, identity: str) -> float:
        limit = self.state.settings.quota_requests
        return round(max(0.0, 1 - self.used.get(identity, 0) / limit), 7) if limit else 0.0

    def _spend(self, identity: str, model: str) -> None:
        now_s = self.state.clock.now_s()
        if not self._fraction(identity):
            raise exhausted(model, _FIVE_HOURS_S, timestamp(now_s + _FIVE_HOURS_S))
        self.used[identity] = self.used.get(identity, 0) + 1

    def prompt(self, body: dict[str, Any], identity: str) -> Prompt:
        """Open the envelope and check the request inside.

        Raises:
            GoogleRefusal: unknown fields (paths begin with `request`), a broken rule, an unknown model, no quota left.
        """
        for name in body:
            if name not in _ENVELOPE:
                text = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
                raise invalid(text, ("", text))
        model = internal_model(str(body.get("model", "")))
        inner = body.get("request") or {}
        caller = Caller(key=identity, backend="code_assist")
        prompt = read_prompt(inner, model, caller, self.state, message="InternalRequest", path="request")
        self._spend(identity, str(body["model"]))
        return prompt

    def generation(self, prompt: Prompt, *, stream: bool) -> Generation:
        """The answer to a prompt."""
        return Generation(prompt=prompt, state=self.state, stream=stream, serial=self.state.next_serial())

    def call(self, method: str, body: dict[str, Any], identity: str) -> dict[str, Any]:
        """Every method that is no generation.

        Raises:
            GoogleRefusal: 404 for a method that does not exist here.
        """
        now_s = self.state.clock.now_s()
        short, weekly = timestamp(now_s + _FIVE_HOURS_S), timestamp(now_s + _WEEK_S)
        match method:
            case "loadCodeAssist":
                return load_answer()
            case "onboardUser":
                return self._onboard(body)
            case "retrieveUserQuota":
                return {"buckets": self._buckets(identity, short)}
            case "retrieveUserQuotaSummary":
                return quota_summary(self._fraction(identity), weekly, short)
            case "fetchAvailableModels":
                return available_models(self._fraction(identity), short)
            case "countTokens":
                return self._count(body, identity)
            case "listExperiments":
                return {"experimentIds": []}
            case "fetchAdminControls" | "fetchUserInfo" | "recordCodeAssistMetrics":
                return {}
            case _:
                raise GoogleRefusal(404, "Requested entity was not found.")

    def _buckets(self, identity: str, reset_time: str) -> list[dict[str, Any]]:
        fraction, limit = self._fraction(identity), self.state.settings.quota_requests
        bucket: dict[str, Any] = {"resetTime": reset_time, "tokenType": "REQUESTS"}
        if fraction:
            left = limit - self.used.get(identity, 0)
            bucket = {"remainingAmount": str(left), "remainingFraction": fraction, **bucket}
        return [{**bucket, "modelId": name} for name in ("gemini-2.5-pro", "gemini-3-flash", "gemini-pro-agent")]

    def _count(self, body: dict[str, Any], identity: str) -> dict[str, Any]:
        raw = body.get("request") or {}
        request = read_message("InternalCountRequest", raw, "request")
        model = internal_model(request.get("model", ""))
        check_contents(request.get("contents", []), "CountTokensRequest")
        caller = Caller(key=identity, backend="code_assist")
        segments = segments_of(raw, request, model, caller, self.state)
        return {"totalTokens": sum(segment.tokens for segment in segments)}

    def _onboard(self, body: dict[str, Any]) -> dict[str, Any]:
        tier, project = body.get("tierId"), body.get("cloudaicompanionProject")
        if tier == "free-tier" and project:
            raise GoogleRefusal(400, "Precondition Failed", name="FAILED_PRECONDITION")
        if tier not in ("free-tier", "standard-tier", "legacy-tier"):
            raise invalid("Invalid tier id.")
        name = f"operations/onboard-{hashlib.sha256(str(len(self.operations)).encode()).hexdigest()[:12]}"
        self.operations[name] = False
        return {"name": name, "done": False}

    def operation(self, name: str) -> dict[str, Any]:
        """Poll an onboarding; it is done at the first poll.

        Raises:
            GoogleRefusal: 404.
        """
        if name not in self.operations:
            raise GoogleRefusal(404, "Requested entity was not found.")
        self.operations[name] = True
        response = {
            "@type": "type.googleapis.com/google.internal.cloud.code.v1internal.OnboardUserResponse",
            "cloudaicompanionProject": {"id": PROJECT, "name": PROJECT},
        }
        return {"name": name, "done": True, "response": response}
