"""What the tests of the state store share: a clock, shadows, and stores of both kinds."""

import json
from collections.abc import Sequence
from typing import Any

from echo_core.records import Role, Seal, Shadow, SignatureRow
from echo_core.sealing import seal_shadow, signature_rows
from echo_protocol import ROOT_PARENT
from echo_state_manager.crypto import MasterSecret

CHAT = "c1"
USER = "u1"
SECRET = MasterSecret("ECHO_SECRET_KEY", "a secret of the tests")


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, now_s: float = 1_800_000_000.0) -> None:
        self.at_s = now_s

    def now_s(self) -> float:
        return self.at_s

    def monotonic_s(self) -> float:
        return self.at_s

    async def sleep(self, delay_s: float) -> None:
        self.at_s += delay_s


def contents(*texts: str, role: str = "model", **extra: Any) -> bytes:
    """One serialised Content a text."""
    return json.dumps([{"role": role, "parts": [{"text": text, **extra}]} for text in texts]).encode()


def shadow(message_id: str = "m1", text: str = "hello", **changes: Any) -> Shadow:
    """A plausible shadow; the hashes are made up from the text unless given."""
    values: dict[str, Any] = {
        "message_id": message_id,
        "chat_id": CHAT,
        "role": "model",
        "contents_json": contents(text),
        "visible_text": text,
        "invariant_hash": f"sha256:inv-{text[:40]}",
        "parent_hash": "0" * 64,
        "cumulative_hash": f"sha256:cum-{text[:40]}",
        "backend": "aistudio",
        "model_id": "gemini-x",
    }
    return Shadow(**{**values, **changes})


def signature(message_id: str = "m1", place: tuple[int, int] = (0, 0), value: str = "c2ln") -> SignatureRow:
    return SignatureRow(
        message_id=message_id,
        content_index=place[0],
        part_index=place[1],
        thought_signature=value,
        model_id="gemini-x",
        scope="gemini-3",
    )


def seal(message_id: str = "m1", text: str = "hello", **changes: Any) -> Seal:
    return Seal(shadow=shadow(message_id, text, **changes))


def sealed(
    message_id: str, text: str, parent: str = ROOT_PARENT, *, role: Role = "model", signed: str = "", **changes: Any
) -> Seal:
    """A seal as the engine makes it: real hashes, a row for each signature, a tool journal for a tool call."""
    parts: list[dict[str, Any]] = [{"text": text}]
    if signed:
        parts.append({"functionCall": {"name": "look", "args": {"at": text}}, "thoughtSignature": signed})
    document = json.dumps([{"role": role, "parts": parts}]).encode()
    made = seal_shadow(shadow(message_id, text, role=role, **{"contents_json": document, **changes}), parent)
    tool_io = json.dumps([{"name": "look", "args": {"at": text}}]).encode() if signed else None
    return Seal(shadow=made, signatures=signature_rows(made, "gemini-3:aistudio"), tool_io_json=tool_io)


def chain(texts: Sequence[str], prefix: str = "m", parent: str = ROOT_PARENT, **changes: Any) -> list[Seal]:
    """Alternating user and model messages `m0`, `m1`…, the model's signed."""
    seals: list[Seal] = []
    for n, text in enumerate(texts):
        role: Role = "model" if n % 2 else "user"
        signed = f"sig {text}" * (3000 if text == "big" else 1) if n % 2 else ""
        seals.append(sealed(f"{prefix}{n}", text, parent, role=role, signed=signed, **changes))
        parent = seals[-1].shadow.cumulative_hash
    return seals
