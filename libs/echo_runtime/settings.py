"""Valves and UserValves as one frozen value, so that the engine never meets a form of the admin panel."""

from dataclasses import dataclass
from typing import Any, Final

from echo_core.routing import Mode, mode_of
from echo_runtime.call import PipeCall

DEFAULT_BASE_URL: Final = "https://generativelanguage.googleapis.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one turn runs with.

    Args:
        model_selection: a level, or who chooses it.
        max_context_tokens: the most of a model's window that a chat may fill.
        base_url: where Gemini is.
        show_thoughts: whether thought summaries are asked for and shown.
        reasoning_effort: "" leaves the model's own default.
        max_tool_rounds: tool rounds before a last answer is asked for.
        tool_timeout_s: after this many seconds a tool call counts as failed.
        safety_threshold: Gemini's HarmBlockThreshold, "" leaves Google's default.
        keep_api_history: whether answers to API callers are kept for their next request.
        encrypts_records: whether what is sealed from now on is encrypted on disk.
        cache_files_s: how long Google is asked to keep a chat's large files ready, 0 = not at all.
        reminder_turns: turns between two reminders of the rules; 0 never.
        reminder_fill_percent: fill from which the rules are recalled once; 0 never.
    """

    model_selection: Mode
    max_context_tokens: int
    base_url: str
    show_thoughts: bool
    reasoning_effort: str
    max_tool_rounds: int
    tool_timeout_s: float
    safety_threshold: str
    keep_api_history: bool
    encrypts_records: bool
    cache_files_s: float = 0.0
    reminder_turns: int
    reminder_fill_percent: int

    @property
    def moves(self) -> bool:
        """Whether a turn may change its level."""
        return self.model_selection in ("AUTO", "AUTO_PRO")


def settings_of(call: PipeCall, env_base_url: str) -> Settings:
    """Merge the administrator's and the user's choices; the user's win where both exist.

    Args:
        call: whose valves count.
        env_base_url: GEMINI_BASE_URL of the environment, "" when unset.
    """
    admin, user = call.valves, call.user_valves
    return Settings(
        model_selection=mode_of(_choice(user, "MODEL_SELECTION") or admin.MODEL_SELECTION),
        max_context_tokens=admin.ECHO_MAX_CONTEXT_SIZE,
        base_url=(admin.GEMINI_BASE_URL or env_base_url or DEFAULT_BASE_URL).rstrip("/"),
        show_thoughts=bool(getattr(user, "SHOW_THOUGHTS", True)),
        reasoning_effort=_choice(user, "REASONING_EFFORT"),
        max_tool_rounds=admin.MAX_TOOL_ROUNDS,
        tool_timeout_s=float(admin.TOOL_TIMEOUT_S),
        safety_threshold=admin.SAFETY_THRESHOLD if admin.SAFETY_THRESHOLD != "default" else "",
        keep_api_history=admin.KEEP_API_HISTORY,
        encrypts_records=admin.ENCRYPT_RECORDS,
        cache_files_s=60.0 * getattr(admin, "CACHE_FILES_MIN", 0),
        reminder_turns=admin.REMINDER_TURNS,
        reminder_fill_percent=admin.REMINDER_FILL,
    )


def _choice(valves: Any, name: str) -> str:
    value = getattr(valves, name, "") or ""
    return "" if value == "default" else str(value)
