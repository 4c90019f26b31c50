"""What compaction costs by history size: a turn in which nothing is to be done, a plan, and the replay of a chat.

Beside a replay stands the bare work on the same bytes: joining the pieces of the conversation, as every turn does.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _harness import ROOT, Report, json_option

sys.path.insert(0, str(ROOT / "tests"))

from compaction_histories import chain_of
from echo_core.compaction import EchoCompactionEngine
from echo_core.compaction_checkpoint import Checkpoint
from echo_core.compaction_planning import Budget
from echo_core.compaction_records import Chain, CompactionState, Epoch, Weighed
from echo_core.compaction_replay import Rendered

TURNS = (10, 100, 1_000, 5_000)
ROUNDS = 9
WORDS = "It is a long answer with many words in it. "


def turn(number: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    question = [{"role": "user", "parts": [{"text": f"Question {number}: {WORDS * 8}"}]}]
    call = {
        "functionCall": {"id": f"c{number}", "name": "look", "args": {"n": number}},
        "thoughtSignature": "c2ln" * 150,
    }
    result = {"functionResponse": {"id": f"c{number}", "name": "look", "response": {"output": WORDS * 40}}}
    answer = [
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
        {"role": "model", "parts": [{"text": WORDS * 16}]},
    ]
    return question, answer


def history(turns: int) -> Chain:
    return chain_of([*(turn(number) for number in range(turns)), (turn(turns)[0], None)])


def median_ms(work: Callable[[], Any]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1_000


def measure(report: Report, turns: int) -> None:
    chain = history(turns)
    bare_ms = median_ms(lambda: b",".join(filter(None, chain.pieces)))
    size = EchoCompactionEngine.estimate(chain, EchoCompactionEngine.replay(chain, None, []))
    engine = EchoCompactionEngine(Budget(size_tokens=int(size / 0.46)))
    held = Weighed(hash="h", epoch_id="", tokens=size, ratio=1.0, frame_bytes=8_000).to_json()
    state = CompactionState(epochs=tuple(Epoch(id=f"e{n}", pivot_id=f"x{n}", pivot_hash="h") for n in range(20)))
    kept = state.to_json()

    def nothing() -> None:
        weighed = Weighed.from_json(held)
        assert weighed is not None
        assert CompactionState.from_json(kept).in_force(chain) is None
        engine.is_needed(weighed.tokens // 2, 0, "auto")

    report.figure(f"{turns} turns: nothing to do", "ms", median_ms(nothing), at_most=5.0)
    report.figure(
        f"{turns} turns: plan", "ms", median_ms(lambda: engine.plan(chain, None, frame_tokens=2_000, ratio=1.0))
    )
    plan = engine.plan(chain, None, frame_tokens=2_000, ratio=1.0)
    assert plan is not None
    epoch = engine.epoch(plan, chain, None, CompactionState(), "e1")
    artifacts = engine.artifacts(Checkpoint(goal="g", facts=(WORDS * 400,)), epoch, chain) if epoch.pivot_id else []
    rendered = Rendered()
    report.ratio(
        f"{turns} turns: first replay", "ms", median_ms(lambda: engine.replay(chain, epoch, artifacts)), bare_ms
    )
    engine.replay(chain, epoch, artifacts, rendered)
    again_ms = median_ms(lambda: engine.replay(chain, epoch, artifacts, rendered))
    report.over(f"{turns} turns: replay in the next turns", "ms", again_ms, bare_ms, at_most=5.0)


def main(json_file: Path | None) -> int:
    report = Report("compaction: planning and replay by history size, pure CPU")
    for turns in TURNS:
        measure(report, turns)
    return report.finish(json_file)


if __name__ == "__main__":
    sys.exit(main(json_option(__doc__ or "")))
