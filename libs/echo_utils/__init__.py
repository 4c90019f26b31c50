"""Small pure helpers that every layer may use: stable JSON, tagged hashes, visible text."""

from echo_utils.hashes import HASH_TAG, sha256_tagged, untagged
from echo_utils.json_bytes import canonical_json, dumps, plain_json
from echo_utils.text import defused, normalise_visible_text, split_thought_process, well_formed

__all__ = [
    "HASH_TAG",
    "canonical_json",
    "defused",
    "dumps",
    "normalise_visible_text",
    "plain_json",
    "sha256_tagged",
    "split_thought_process",
    "untagged",
    "well_formed",
]
