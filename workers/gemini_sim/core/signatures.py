"""Issues thought signatures that look real and tells its own from tampered, moved and foreign ones.

A signature is base64 of two nested length-prefixed fields, as real ones are, around: magic, scope, backend, part
kind, name hash, id hash, thought tokens, nonce, padding, HMAC. The total is a multiple of three bytes, so that no
base64 padding and no unused bits exist: every changed character is a changed blob. Source of the sizes: signatures
measured over recorded traffic (functionCall median 668 characters, text 612, toolCall 728, toolResponse 42,116,
image 1.1 to 2.9 million).
"""

import base64
import hashlib
import hmac
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from echo_workers.gemini_sim.core.wire import decode_base64

#: Dummies for history that another model wrote. Source: thought signature rules, documented and SDK.
DUMMIES: Final = frozenset({"context_engineering_is_the_way_to_go", "skip_thought_signature_validator"})

PartKind = Literal["functionCall", "text", "toolCall", "toolResponse", "inlineData", "executableCode"]
Verdict = Literal["valid", "dummy", "foreign", "tampered", "moved", "out_of_scope"]
Backend = Literal["ai_studio", "code_assist"]

_MAGIC: Final = b"\x01\xec\x40"
_HEAD: Final = struct.Struct(">3s8s1s1s8s8sI12s")
_MAC_BYTES: Final = 32
_OWN_BYTES: Final = _HEAD.size + _MAC_BYTES
_KIND_CODES: Final[dict[PartKind, bytes]] = {
    "functionCall": b"f",
    "text": b"t",
    "toolCall": b"c",
    "toolResponse": b"r",
    "inlineData": b"i",
    "executableCode": b"x",
}
#: (smallest, median, largest) length in characters by part kind; most issues lie near the median. The recorded
#: minimum of a few characters belongs to made-up fixtures; ours need room for their own fields.
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
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _wrap(payload: bytes) -> bytes:
    inner = b"\x0a" + _varint(len(payload)) + payload
    return b"\x12" + _varint(len(inner)) + inner


def _unwrap(blob: bytes) -> bytes | None:
    for field in (b"\x12", b"\x0a"):
        size, at, shift = 0, 1, 0
        if not blob.startswith(field):
            return None
        while at < len(blob) and at < 6:
            size |= (blob[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if not blob[at - 1] & 0x80:
                break
        if size != len(blob) - at:
            return None
        blob = blob[at:]
    return blob


def _payload_bytes(kind: PartKind, seed: bytes) -> int:
    """Bytes of the payload so that the whole is about the drawn length and divisible by three."""
    smallest, median, largest = _SIZES[kind]
    draw = int.from_bytes(hashlib.sha256(b"size" + seed).digest()[:4], "big") / 2**32
    if draw < 0.45:
        chars = smallest + (median - smallest) * draw / 0.45
    elif draw < 0.95:
        chars = median + median * 0.6 * (draw - 0.45) / 0.5
    else:
        chars = median * 1.6 + (largest - median * 1.6) * (draw - 0.95) / 0.05
    size = max(_OWN_BYTES, int(min(largest, chars)) * 3 // 4 - 12)
    while len(_wrap(bytes(size))) % 3:
        size += 1
    return size


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
        padding = _payload_bytes(carrier.kind, seed) - _OWN_BYTES
        body = head + hashlib.shake_256(self.secret + nonce).digest(padding)
        return base64.b64encode(_wrap(body + self._mac(body))).decode()

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self.secret, body, "sha256")

    def judge(self, signature: str, carrier: Carrier, *, scope: str, backend: Backend) -> Verdict:
        """What a signature on a part is; a part without id is matched by name only."""
        if signature in DUMMIES:
            return "dummy"
        payload = _payload(signature)
        if payload is None:
            return "tampered"
        if not payload:
            return "valid" if self.trust_foreign else "foreign"
        body, mac = payload[:-_MAC_BYTES], payload[-_MAC_BYTES:]
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
        payload = None if signature in DUMMIES else _payload(signature)
        return int(_HEAD.unpack_from(payload)[6]) if payload else 0


def _payload(signature: str) -> bytes | None:
    """What is inside a signature of ours; empty when it is somebody else's, None when it is no base64 at all."""
    return _short_payload(signature) if len(signature) <= _KEPT_CHARS else _read_payload(signature)


def _read_payload(signature: str) -> bytes | None:
    blob = decode_base64(signature)
    if not blob:
        return None
    payload = _unwrap(blob)
    if payload is None or not payload.startswith(_MAGIC) or len(payload) < _OWN_BYTES:
        return b""
    return payload


#: A long history brings the same signatures with every request; those of usual size are read once.
_KEPT_CHARS: Final = 4_000
_short_payload = lru_cache(maxsize=16_384)(_read_payload)
