"""What a turn log holds, and how an answer is rebuilt from it after a crash."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from echo_core.ports import StreamEnd
from echo_core.server_cards import ServerCards
from echo_core.turn_record import TurnRecord
from echo_events import TextStreamed, ThoughtStreamed, ToolCalled
from echo_protocol import ServerToolUsed, StreamProcessor, TextDelta, ThoughtDelta, UnreadableChunk
from echo_utils import dumps


def chunk_record(chunk: Mapping[str, Any]) -> bytes:
    """A decoded response chunk as one record of the turn log."""
    return b'{"chunk":' + dumps(chunk) + b"}"


def content_record(content_json: bytes) -> bytes:
    """A whole Content (tool responses) as one record of the turn log."""
    return b'{"content":' + content_json + b"}"


def stream_record(how: StreamEnd) -> bytes:
    """That another stream follows, as one record of the turn log."""
    return b'{"stream":' + dumps(how) + b"}"


def rebuild(records: Iterable[bytes], lead: Iterable[bytes] = (), before: str = "") -> TurnRecord:
    """The record of a turn that was cut off, as far as its log reaches.

    Args:
        records: of the turn log, in order.
        lead: Contents with which the answer's record began.
        before: the page's text at the beginning.
    """
    turn = TurnRecord(list(lead), before)
    cards = ServerCards()
    for record in records:
        [(kind, value)] = json.loads(record).items()
        if kind == "stream":
            turn.stream_over(value)
            continue
        if kind == "content":
            turn.close()
            turn.hops.append(dumps(value))
            if any("functionResponse" in part for part in value["parts"]):
                turn.transcript.add(ToolCalled(call_id="", name="", arguments_json=""))
            continue
        turn.stream = turn.stream or StreamProcessor()
        _show(turn, turn.stream, cards, value)
    turn.close()
    return turn


def _show(turn: TurnRecord, stream: StreamProcessor, cards: ServerCards, chunk: dict[str, Any]) -> None:
    try:
        events = stream.process(chunk)
    except UnreadableChunk:  # the live turn failed at this chunk too; what came before it counts
        return
    for event in events:
        if isinstance(event, TextDelta):
            if text := turn.rejoined(event.text):
                turn.transcript.add(TextStreamed(text))
        elif isinstance(event, ThoughtDelta) and not turn.rejoins:
            turn.transcript.add(ThoughtStreamed(event.text))
        elif isinstance(event, ServerToolUsed):
            for card in cards.show(event):
                turn.transcript.add(card)
