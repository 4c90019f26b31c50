"""The one way from a turn's events to what its reader understands: Open WebUI's page, or an API caller."""

from typing import Any

from echo_events.render_chat import ChatChunkRenderer
from echo_events.render_responses import ResponsesRenderer
from echo_events.types import TurnEvent

Wire = dict[str, Any]


class Renderer:
    """Stateful: one per answer, made by `for_page` or `for_api`."""

    def __init__(self, form: ResponsesRenderer | ChatChunkRenderer) -> None:
        self._form = form

    @classmethod
    def for_page(cls, prefix: str) -> "Renderer":
        """For Open WebUI's page; `prefix` makes item ids unique."""
        return cls(ResponsesRenderer(prefix))

    @classmethod
    def for_api(cls, *, completion_id: str, created_s: int, model: str) -> "Renderer":
        """For a plain API caller's stream; arguments as `ChatChunkRenderer`."""
        return cls(ChatChunkRenderer(completion_id=completion_id, created_s=created_s, model=model))

    def render(self, event: TurnEvent) -> list[Wire]:
        """What is streamed for one event, in order; empty when this reader is shown nothing."""
        return self._form.render(event)

    @staticmethod
    def emitted(event: TurnEvent) -> list[Wire]:
        """What the page is sent beside its stream, through Open WebUI's event emitter; only what needs no answer."""
        return [wire["event"] for wire in ResponsesRenderer("").render(event) if "event" in wire]
