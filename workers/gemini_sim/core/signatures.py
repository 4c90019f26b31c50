"""Issues thought signatures that look real and tells its own from tampered, moved and foreign ones.

A signature is base64 of: magic, scope, backend, part kind, name hash, id hash, thought tokens, nonce, padding, HMAC.
The total is a multiple of three bytes, so that no base64 padding and no unused bits exist: every changed character is
a changed blob. Source of the sizes: signatures measured over recorded traffic (functionCall median 668 characters,
text 612, toolCall 728, toolResponse 42,116, image 1.1 to 2.9 million).
"""

import base64
import hashlib
import hmac
import struct
from dataclasses import dataclass
from typing import Any, Final, Literal

from echo_workers.gemini_sim.core.wire import decode_base64

#: Dummies for history that another model wrote. Source: thought signature rules, documented and SDK.
DUMMIES: Final = frozenset({"context_engineering_is_the_way_to_go", "skip_thought_signature_validator"})

PartKind = Literal["functionCall", "text", "toolCall", "toolResponse", "inlineData", "executableCode"]
Verdict = Literal["valid", "dummy", "foreign", "tampered", "moved", "out_of_scope"]
Backend = Literal["ai_studio", "code_assist"]

_MAGIC: Final = b"\x12\xac\x13\x0a"
_HEAD: Final = struct.Struct(">4s8s1s1s8s8sI12s")
_MAC_BYTES: Final = 32
_KIND_CODES: Final[dict[PartKind, bytes]] = {
    "functionCall": b"f",
    "text": b"t",
    "toolCall": b"c",
    "toolResponse": b"r",
    "inlineData": b"i",
    "executableCode": b"x",
}
#: (smallest, median, largest) length in characters by part kind; most issues lie near the median.
_SIZES: Final[dict[PartKind, tuple[int, int, int]]] = {
    "functionCall": (144, 668, 12_732),
    "text": (144, 612, 3_000),
    "toolCall": (144, 728, 3_108),
    "toolResponse": (1_000, 42_116, 139_340),
    "inlineData": (1_098_588, 1_503_688, 2_909_844),
    "executableCode": (288, 560, 2_596),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """The part that a signature belongs to, as far as it is bound: kind, function name, call id.

    Arguments are not bound: signatures stayed valid after edits of args and text (third-party experiment).
    """

    kind: PartKind
    name: str = ""
    call_id: str | None = None


def carrier_of(part: dict[str, Any]) -> Carrier:
    """The carrier of a part with camelCase names."""
    call = part.get("functionCall")
    if call is not None:
        return Carrier(kind="functionCall", name=call.get("name", ""), call_id=call.get("id"))
    kinds: tuple[PartKind, ...] = ("toolCall", "toolResponse", "inlineData", "executableCode")
    for kind in kinds:
        if kind in part:
            return Carrier(kind=kind)
    return Carrier(kind="text")


def _tag(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:8]


def _length(kind: PartKind, seed: bytes) -> int:
    smallest, median, largest = _SIZES[kind]
    draw = int.from_bytes(hashlib.sha256(b"size" + seed).digest()[:4], "big") / 2**32
    if draw < 0.45:
        chars = smallest + (median - smallest) * draw / 0.45
    elif draw < 0.95:
        chars = median + median * 0.6 * (draw - 0.45) / 0.5
    else:
        chars = median * 1.6 + (largest - median * 1.6) * (draw - 0.95) / 0.05
    return int(min(largest, max(smallest, chars))) // 4 * 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Issues and judges signatures for one simulator.

    Args:
        secret: key of the HMAC.
        trust_foreign: replay mode; well-formed blobs of others are taken for valid.
    """

    secret: bytes
    trust_foreign: bool = False

    def issue(self, carrier: Carrier, *, scope: str, backend: Backend, thought_tokens: int, seed: bytes) -> str:
        """A signature in standard base64; `seed` makes nonce and size, so the same seed gives the same one."""
        total = max(_length(carrier.kind, seed) // 4 * 3, (_HEAD.size + _MAC_BYTES + 5) // 3 * 3)
        nonce = hashlib.sha256(b"nonce" + seed).digest()[:12]
        head = _HEAD.pack(
            _MAGIC,
            _tag(scope),
            backend[0].encode(),
            _KIND_CODES[carrier.kind],
            _tag(carrier.name),
            _tag(carrier.call_id or ""),
            thought_tokens,
            nonce,
        )
        pad_bytes = total - _HEAD.size - _MAC_BYTES
        body = head + hashlib.shake_256(self.secret + nonce).digest(pad_bytes)
        return base64.b64encode(body + self._mac(body)).decode()

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self.secret, body, "sha256")

    def judge(self, signature: str, carrier: Carrier, *, scope: str, backend: Backend) -> Verdict:
        """What a signature on a part is; a part without id is matched by name only."""
        if signature in DUMMIES:
            return "dummy"
        blob = decode_base64(signature)
        if blob is None:
            return "tampered"
        if not blob.startswith(_MAGIC) or len(blob) < _HEAD.size + _MAC_BYTES:
            return "valid" if self.trust_foreign and blob else "foreign"
        body, mac = blob[:-_MAC_BYTES], blob[-_MAC_BYTES:]
        if not hmac.compare_digest(self._mac(body), mac):
            return "tampered"
        _, its_scope, its_backend, kind, name, call_id, _, _ = _HEAD.unpack_from(body)
        if its_scope != _tag(scope) or its_backend != backend[0].encode():
            return "out_of_scope"
        if kind != _KIND_CODES[carrier.kind] or name != _tag(carrier.name):
            return "moved"
        if carrier.call_id is not None and call_id != _tag(carrier.call_id):
            return "moved"
        return "valid"

    def thought_tokens(self, signature: str) -> int:
        """Thought tokens that a signature of ours carries into the prompt; 0 for any other."""
        if signature in DUMMIES:
            return 0
        blob = decode_base64(signature[: (_HEAD.size // 3 + 1) * 4])
        if blob is None or not blob.startswith(_MAGIC) or len(blob) < _HEAD.size:
            return 0
        tokens: int = _HEAD.unpack_from(blob)[6]
        return tokens
