"""Random histories for the compaction's properties: tools, media, signatures, stopped answers."""

import json
from typing import Any

from hypothesis import strategies as st

from echo_core.compaction_records import Chain
from echo_core.records import Shadow
from echo_core.sealing import seal_shadow
from echo_core.suture import Assembly
from echo_protocol import ROOT_PARENT

Json = dict[str, Any]

words = st.sampled_from(["alpha", "beta_7", "Gamma-12", "été", "src/main.py", "https://x.example/a", "must", "decided"])
texts = st.lists(words, min_size=1, max_size=40).map(" ".join)
long_texts = st.tuples(texts, st.integers(1, 400)).map(lambda pair: f"{pair[0]} " * pair[1])
signatures = st.integers(0, 400).map(lambda n: {"thoughtSignature": "c2ln" * n} if n > 200 else {})
media = st.sampled_from(
    [
        {"inlineData": {"mimeType": "image/png", "data": "AAAA" * 60, "displayName": "a.png"}},
        {"inlineData": {"mimeType": "image/png", "data": "BBBB" * 60, "displayName": "b.png"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "echo-vault:1"}},
    ]
)


@st.composite
def questions(draw: st.DrawFn) -> list[Json]:
    """The one Content of a user message."""
    parts: list[Json] = [{"text": draw(st.one_of(texts, long_texts))}]
    if draw(st.booleans()):
        parts.append(draw(media))
    return [{"role": "user", "parts": parts}]


@st.composite
def answers(draw: st.DrawFn) -> list[Json]:
    """The Contents of an answer, with rounds of parallel calls."""
    contents: list[Json] = []
    for round_ in range(draw(st.integers(0, 2))):
        calls = draw(st.integers(1, 3))
        ids = [f"c{round_}.{n}" for n in range(calls)]
        asked: list[Json] = [{"functionCall": {"id": i, "name": "look", "args": {"q": draw(words)}}} for i in ids]
        asked[0] |= draw(signatures)
        contents.append({"role": "model", "parts": asked})
        results = [draw(st.one_of(texts, long_texts)) for _ in ids]
        replies = [
            {"functionResponse": {"id": i, "name": "look", "response": {"output": r}}}
            for i, r in zip(ids, results, strict=True)
        ]
        contents.append({"role": "user", "parts": replies})
    contents.append({"role": "model", "parts": [{"text": draw(st.one_of(texts, long_texts)), **draw(signatures)}]})
    return contents


def chain_of(turns: list[tuple[list[Json], list[Json] | None]], *, start: int = 0) -> Chain:
    """A chain; the last turn's answer may be None: that question is asked now."""
    shadows: list[Shadow] = []
    parent = ROOT_PARENT
    for number, (question, answer) in enumerate(turns, start=start):
        for role, name, contents in (("user", f"u{number}", question), ("model", f"a{number}", answer)):
            if contents is None:
                continue
            data = json.dumps(contents, ensure_ascii=False, separators=(",", ":")).encode()
            bare = Shadow(message_id=name, chat_id="c", role="user" if role == "user" else "model", contents_json=data)
            shadows.append(seal_shadow(bare, parent))
            parent = shadows[-1].cumulative_hash
    asked = bool(shadows) and shadows[-1].role == "user"
    assembly = Assembly()
    assembly.extend(shadows[:-1] if asked else shadows)
    waiting = bool(assembly.last_roles) and assembly.last_roles[-1] == "user"
    pieces = [*assembly.pieces, shadows[-1].contents_json[1:-1]] if asked else assembly.pieces
    return Chain(ids=[s.message_id for s in shadows], shadows=shadows, pieces=pieces, asked=asked, waiting=waiting)


#: Whole chats, the last question without an answer.
chats = st.tuples(st.lists(st.tuples(questions(), answers()), min_size=0, max_size=12), questions()).map(
    lambda drawn: chain_of([*drawn[0], (drawn[1], None)])
)
