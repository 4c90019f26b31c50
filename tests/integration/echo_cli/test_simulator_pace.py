"""The simulator's pace travels from `echoctl up` to the streamed answer."""

import os
import sys
from pathlib import Path

import httpx
import pytest

from echo_cli._ports import free_port
from echo_cli._process import Child, end_all
from echo_cli._simulator import SIMULATOR_MODULE, simulator_command
from echo_workers.gemini_sim.__main__ import read_arguments
from live.client import poll

LIBS = Path(__file__).resolve().parents[3] / "libs"
MODEL = "/v1beta/models/gemini-flash-latest"
HELLO = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
#: Far longer than the test may take: a stream that is paced sends nothing meanwhile.
NEVER_MS = 3_600_000


def test_the_command_line_carries_the_pace_and_is_fast_without() -> None:
    program = simulator_command("127.0.0.1", 1, chunk_delay_ms=40)
    assert program[:3] == [sys.executable, "-m", SIMULATOR_MODULE]
    assert read_arguments(program[3:]).chunk_delay_ms == 40
    assert read_arguments(simulator_command("127.0.0.1", 1)[3:]).chunk_delay_ms == 0
    with pytest.raises(SystemExit):
        read_arguments(["--port", "1", "--chunk-delay-ms", "-1"])


def test_a_stream_of_a_paced_simulator_waits_and_a_unary_answer_does_not(tmp_path: Path) -> None:
    port = free_port()
    env = {**os.environ, "PYTHONPATH": str(LIBS), "PYTHONUNBUFFERED": "1"}
    command = simulator_command("127.0.0.1", port, chunk_delay_ms=NEVER_MS)
    child = Child("simulator", command, env=env, log=tmp_path / "sim.log", cwd=tmp_path)
    try:
        poll(lambda: f"http://127.0.0.1:{port}" in child.tail() or child.exit_status, "the simulator's address", 30)
        headers = {"x-goog-api-key": "simulator"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20, headers=headers) as http:
            assert http.post(f"{MODEL}:generateContent", json=HELLO).is_success
            stream = http.build_request("POST", f"{MODEL}:streamGenerateContent?alt=sse", json=HELLO, timeout=0.5)
            with pytest.raises(httpx.ReadTimeout):
                http.send(stream)
            http.post("/__sim__/settings", json={"chunk_delay_ms": 0}).raise_for_status()
            assert http.post(f"{MODEL}:streamGenerateContent?alt=sse", json=HELLO).text.startswith("data: ")
    finally:
        end_all([child])
