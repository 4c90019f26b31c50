"""What Open WebUI hands to the pipe, read once into one frozen value; nothing of a request lives anywhere else."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from echo_constants import Locale, locale_of
from echo_prompts import PromptBook
from echo_runtime.turn_context import TurnContext, shared_context

Emitter = Callable[[dict[str, Any]], Awaitable[Any]]

#: Chat ids that are in no database. Source: open_webui.utils.chat_id, release 0.12.4.
_UNSAVED_PREFIXES = ("temporary:", "local:", "channel:")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeCall:
    """One call of the pipe.

    Args:
        body: the OpenAI-shaped request after all other filters.
        user: Open WebUI's user as a dict; `valves` holds this plugin's UserValves.
        metadata: Open WebUI's request metadata.
        valves: the administrator's Valves, as they were when the call came in.
        tools: `__tools__` as it came: name → {callable, spec, …}, a list of specs, or nothing; see `toolset`.
    """

    body: Mapping[str, Any]
    user: Mapping[str, Any]
    metadata: MutableMapping[str, Any]
    valves: Any
    tools: Any
    task: str | None = None
    event_emitter: Emitter | None = None
    event_call: Emitter | None = None
    request: Any = None

    @property
    def shared(self) -> TurnContext:
        """What ECHO's filters left for this turn."""
        return shared_context(self.metadata)

    @property
    def prompts(self) -> PromptBook:
        """The words in which ECHO speaks to the model during this turn."""
        return self.shared.prompts

    @property
    def user_id(self) -> str:
        """The signed-in user."""
        return str(self.user.get("id") or "")

    @property
    def user_valves(self) -> Any:
        """This user's UserValves, None when there are none."""
        return self.user.get("valves")

    @property
    def chat_id(self) -> str:
        """The chat, "" for a plain API call."""
        return str(self.metadata.get("chat_id") or "")

    @property
    def message_id(self) -> str:
        """The assistant message that is being written, "" for a plain API call."""
        return str(self.metadata.get("message_id") or "")

    @property
    def user_message_id(self) -> str:
        """The user message that is being answered, "" for a plain API call."""
        return str(self.metadata.get("user_message_id") or "")

    @property
    def continues(self) -> bool:
        """Whether the user asked for more of an answer that is there already."""
        return bool(self.message_id) and self.metadata.get("assistant_message_id") == self.message_id

    @property
    def regenerates_with_hint(self) -> bool:
        """Whether an answer is asked for again in other words; they are the last user message of the body."""
        return bool(self.metadata.get("regeneration_message_id"))

    @property
    def chain_end(self) -> str:
        """The last message that comes before what is asked for now.

        The user message; the answer itself when it is continued; the former answer when it is regenerated with a hint.
        """
        if self.continues:
            return self.message_id
        return str(self.metadata.get("regeneration_message_id") or self.user_message_id)

    @property
    def draws(self) -> bool:
        """Whether the image switch of the page is on for this message; the right to it is checked elsewhere."""
        features = self.metadata.get("features")
        return isinstance(features, Mapping) and bool(features.get("image_generation"))

    @property
    def is_temporary(self) -> bool:
        """Whether the chat is kept nowhere but in the page."""
        return self.chat_id.startswith(("temporary:", "local:"))

    @property
    def is_api(self) -> bool:
        """Whether the call belongs to no chat at all."""
        return not self.chat_id

    @property
    def is_saved(self) -> bool:
        """Whether the chat is in Open WebUI's database, so that its chain of messages can be read."""
        return bool(self.chat_id and self.user_message_id) and not self.chat_id.startswith(_UNSAVED_PREFIXES)

    @property
    def asks_anew(self) -> bool:
        """Whether a chat with records is asked a question, and not only for more of an answer or for another one."""
        return (self.is_saved or self.is_temporary) and not self.continues and not self.regenerates_with_hint

    @property
    def speaks_responses(self) -> bool:
        """Whether the reader is Open WebUI's page, which understands Responses events."""
        return bool(self.metadata.get("session_id") and self.message_id)

    @property
    def streams(self) -> bool:
        """Whether the caller asked for a stream."""
        return bool(self.body.get("stream"))

    @property
    def called_model(self) -> str:
        """The model id the caller chose; a workspace model's own id, not ECHO's."""
        model = self.metadata.get("model") or {}
        return str(model.get("id") or self.body.get("model") or "echo")

    @property
    def zone_name(self) -> str:
        """The reader's time zone as the page tells it, "" when it does not."""
        variables = self.metadata.get("variables")
        told = variables.get("{{CURRENT_TIMEZONE}}") if isinstance(variables, Mapping) else None
        return str(told or "")

    @property
    def locale(self) -> Locale:
        """The reader's language."""
        return self.shared.locale or request_locale(self.metadata, self.request)


def request_locale(metadata: Mapping[str, Any], request: Any) -> Locale:
    """The user's Open WebUI language; an API caller's is taken from Accept-Language."""
    variables = metadata.get("variables")
    language = variables.get("{{USER_LANGUAGE}}") if isinstance(variables, Mapping) else None
    if not language and request is not None:
        language = request.headers.get("accept-language")
    return locale_of(language if isinstance(language, str) else None)
