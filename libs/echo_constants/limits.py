"""Limits and weights that several libs share; each names where its number comes from."""

from typing import Final

#: Weight of a memory by importance 1 (Trivial) to 5 (Axiom), index 0 = importance 1. Source: docs/design.md section 8.
MEMORY_IMPORTANCE_WEIGHTS: Final = (0.55, 0.80, 1.00, 1.30, 1.70)

#: A string in a sealed part that is larger than this goes to the `blobs` table. Source: docs/design.md section 4.
BLOB_THRESHOLD_BYTES: Final = 32 * 1024

#: How long a streamed part may stay only in memory before `turn_log` is written. Source: docs/design.md section 4.
TURN_LOG_INTERVAL_MS: Final = 250
TURN_LOG_BYTES: Final = 16 * 1024
