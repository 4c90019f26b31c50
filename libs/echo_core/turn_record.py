"""What one turn has produced so far, at any moment in a state that can be sealed and sent."""

from collections.abc import Sequence
from typing import Any

from echo_core.mending import NO_ANSWER, Rejoiner, standing
from echo_core.ports import StreamEnd
from echo_core.routing import Ladder, Route
from echo_core.usage import RoundUsage
from echo_events import Transcript
from echo_protocol import Part, StreamProcessor, StreamResult, Usage, content_json, replayable, text_part


class TurnRecord:
    """What a turn has produced so far; sealed at its end, whatever the end is.

    Args:
        lead: serialised Contents that open the answer's record: what a continued answer said before, and the words
            that ask for more.
        before: text of the answer that the page shows already.
    """

    def __init__(self, lead: Sequence[bytes] = (), before: str = "") -> None:
        self.hops: list[bytes] = list(lead)
        self.tool_io: list[dict[str, Any]] = []
        self.transcript = Transcript(before)
        self.ladder = Ladder((Route(level="FLASH", model_id=""),))
        self._rejoiner: Rejoiner | None = None
        self._carried: tuple[Part, ...] = ()
        self.usage = Usage()
        self.last_usage = Usage()
        self.asked_model = ""
        self.rounds: list[RoundUsage] = []
        self.model_version = ""
        self.stream: StreamProcessor | None = None

    def end_stream(self) -> StreamResult | None:
        """Close the stream that is running, if any, and keep what it brought as a hop.

        An answer that ends by CONTINUATION goes on in the next stream; its parts wait and become one hop with those.
        """
        result = self._finish_stream()
        if result is None:
            return None
        parts = (*self._carried, *replayable(result.parts))
        self._carried = parts if result.outcome == "continuation" else ()
        if parts and not self._carried:
            self.hops.append(content_json("model", parts))
        return result

    def stream_over(self, how: StreamEnd) -> None:
        """Close the stream that is running because another one follows."""
        if how == "kept":
            self.end_stream()
            return
        self._finish_stream()
        if how == "gone":
            self._carried = ()
        self._resume()

    def break_off(self, words: str) -> tuple[bytes, bytes]:
        """Keep of the stream that is running what can stand, and ask for the rest in ECHO's own words.

        Returns:
            The two Contents that were added, the model's and ours.
        """
        result = self._finish_stream()
        parts = (*self._carried, *standing(() if result is None else result.parts))
        self._carried = ()
        said = content_json("model", parts or [text_part(NO_ANSWER)])
        asking = content_json("user", [text_part(words)])
        self.hops += [said, asking]
        self._resume()
        return said, asking

    @property
    def rejoins(self) -> bool:
        """Whether a sentence that broke off is about to go on."""
        return self._rejoiner is not None

    def rejoined(self, text: str) -> str:
        """Of text that came in, what the page does not show yet."""
        if self._rejoiner is None:
            return text
        new = self._rejoiner.feed(text)
        if new:
            self._rejoiner = None
        return new

    def end_rejoining(self) -> str:
        """The stream ended or does something else than talk: what was held back and is new."""
        rejoiner, self._rejoiner = self._rejoiner, None
        return "" if rejoiner is None else rejoiner.end()

    def close(self) -> None:
        """Keep everything that has come, wherever the turn stands."""
        self.end_stream()
        if self._carried:
            self.hops.append(content_json("model", self._carried))
            self._carried = ()

    def _resume(self) -> None:
        """What is said next goes on where the page's text stands."""
        said = self.transcript.open_text
        self._rejoiner = Rejoiner(said) if said else None

    def _finish_stream(self) -> StreamResult | None:
        if self.stream is None:
            return None
        result, self.stream = self.stream.finish(), None
        self.usage += result.usage
        self.last_usage = result.usage if result.usage.total_tokens else self.last_usage
        if result.usage.total_tokens or result.parts or result.finish_reason:  # else nobody answered
            self.rounds.append(RoundUsage(model_id=self.asked_model, usage=result.usage))
        self.model_version = result.model_version or self.model_version
        return result
