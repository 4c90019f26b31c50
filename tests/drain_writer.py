"""A process that pushes and drains directives of one chat; tests run several, or kill it.

python drain_writer.py answers DATA_DIR NAME     for each line on standard input, push and drain as it says
python drain_writer.py endless DATA_DIR FIRST    push and drain question after question, along one chain
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "libs"), str(Path(__file__).resolve().parent)]

from echo_aec import Asking, EchoAEC, Transient  # noqa: E402
from echo_paths import EchoPaths  # noqa: E402
from echo_state_manager import SessionStores  # noqa: E402
from store_kit import CHAT, USER, ManualClock  # noqa: E402

#: How many directives `endless` pushes before each question.
PUSHED = 3


def directive(name: str) -> Transient:
    return Transient(id=name, type="aec_directive", name="x", payload=name, created_at_s=1)


def overlay(drained: Sequence[Transient]) -> bytes:
    return json.dumps([transient.id for transient in drained]).encode()


def asking(number: int, answer_id: str, chain: Sequence[str]) -> Asking:
    return Asking(question_id=f"q{number}", answer_id=answer_id, model_id="m", chain=[*chain, f"q{number}"])


def chain_of(number: int) -> list[str]:
    """Ids of all messages before a question of `endless`."""
    return [f"{kind}{earlier}" for earlier in range(number) for kind in "qa"]


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


async def answers(aec: EchoAEC, name: str) -> None:
    say("ready")
    while line := await asyncio.to_thread(sys.stdin.readline):
        told = json.loads(line)
        for identity in told["push"]:
            await aec.push(directive(f"{name}-{identity}"))
        answer_id = f"a{told['question']}-{name}"
        say(json.loads(await aec.drain_pending_directives(asking(told["question"], answer_id, told["chain"]), overlay)))


async def endless(aec: EchoAEC, number: int) -> None:
    say("ready")
    while True:
        for place in range(PUSHED):
            await aec.push(directive(f"d{number}-{place}"))
            say(["pushed", f"d{number}-{place}"])
        asked = asking(number, f"a{number}", chain_of(number))
        say(["drained", number, json.loads(await aec.drain_pending_directives(asked, overlay))])
        number += 1


async def main() -> None:
    stores = SessionStores(EchoPaths(Path(sys.argv[2])), ManualClock())
    async with stores.open(USER, CHAT) as store:
        if sys.argv[1] == "answers":
            await answers(EchoAEC(store), sys.argv[3])
        else:
            await endless(EchoAEC(store), int(sys.argv[3]))
    await stores.close()


if __name__ == "__main__":
    asyncio.run(main())
