"""Answers that broke off: what of them stands, and how the rest is joined without saying anything twice."""

from collections.abc import Iterable, Sequence
from typing import Final

from echo_protocol import (
    CodeExecutionResultPart,
    ExecutableCodePart,
    FunctionCallPart,
    Part,
    ToolCallPart,
    ToolResponsePart,
    apply_scope,
    content_json,
    join_contents,
    open_calls,
    parse_contents,
    replayable,
)

#: Stands where the model said nothing that can be sent back, so that roles go on alternating.
NO_ANSWER: Final = "(This answer was empty.)"

#: A shorter overlap is taken for chance: a space, a bullet, a closing bracket. Source: our choice.
MIN_OVERLAP_CHARS: Final = 6


def standing(parts: Iterable[Part]) -> tuple[Part, ...]:
    """What of a broken-off hop goes into the history: everything before its first step that was left undone.

    A call that nobody will answer, and code or a server-side tool whose result did not arrive, are left out together
    with what follows them: they never took effect, and the API refuses calls without an answer.
    """
    kept = replayable(parts)
    return kept[: next((at for at in range(len(kept)) if _left_undone(kept, at)), len(kept))]


def _left_undone(parts: Sequence[Part], at: int) -> bool:
    part, later = parts[at], parts[at + 1 :]
    match part:
        case FunctionCallPart():
            return any(part is call for call in open_calls(parts))
        case ToolCallPart():
            return not any(isinstance(other, ToolResponsePart) for other in later)
        case ExecutableCodePart():
            return not any(isinstance(other, CodeExecutionResultPart) for other in later)
        case _:
            return False


def unsigned(fragments: Sequence[bytes], *, current: bool = False, signs: bool = False) -> tuple[bytes, ...]:
    """The same Contents for a model that cannot read their signatures.

    Args:
        fragments: serialised Contents and arrays of them.
        current: they belong to the current turn, whose calls are checked.
        signs: the model refuses calls of the current turn without a signature.
    """
    contents = parse_contents(join_contents(fragments))
    scoped = apply_scope(contents, False, -1 if current else None, validates=current and signs)
    return tuple(content_json(content.role, content.parts) for content in scoped)


class Rejoiner:
    """Takes out of a resumed answer what the reader has already: models like to begin a little before the break.

    Text is held back for as long as it may still be such a repetition.

    Args:
        said: what the page shows of the paragraph that broke off.
    """

    def __init__(self, said: str) -> None:
        self._said = said
        self._held = ""
        self._over = len(said) < MIN_OVERLAP_CHARS

    def feed(self, text: str) -> str:
        """The new part of what has come, "" while that is not clear."""
        if self._over:
            return text
        self._held += text
        if self._repeats_so_far():
            return ""
        return self.end()

    def end(self) -> str:
        """What was held back and is new; nothing is held back from here on."""
        held, self._held = self._held, ""
        if self._over:
            return held
        self._over = True
        for overlap in range(min(len(held), len(self._said)), MIN_OVERLAP_CHARS - 1, -1):
            if held.startswith(self._said[-overlap:]):
                return held[overlap:]
        return held

    def _repeats_so_far(self) -> bool:
        """Whether what is held stands somewhere in what was said, so that it may run on to its end."""
        return self._held in self._said
