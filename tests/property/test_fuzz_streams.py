"""Random bytes, guided by coverage, never hang or crash what reads from the network."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 60
SEEDS = (
    b'data: {"candidates": [{"finishReason": "STOP"}]}\r\n\r\n',
    b'{\n  "error": {\n    "code": 429,\n    "message": "Please retry in 1h2m3.4s."\n  }\n}\n',
    b'[{"a": 1}\r\n,\r\n{"error": {"code": 503}}]',
    b": c\nevent: x\rdata: a\rdata\r\n\n",
    b"\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
)


@pytest.mark.deep
@pytest.mark.timeout(SECONDS + 60)
def test_fuzzing_finds_nothing(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed (dependency group `fuzz`)")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed + b"\x05" * 8)
    script = Path(__file__).with_name("fuzz_streams.py")
    command = [sys.executable, script, corpus, f"-max_total_time={SECONDS}", "-max_len=4096", "-timeout=10"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done" in done.stderr
