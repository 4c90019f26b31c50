"""Turn structure, call and response pairing, and thought signatures of the current turn."""

from typing import Any, Final

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.models import ServerModel
from echo_workers.gemini_sim.core.schema import ONEOF
from echo_workers.gemini_sim.core.signatures import Backend, Signer, carrier_of

_ROLES: Final = frozenset({"", "user", "model", "function", "tool"})
_DATA: Final = ONEOF["Part"] | {"audioTranscription"}
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
        if _DATA.isdisjoint(part) and "thoughtSignature" not in part:
            text = f"* {where}.parts[{number}].data: required oneof field 'data' must have one initialized field\n"
            raise invalid(text)


def is_model(content: dict[str, Any]) -> bool:
    """Whether the model wrote it; every other role is the user's side."""
    return content.get("role") == "model"


def responses_in(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Its functionResponse parts."""
    return [part for part in content["parts"] if "functionResponse" in part]


def open_calls(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """FunctionCall parts of a model turn that the turn itself does not answer.

    Source: with MCP servers the model's turn holds both call and response, recorded (2.5 Flash).

    Raises:
        GoogleRefusal: a response without a call of that name before it.
    """
    waiting: list[dict[str, Any]] = []
    for part in parts:
        if "functionCall" in part:
            waiting.append(part)
        elif "functionResponse" in part:
            name = part["functionResponse"].get("name")
            at = next((at for at, call in enumerate(waiting) if call["functionCall"].get("name") == name), None)
            if at is None:
                raise invalid(_RESPONSE_PLACE)
            del waiting[at]
    return waiting


def _merged(contents: list[dict[str, Any]]) -> list[tuple[bool, list[dict[str, Any]]]]:
    """Neighbours of one side joined: (is the model's, parts)."""
    turns: list[tuple[bool, list[dict[str, Any]]]] = []
    for content in contents:
        side = is_model(content)
        if turns and turns[-1][0] == side:
            turns[-1][1].extend(content["parts"])
        else:
            turns.append((side, list(content["parts"])))
    return turns


def check_turns(contents: list[dict[str, Any]], model: ServerModel) -> None:
    """Every function call is answered right after its turn, by as many responses, with ids that match.

    A call that nobody answers is accepted by 2.0 and older models (recorded) and refused by later ones.

    Raises:
        GoogleRefusal: 400. Source: texts from third-party issues; the id rule from Gemini 3.5 on, third-party.
    """
    waiting: list[dict[str, Any]] = []
    strict = model.generation > 2.0
    for place, (side, parts) in enumerate(_merged(contents)):
        if side:
            waiting = open_calls(parts)
            if waiting and not place:
                raise invalid(_CALL_PLACE)
            continue
        responses = [part for part in parts if "functionResponse" in part]
        if responses and not waiting:
            raise invalid(_RESPONSE_PLACE)
        if len(responses) != len(waiting) and (strict or responses):
            raise invalid(_COUNT)
        if responses and model.matches_call_ids:
            _check_ids(waiting, responses)
        waiting = []
    if waiting and strict:
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
        if not is_model(contents[index]) and not responses_in(contents[index]):
            return index
    return 0


def check_signatures(contents: list[dict[str, Any]], model: ServerModel, signer: Signer, backend: Backend) -> None:
    """The first function call of each step of the current turn carries a signature that is acceptable.

    A signature on a later call of the step is judged too. Text signatures and everything before the current turn are
    never validated. Source: thought signature rules for Gemini 3, documented. Which blob is refused how is
    third-party: history moved from a Google sign-in to an API key is refused, older models say corrupted, models from
    3.7 on invalid.

    Raises:
        GoogleRefusal: 400.
    """
    if not model.checks_signatures or model.signature_scope is None:
        return
    in_step = False
    for index in range(current_turn_start(contents), len(contents)):
        if not is_model(contents[index]):
            in_step = False
            continue
        for part in open_calls(contents[index]["parts"]):
            signature = part.get("thoughtSignature", "")
            if signature:
                verdict = signer.judge(signature, carrier_of(part), scope=model.signature_scope, backend=backend)
                if verdict not in ("valid", "dummy"):
                    raise invalid(f"{model.signature_complaint} thought signature.")
            elif not in_step:
                raise invalid(_MISSING.format(name=part["functionCall"].get("name", ""), position=index + 1))
            in_step = True
