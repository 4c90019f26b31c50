"""What a reader sees of a message: the answer without thoughts and without Open WebUI's own blocks."""

import re
import unicodedata
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
    rf"|<details\b(?=[^>]*\btype=[\"']?(?P<details>{_DETAILS_TYPES})\b)[^>]*>",
    re.IGNORECASE,
)
_ANY_DETAILS: Final = re.compile(r"<(?P<close>/?)details\b[^>]*>", re.IGNORECASE)
_SUMMARY: Final = re.compile(r"\s*<summary>.*?</summary>", re.IGNORECASE | re.DOTALL)
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
    position = 0
    answer_begun = False
    for opening in openings:
        start = opening.start()
        if start < position or any(begin <= start < end for begin, end in code):
            continue
        end, inner = _block(text, opening)
        answer_begun = answer_begun or bool(text[position:start].strip())
        if end is None and answer_begun:
            continue
        yield False, text[position:start]
        kind = opening["details"]
        if kind is None or kind.lower() == "reasoning":
            yield True, _thought_text(inner, quoted=kind is not None)
        position = len(text) if end is None else end
    yield False, text[position:]


def _block(text: str, opening: re.Match[str]) -> tuple[int | None, str]:
    """End of the block and what it holds; the end is None when the block is never closed."""
    begin = opening.end()
    if opening["details"] is None:
        tag = f"</{opening['think']}>" if opening["think"] else _MARKERS[opening["marker"].lower()]
        closing = re.compile(re.escape(tag), re.IGNORECASE).search(text, begin)
        return (None, text[begin:]) if closing is None else (closing.end(), text[begin : closing.start()])
    depth = 1
    for found in _ANY_DETAILS.finditer(text, begin):
        depth += -1 if found["close"] else 1
        if depth == 0:
            return found.end(), text[begin : found.start()]
    return None, text[begin:]


def _thought_text(inner: str, *, quoted: bool) -> str:
    """Thought text without the summary line and the quote marks that Open WebUI adds."""
    if quoted:
        inner = _QUOTE_MARK.sub("", _SUMMARY.sub("", inner, count=1).strip())
    return inner.strip()
