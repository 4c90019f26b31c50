"""Reads what the simulator received: which question stands where, and the exact bytes of each answer."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from echo_workers.gemini_sim.services.journal import digest_of

#: A question carries its own number, so that it is found again in any request.
QUESTION = re.compile(r"\[q:([0-9a-f]+)\]")


@dataclass(frozen=True, slots=True)
class Said:
    """One question of a request and what follows it.

    Attributes:
        question: its number, "" for what stands before the first question.
        asked: the exact text of its Content.
        answer: the exact text of each Content between it and the next question.
    """

    question: str
    asked: str
    answer: tuple[str, ...]

    @property
    def signatures(self) -> int:
        """How many parts of the answer are signed."""
        return len(self.signed)

    @property
    def signed(self) -> list[str]:
        """The digest of each signature in the answer, as the simulator's journal has them."""
        parts = [part for content in self.answer for part in json.loads(content)["parts"]]
        return [digest_of(part["thoughtSignature"]) for part in parts if "thoughtSignature" in part]


class Body:
    """One request as it came in.

    Attributes:
        key: stands for the API key.
        issued: digests of the signatures in its answer.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.text: str = record["body"]
        self.status: int = record["status"]
        self.n: int = record["n"]
        self.path: str = record["path"]
        self.key: str = record["headers"].get("x-goog-api-key", "")
        self.issued: list[str] = record["signed"]
        self.json: dict[str, Any] = json.loads(self.text)

    @property
    def head(self) -> str:
        """Everything before the contents: system instruction and tools."""
        return self.text[: self._contents_at]

    @property
    def contents(self) -> tuple[str, ...]:
        """The exact text of each Content."""
        return tuple(self._cut())

    @property
    def said(self) -> list[Said]:
        """The conversation, question by question."""
        found: list[tuple[str, str, list[str]]] = []
        for content in self.contents:
            number = _question(content)
            if number is not None or not found:
                found.append((number or "", content if number else "", [] if number else [content]))
            else:
                found[-1][2].append(content)
        return [Said(question, asked, tuple(answer)) for question, asked, answer in found]

    @property
    def signatures(self) -> int:
        """How many parts are signed."""
        return sum(said.signatures for said in self.said)

    @property
    def _contents_at(self) -> int:
        return self.text.index('"contents":[')

    def _cut(self) -> Iterator[str]:
        at = self._contents_at + len('"contents":[')
        decoder = json.JSONDecoder()
        while self.text[at] != "]":
            _, end = decoder.raw_decode(self.text, at)
            yield self.text[at:end]
            at = end + 1 if self.text[end] == "," else end


def _question(content: str) -> str | None:
    loaded = json.loads(content)
    if loaded["role"] != "user":
        return None
    text = " ".join(part.get("text", "") for part in loaded["parts"])
    found = QUESTION.search(text)
    return found[1] if found else None


def assert_valid(body: Body) -> None:
    """The turn shape: roles alternate, the user first, no empty parts, each call answered by the next Content."""
    contents = body.json["contents"]
    assert [c["role"] for c in contents] == ["user" if i % 2 == 0 else "model" for i in range(len(contents))]
    assert all(content["parts"] for content in contents)
    for now, after in zip(contents, [*contents[1:], {"parts": []}], strict=True):
        called = [part["functionCall"]["name"] for part in now["parts"] if "functionCall" in part]
        answered = [part["functionResponse"]["name"] for part in after["parts"] if "functionResponse" in part]
        assert called == answered
    assert not any(part.get("thought") for content in contents for part in content["parts"] if "text" in part)


def assert_continues(later: Body, earlier: Body) -> None:
    """The prefix: what was sent before is sent again, byte for byte, with something after it."""
    assert later.head == earlier.head
    assert later.contents[: len(earlier.contents)] == earlier.contents
    assert len(later.contents) > len(earlier.contents)
