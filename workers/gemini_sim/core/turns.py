"""Turn structure, call and response pairing, and thought signatures of the current turn."""

from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.models import ServerModel
from echo_workers.gemini_sim.core.signatures import Backend, Signer, carrier_of

_ROLES: Final = frozenset({"", "user", "model", "function", "tool"})
_DATA_FIELDS: Final = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "audioTranscription",
)
_COUNT: Final = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
_CALL_PLACE: Final = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE_PLACE: Final = "Please ensure that function response turn comes immediately after a function call turn."
_MISSING: Final = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
    "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:{name}` , position {position}. Please refer to https://ai.google.dev/gemini-api/docs/"
    "thought-signatures for more details."
)


def check_contents(contents: list[dict[str, Any]], message: str = "GenerateContentRequest") -> None:
    """Roles known, parts present, each with exactly one kind of data; `message` is what Google's texts name.

    Raises:
        GoogleRefusal: 400. Source: third-party reports of the texts.
    """
    if not contents:
        raise invalid(f"* {message}.contents: contents is not specified\n")
    for index, content in enumerate(contents):
        if content.get("role", "") not in _ROLES:
            raise invalid("Please use a valid role: user, model.")
        check_parts(content, f"{message}.contents[{index}]")


def check_parts(content: dict[str, Any], where: str) -> None:
    """One content's parts. Raises as `check_contents`."""
    parts = content.get("parts") or []
    if not parts:
        raise invalid(f"* {where}.parts: contents.parts must not be empty.\n")
    for number, part in enumerate(parts):
        kinds = [name for name in _DATA_FIELDS if name in part]
        if not kinds and "thoughtSignature" not in part:
            text = f"* {where}.parts[{number}].data: required oneof field 'data' must have one initialized field\n"
            raise invalid(text)
        if len(kinds) > 1:
            raise invalid(
                f"Invalid value at '{where.partition('.')[2]}.parts[{number}]' (oneof), oneof field 'data' is already "
                f"set. Cannot set '{kinds[1]}'"
            )


def _calls(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in content["parts"] if "functionCall" in part]


def _responses(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in content["parts"] if "functionResponse" in part]


def _is_model(content: dict[str, Any]) -> bool:
    return content.get("role") == "model"


def merged_turns(contents: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Neighbours of one side joined to one turn, each with the index of its first content.

    Source: several contents of one role in a row are accepted and count as one turn, recorded.
    """
    turns: list[tuple[int, dict[str, Any]]] = []
    for index, content in enumerate(contents):
        if turns and _is_model(turns[-1][1]) == _is_model(content):
            turns[-1][1]["parts"].extend(content["parts"])
        else:
            role = "model" if _is_model(content) else "user"
            turns.append((index, {"role": role, "parts": list(content["parts"])}))
    return turns


def check_turns(contents: list[dict[str, Any]], model: ServerModel) -> None:
    """Every function call is answered right after its turn, by as many responses, with ids that match.

    Raises:
        GoogleRefusal: 400. Source: texts from third-party issues; the id rule from Gemini 3.5 on, third-party.
    """
    turns = merged_turns(contents)
    if _calls(turns[0][1]) and _is_model(turns[0][1]):
        raise invalid(_CALL_PLACE)
    for place, (_, turn) in enumerate(turns):
        before = turns[place - 1][1] if place else None
        responses = _responses(turn)
        calls_before = _calls(before) if before is not None and _is_model(before) else []
        if responses and _is_model(turn):
            raise invalid("Please use a valid role: user, model.")
        if responses and not calls_before:
            raise invalid(_RESPONSE_PLACE)
        if before is not None and len(responses) != len(calls_before):
            raise invalid(_COUNT)
        if responses and model.matches_call_ids:
            _check_ids(calls_before, responses)
    if _calls(turns[-1][1]) and _is_model(turns[-1][1]):
        raise invalid(_COUNT)


def _check_ids(calls: list[dict[str, Any]], responses: list[dict[str, Any]]) -> None:
    asked = sorted(part["functionCall"].get("id", "") for part in calls)
    given = sorted(part["functionResponse"].get("id", "") for part in responses)
    if asked != given:
        raise invalid("functionResponse.id does not match functionCall.id")


def current_turn_start(contents: list[dict[str, Any]]) -> int:
    """Index of the last user content with standard data; what follows is the current turn.

    Source: thought signature rules, documented: walk back to the most recent user message that is no
    functionResponse. Text beside a functionResponse does not open a turn here (the stricter reading).
    """
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if not _is_model(content) and not _responses(content):
            return index
    return 0


def check_signatures(contents: list[dict[str, Any]], model: ServerModel, signer: Signer, backend: Backend) -> None:
    """The first function call of each step of the current turn carries a signature that is acceptable.

    Text signatures and everything before the current turn are never validated.
    Source: thought signature rules for Gemini 3, documented; which blob counts as corrupted, third-party: a
    conversation moved from a Google account to an API key was refused so.

    Raises:
        GoogleRefusal: 400.
    """
    if not model.checks_signatures or model.signature_scope is None:
        return
    start = current_turn_start(contents)
    for index, turn in merged_turns(contents[start:]):
        calls = _calls(turn) if turn["role"] == "model" else []
        for number, part in enumerate(calls):
            signature = part.get("thoughtSignature", "")
            if not signature:
                if number == 0:
                    name = part["functionCall"].get("name", "")
                    raise invalid(_MISSING.format(name=name, position=start + index + 1))
                continue
            verdict = signer.judge(signature, carrier_of(part), scope=model.signature_scope, backend=backend)
            if verdict == "moved":
                raise invalid("Invalid thought signature.")
            if verdict not in ("valid", "dummy"):
                raise invalid("Corrupted thought signature.")
