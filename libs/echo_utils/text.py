"""What a reader sees of a message: the answer without thoughts and without Open WebUI's own blocks."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

#: Tags that Open WebUI reads as reasoning. Source: open-webui 0.12.4 utils/middleware.py, DEFAULT_REASONING_TAGS.
_THINK_TAGS: Final = "think|thinking|reason|reasoning|thought"
#: `<details type=…>` blocks that Open WebUI writes itself; a `<details>` without such a type is the author's own.
#: Source: open-webui 0.12.4 utils/middleware.py, serialize_output.
_DETAILS_TYPES: Final = "reasoning|tool_calls|code_interpreter"

_CODE: Final = re.compile(
    r"(?P<fence>^[ ]{0,3}(?P<ticks>`{3,}|~{3,})[^\n]*\n.*?(?:^[ ]{0,3}(?P=ticks)[`~]*[ \t]*$|\Z))"
    r"|(?P<span>(?<!`)(?P<run>`+)(?!`)[^\n]*?(?<!`)(?P=run)(?!`))",
    re.MULTILINE | re.DOTALL,
)
_OPEN: Final = re.compile(
    rf"<(?P<think>{_THINK_TAGS})>|<details\b(?=[^>]*\btype=[\"']?(?P<details>{_DETAILS_TYPES})\b)[^>]*>",
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
    if "<" in text:
        text = split_thought_process(text)[1]
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    lines = (_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n", "\n".join(lines)).strip()


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield (is a thought, text) in order; blocks of tool calls and code runs are left out."""
    code = [match.span() for match in _CODE.finditer(text)] if "`" in text or "~~~" in text else []
    position = 0
    answer_begun = False
    for opening in _OPEN.finditer(text):
        start = opening.start()
        if start < position or any(begin <= start < end for begin, end in code):
            continue
        end, inner = _block(text, opening)
        if end is None and answer_begun | bool(text[position:start].strip()):
            continue
        answer_begun |= bool(text[position:start].strip())
        yield False, text[position:start]
        if opening["think"] or opening["details"].lower() == "reasoning":
            yield True, _thought_text(inner, quoted=opening["details"] is not None)
        position = len(text) if end is None else end
    yield False, text[position:]


def _block(text: str, opening: re.Match[str]) -> tuple[int | None, str]:
    """End of the block and what it holds; the end is None when the block is never closed."""
    if opening["think"]:
        closing = re.compile(rf"</{opening['think']}>", re.IGNORECASE).search(text, opening.end())
        if closing is None:
            return None, text[opening.end() :]
        return closing.end(), text[opening.end() : closing.start()]
    depth = 1
    for tag in _ANY_DETAILS.finditer(text, opening.end()):
        depth += -1 if tag["close"] else 1
        if depth == 0:
            return tag.end(), text[opening.end() : tag.start()]
    return None, text[opening.end() :]


def _thought_text(inner: str, *, quoted: bool) -> str:
    """Thought text without the summary line and the quote marks that Open WebUI adds."""
    if quoted:
        inner = _QUOTE_MARK.sub("", _SUMMARY.sub("", inner, count=1).strip())
    return inner.strip()
