"""What the Code Assist backend tells about itself: its models, tiers and error bodies.

Source: model ids, lists and tiers as a real account was answered (recorded, 2026-08 and 2026-09); they change monthly.
"""

import json
from importlib.resources import files
from typing import Any, Final

from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.models import ServerModel, find_model

DOMAIN: Final = "cloudcode-pa.googleapis.com"
PROJECT: Final = "aicode-consumers"


#: `{"models": {id: row}, "lists": {...}}` of fetchAvailableModels; read at import, so that no request waits for a file.
_TABLES: Final[dict[str, Any]] = json.loads(files(__package__).joinpath("code_assist.json").read_text(encoding="utf-8"))


def internal_model(name: str) -> ServerModel:
    """The model behind a Code Assist id; ids of the public API are known too.

    Raises:
        GoogleRefusal: 404 as the backend words it (third-party).
    """
    bare = name.removeprefix("models/")
    base = _TABLES["models"].get(bare, {}).get("base", bare)
    try:
        return find_model(base, "v1internal", "generateContent", with_retired=False)
    except GoogleRefusal as refusal:
        raise GoogleRefusal(404, "Requested entity was not found.") from refusal


def available_models(fraction: float, reset_time: str) -> dict[str, Any]:
    """fetchAvailableModels; a remaining fraction of 0 is left out, as proto3 JSON does (recorded)."""
    rows = {}
    for name, row in _TABLES["models"].items():
        base = find_model(row["base"], "v1internal", "generateContent", with_retired=False)
        quota: dict[str, Any] = {"resetTime": reset_time}
        if fraction:
            quota["remainingFraction"] = fraction
        rows[name] = {
            **{key: value for key, value in row.items() if key != "base"},
            "supportsImages": True,
            "supportsThinking": base.thinking != "none",
            "maxTokens": base.input_tokens,
            "maxOutputTokens": row.get("maxOutputTokens", base.output_tokens),
            "quotaInfo": quota,
            "apiProvider": "API_PROVIDER_GOOGLE_GEMINI",
            "modelProvider": "MODEL_PROVIDER_GOOGLE",
        }
    return {"models": rows, **_TABLES["lists"]}


def load_answer() -> dict[str, Any]:
    """LoadCodeAssist for a consumer account. Source: recorded (2026-09), texts shortened."""
    free = {
        "id": "free-tier",
        "name": "Antigravity",
        "description": "Gemini-powered code suggestions and chat in multiple IDEs",
        "privacyNotice": {"showNotice": True, "noticeText": "Simulated notice."},
    }
    standard = {
        "id": "standard-tier",
        "name": "Antigravity",
        "description": "Unlimited coding assistant with the most powerful Gemini models",
        "userDefinedCloudaicompanionProject": True,
        "privacyNotice": {},
        "usesGcpTos": True,
    }
    return {
        "currentTier": {**free, "upgradeSubscriptionType": "GOOGLE_ONE"},
        "allowedTiers": [{**free, "isDefault": True}, standard],
        "cloudaicompanionProject": PROJECT,
        "gcpManaged": False,
        "upgradeSubscriptionUri": "https://codeassist.google.com/upgrade",
        "paidTier": {
            "id": "g1-pro-tier",
            "name": "Google AI Pro",
            "description": "Google AI Pro",
            "availableCredits": [{"creditType": "GOOGLE_ONE_AI", "minimumCreditAmountForUsage": "50"}],
        },
    }


def quota_summary(fraction: float, weekly_reset: str, short_reset: str) -> dict[str, Any]:
    """retrieveUserQuotaSummary: a weekly and a five-hour bucket. Source: recorded (2026-09)."""
    buckets = []
    for name, title, window, reset in (
        ("gemini-weekly", "Weekly Limit Remaining", "weekly", weekly_reset),
        ("gemini-5h", "Five Hour Limit Remaining", "5h", short_reset),
    ):
        bucket: dict[str, Any] = {"bucketId": name, "displayName": title, "window": window, "resetTime": reset}
        if fraction:
            bucket["remainingFraction"] = fraction
        buckets.append(bucket)
    group = {
        "buckets": buckets,
        "displayName": "Gemini Models",
        "description": "Models within this group: Gemini Flash, Gemini Pro",
    }
    return {"groups": [group], "description": "Within each group, models share a weekly limit and a 5-hour limit."}


def exhausted(model: str, reset_s: float, reset_time: str) -> GoogleRefusal:
    """429 QUOTA_EXHAUSTED. Source: SDK tests and third-party; Go durations in metadata, proto ones in RetryInfo."""
    hours, rest = divmod(int(reset_s), 3_600)
    minutes, seconds = divmod(rest, 60)
    go = f"{hours}h{minutes}m{seconds}s"
    text = f"You have exhausted your capacity on this model. Your quota will reset after {go}."
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "QUOTA_EXHAUSTED",
        "domain": DOMAIN,
        "metadata": {"uiMessage": "true", "model": model, "quotaResetDelay": go, "quotaResetTimeStamp": reset_time},
    }
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{int(reset_s)}s"}
    return GoogleRefusal(429, text, [info, retry])


def error_body(refusal: GoogleRefusal) -> dict[str, Any]:
    """The envelope of this backend; a 400 also lists `errors`. Source: third-party."""
    body = refusal.body()
    if refusal.http_status == 400:
        row = {"message": refusal.text, "domain": "global", "reason": "badRequest"}
        body["error"] = {"code": 400, "message": refusal.text, "errors": [row], **body["error"]}
    return body
