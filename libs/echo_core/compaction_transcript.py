"""A stretch of the conversation as words: what a model that sums up is shown, and what `read_history` reads from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from echo_aec.escape import to_xml_text
from echo_core.records import Role, Shadow
from echo_protocol import (
    FileDataPart,
    FunctionCallPart,
    FunctionResponsePart,
    InlineDataPart,
    Part,
    TextPart,
    parse_contents,
    unbox_tool_output,
)
from echo_utils import dumps

#: Characters of one tool result, and of the arguments of a call, that are shown. Source: our choice.
RESULT_CHARS: Final = 2_000
_ARGS_CHARS: Final = 600
#: Characters of one message that are shown to the model that sums up. Source: our choice, about 8,000 tokens.
MESSAGE_CHARS: Final = 32_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message in words.

    Args:
        number: its place in the conversation, from 1.
        text: what user or model wrote.
        asides: calls, results and media, one line each.
    """

    number: int
    message_id: str
    role: Role
    text: str
    asides: tuple[str, ...] = ()

    def whole(self) -> str:
        """Everything, words first."""
        return "\n".join(filter(None, (self.text, *self.asides)))


def said(shadow: Shadow, number: int, *, result_chars: int = RESULT_CHARS) -> Said:
    """A record in words.

    Args:
        shadow: the record.
        number: its place, from 1.
        result_chars: how much of each tool result is kept.
    """
    parts = [part for content in parse_contents(shadow.contents_json) for part in content.parts]
    words = [part.text for part in parts if isinstance(part, TextPart)]
    return Said(
        number=number,
        message_id=shadow.message_id,
        role=shadow.role,
        text=("\n" if shadow.role == "user" else "").join(words).strip(),
        asides=tuple(_asides(parts, result_chars)),
    )


def _asides(parts: Sequence[Part], result_chars: int) -> Iterator[str]:
    for part in parts:
        match part:
            case FunctionCallPart():
                yield f"[called {part.name} with {_cut(dumps(part.args).decode(), _ARGS_CHARS)}]"
            case FunctionResponsePart():
                yield f"[{part.name} gave: {_cut(unbox_tool_output(part.response), result_chars)}]"
            case InlineDataPart():
                yield f"[{part.body.get('displayName') or part.mime_type} attached]"
            case FileDataPart():
                yield f"[{part.body.get('displayName') or part.mime_type} attached: {part.uri}]"
            case _:
                continue


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars * 2 // 3]} … {text[-chars // 3 :]}"


def transcript(messages: Sequence[Said]) -> str:
    """Messages for the model that sums up; what they say cannot pass for anything else."""
    return "\n".join(
        f'<message n="{m.number}" role="{m.role}">\n{_escaped(_cut(m.whole(), MESSAGE_CHARS))}\n</message>'
        for m in messages
    )


def _escaped(text: str) -> str:
    return to_xml_text(text).replace("<", "&lt;")


def chunks(messages: Sequence[Said], size_chars: int) -> list[list[Said]]:
    """Messages in stretches of about a size, each at least one; a message is never cut in two."""
    out: list[list[Said]] = []
    room = 0
    for message in messages:
        weight = min(len(message.text) + sum(map(len, message.asides)), MESSAGE_CHARS) + 64
        if not out or room < weight:
            out.append([])
            room = size_chars
        out[-1].append(message)
        room -= weight
    return out
