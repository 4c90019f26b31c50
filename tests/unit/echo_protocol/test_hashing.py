"""The hashes of the Suture, recomputed here from their definition."""

import hashlib
import json

from echo_protocol import ROOT_PARENT, client_hash, cumulative_hash, fingerprint, invariant_hash, sealed_hash


def _sha(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def test_the_invariant_hash_is_over_canonical_json() -> None:
    said = {"role": "user", "content": {"text": "é", "files": ["a"]}, "tool_io": None}
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
    assert invariant_hash("user", {"files": ["a"], "text": "é"}) == _sha(canonical)


def test_the_cumulative_hash_chains_bare_digests() -> None:
    one = invariant_hash("user", "a")
    root = cumulative_hash(one)
    assert ROOT_PARENT == "0" * 64
    assert root == _sha((one[7:] + ROOT_PARENT).encode())
    assert cumulative_hash(one, root) == _sha((one[7:] + root[7:]).encode())


def test_a_big_integer_keeps_all_its_digits() -> None:
    assert invariant_hash("model", "a", [2**63]) != invariant_hash("model", "a", [2**63 + 1])


def test_the_sealed_hash_sees_every_byte_and_the_border_between_its_fields() -> None:
    base = sealed_hash(contents_json=b"[1]", overlay_json=b"[2]")
    assert base == sealed_hash(contents_json=b"[1]", overlay_json=b"[2]")
    others = [(b"[1] ", b"[2]"), (b"[1]", b"[3]"), (b"[1][", b"2]"), (b"", b"[1][2]")]
    assert len({base, *(sealed_hash(contents_json=c, overlay_json=o) for c, o in others)}) == 5


def test_the_client_hash_knows_a_caller_by_role_and_visible_text() -> None:
    assert client_hash("assistant", "a  b\n") == client_hash("model", "a b")
    assert client_hash("user", "a") != client_hash("model", "a")
    assert client_hash("user", "a") != client_hash("user", "a", client_hash("user", "a"))


def test_the_fingerprint_is_blind_to_what_a_reader_does_not_see() -> None:
    assert fingerprint("<think>x</think>Bonjour\r\n\r\n\u00e0") == fingerprint("Bonjour\na\u0300")
    assert fingerprint("Bonjour") != fingerprint("bonjour")
    assert fingerprint("\ud800").startswith("sha256:")
