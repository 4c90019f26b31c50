"""What a reader sees of a message: the answer without thoughts and without Open WebUI's own blocks."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

#: Tags that Open WebUI reads as reasoning. Source: open-webui 0.12.4 utils/middleware.py, DEFAULT_REASONING_TAGS.
_THINK_TAGS: Final = "think|thinking|reason|reasoning|thought"
_MARKERS: Final = {"<|begin_of_thought|>": "<|end_of_thought|>", "◁think▷": "◁/think▷"}
#: `<details type=…>` blocks that Open WebUI wrote into the text before it had output items, and still renders; a
#: `<details>` without such a type is the author's own.
_DETAILS_TYPES: Final = "reasoning|tool_calls|code_interpreter"

_CODE: Final = re.compile(
    r"(?P<fence>^[ ]{0,3}(?P<ticks>`{3,}|~{3,})[^\n]*\n.*?(?:^[ ]{0,3}(?P=ticks)[`~]*[ \t]*$|\Z))"
    r"|(?P<span>(?<!`)(?P<run>`+)(?!`)[^\n]{0,400}?(?<!`)(?P=run)(?!`))",
    re.MULTILINE | re.DOTALL,
)
_OPEN: Final = re.compile(
    rf"<(?P<think>{_THINK_TAGS})>"
    rf"|(?P<marker>{'|'.join(map(re.escape, _MARKERS))})"
    rf"|<details\b(?=[^<>]*?\btype=[\"']?(?P<details>{_DETAILS_TYPES})\b)[^<>]*>",
    re.IGNORECASE,
)
_ANY_DETAILS: Final = re.compile(r"<(?P<close>/?)details\b[^<>]*>", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"\A\s*<summary>[^<]*</summary>", re.IGNORECASE)
#: What begins or ends an artifact, however it is spaced and spelt.
_ARTIFACT_TAG: Final = re.compile(r"<(?=\s*/?\s*artifact\b)", re.IGNORECASE)
_QUOTE_MARK: Final = re.compile(r"^> ?", re.MULTILINE)
_SPACES: Final = re.compile(r"[^\S\n]+")
_BLANK_LINES: Final = re.compile(r"\n{2,}")


def split_thought_process(text: str) -> tuple[str, str]:
    """Part the thoughts from the answer.

    `<think>` blocks and Open WebUI's `<details type="reasoning">` are thoughts; its blocks for tool calls and code
    runs belong to neither. Tags inside Markdown code are text. A block that is never closed is a thought only when
    nothing but blocks stands before it (a stream that stopped while thinking); later it is text that names the tag.

    Returns:
        (thoughts, answer): thoughts joined by a blank line, the answer with the blocks cut out; both stripped.
    """
    thoughts: list[str] = []
    answer: list[str] = []
    for is_thought, piece in _pieces(text):
        (thoughts if is_thought else answer).append(piece)
    return "\n\n".join(t for t in thoughts if t), "".join(answer).strip()


def defused(text: str) -> str:
    """A user's text with the `<` of each `<artifact` and `</artifact` written as `&lt;`.

    ECHO's artifacts are Parts of their own, so such text could only be mistaken for one. This is what the model reads;
    the page goes on showing what was typed.
    """
    return _ARTIFACT_TAG.sub("&lt;", text) if "<" in text else text


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD: neither UTF-8 nor Open WebUI's database can hold one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def normalise_visible_text(text: str) -> str:
    r"""Bring visible text to one form for comparison: no blocks, NFC, `\n`, single spaces, no blank lines.

    Two texts that a reader would call the same give the same result; it is for fingerprints, never for display.
    """
    if "<" in text or "◁" in text:
        text = split_thought_process(text)[1]
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n", "\n".join(lines)).strip()


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield (is a thought, text) in order; blocks of tool calls and code runs are left out."""
    openings = list(_OPEN.finditer(text))
    code = [match.span() for match in _CODE.finditer(text)] if openings else []
    closings = _Closings(text)
    position = 0
    answer_begun = False
    for opening in openings:
        start = opening.start()
        while code and code[0][1] <= start:
            code.pop(0)
        if start < position or (code and code[0][0] <= start):
            continue
        inner_end, end = closings.of(opening)
        answer_begun = answer_begun or bool(text[position:start].strip())
        if end < 0 and answer_begun:
            continue
        yield False, text[position:start]
        kind = opening["details"]
        inner = text[opening.end() : inner_end if end >= 0 else None]
        if kind is None or kind.lower() == "reasoning":
            yield True, _thought_text(inner, quoted=kind is not None)
        position = len(text) if end < 0 else end
    yield False, text[position:]


class _Closings:
    """Finds the end of blocks; the whole text is walked at most once a kind of tag, however many blocks there are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tags: dict[str, list[tuple[int, int]]] = {}
        self._details: dict[int, tuple[int, int]] | None = None

    def of(self, opening: re.Match[str]) -> tuple[int, int]:
        """(end of what the block holds, end of the block); (-1, -1) for a block that is never closed."""
        if opening["details"] is not None:
            if self._details is None:
                self._details = _details_pairs(self._text)
            return self._details.get(opening.end(), (-1, -1))
        tag = f"</{opening['think']}>".lower() if opening["think"] else _MARKERS[opening["marker"].lower()]
        if tag not in self._tags:
            found = re.compile(re.escape(tag), re.IGNORECASE).finditer(self._text)
            self._tags[tag] = [match.span() for match in found]
        spans = self._tags[tag]
        index = bisect_left(spans, (opening.end(), 0))
        return spans[index] if index < len(spans) else (-1, -1)


def _details_pairs(text: str) -> dict[int, tuple[int, int]]:
    """End of each opening `<details>` tag → span of the tag that closes it."""
    pairs: dict[int, tuple[int, int]] = {}
    waiting: list[int] = []
    for tag in _ANY_DETAILS.finditer(text):
        if not tag["close"]:
            waiting.append(tag.end())
        elif waiting:
            pairs[waiting.pop()] = tag.span()
    return pairs


def _thought_text(inner: str, *, quoted: bool) -> str:
    """Thought text without the summary line and the quote marks that Open WebUI adds."""
    if quoted:
        inner = _QUOTE_MARK.sub("", _SUMMARY.sub("", inner, count=1).strip())
    return inner.strip()
