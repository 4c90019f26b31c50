"""What Google ran on its side, as cards: code with its output, a search with its words.

A card is shown when its result is there: one without a result would be run again by Open WebUI.
"""

from typing import Any, Final

from echo_events import ToolCalled, ToolFinished, TurnEvent
from echo_protocol import (
    SERVER_CARD,
    CodeExecutionResultPart,
    ExecutableCodePart,
    ServerToolUsed,
    ToolCallPart,
    ToolResponsePart,
)
from echo_utils import dumps

#: How the cards are named. Source: `toolType` of recorded answers, in Gemini's own words for its tools.
_CODE_NAME: Final = "code_execution"
_DONE: Final = "OUTCOME_OK"


class ServerCards:
    """One a turn.

    Args:
        first: the number of the first card; a continued answer has cards already.
    """

    def __init__(self, first: int = 0) -> None:
        self._count = first * 100
        self._code: ExecutableCodePart | None = None
        self._calls: dict[str, ToolCallPart] = {}

    def show(self, used: ServerToolUsed) -> list[TurnEvent]:
        """The events for one part; [] while its result is not there."""
        match used.part:
            case ExecutableCodePart() as code:
                self._code = code
            case ToolCallPart() as call:
                self._calls[str(call.body.get("id") or "")] = call
            case CodeExecutionResultPart() as result if self._code is not None:
                arguments = {"language": self._code.language.lower(), "code": self._code.code}
                failed = result.outcome not in ("", _DONE)
                self._code = None
                return self._card(_CODE_NAME, arguments, f"error: {result.output}" if failed else result.output)
            case ToolResponsePart() as response:
                asked = self._calls.pop(str(response.body.get("id") or ""), None)
                if asked is not None:
                    return self._card(asked.tool_type.lower() or "google", asked.args, "")
            case _:  # output without its code
                pass
        return []

    def _card(self, name: str, arguments: dict[str, Any], text: str) -> list[TurnEvent]:
        self._count += 1
        call_id = f"{SERVER_CARD}{self._count}"
        called = ToolCalled(call_id=call_id, name=name, arguments_json=dumps(arguments).decode())
        return [called, ToolFinished(call_id=call_id, text=text)]
