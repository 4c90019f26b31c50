"""One conversation over several endpoints, models and providers: each request is one that Gemini takes."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from echo_gemini_client import CodeAssistApi, EchoGeminiClient
from echo_http import EchoTransport
from echo_runtime.backends import Backends, Endpoint
from echo_runtime.call import PipeCall
from echo_runtime.settings import Settings
from turn_kit import Json, Kit, entry

#: An answer of another provider's model, as a chat holds it when the model was switched for a turn.
CLAUDE = {"role": "assistant", "content": "Claude here: herons nest in trees."}


async def look(key: str) -> str:
    """Looks something up."""
    return f"{key} is green"


LOOK = {"look": entry(look, key={"type": "string"})}


@dataclass
class Switch:
    """Which endpoint answers next.

    Args:
        code_assist: whether it is Code Assist; AI Studio else.
    """

    code_assist: bool = False
    transport: EchoTransport = field(default_factory=EchoTransport)


@pytest.fixture
async def switch(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Code Assist signs in by a later release's port; here it has a token, and the rest of the way is the real one."""
    switch, of_key = Switch(), Backends.for_call

    async def for_call(self: Backends, call: PipeCall, settings: Settings) -> Endpoint:
        if not switch.code_assist:
            return await of_key(self, call, settings)

        async def token() -> str:
            return "integration-token-0123456789"

        api = CodeAssistApi(base_url=kit.sim.base_url, project="demo")
        return Endpoint(EchoGeminiClient(api, token, switch.transport), "code_assist:feedfacefeed")

    monkeypatch.setattr(Backends, "for_call", for_call)
    yield switch
    await switch.transport.aclose()


def signed(request: Json) -> list[bool]:
    """For each call of a tool and each answer in a request, whether its signature went along."""
    contents = request.get("request", request)["contents"]
    turns = [content["parts"] for content in contents if content["role"] == "model"]
    return [any("thoughtSignature" in part for part in parts) for parts in turns]


async def test_a_chat_that_changes_endpoint_and_model_is_never_refused(kit: Kit, switch: Switch) -> None:
    messages: list[Json] = []
    ways = [(False, "FLASH"), (True, "FLASH"), (True, "PRO"), (False, "PRO"), (False, "LITE"), (True, "FLASH")]
    for turn, (code_assist, level) in enumerate(ways):
        switch.code_assist = code_assist
        messages.append({"role": "user", "content": f'call look {{"key": "leaf {turn}"}}'})
        answer = await kit.complete(messages, native=LOOK, valves={"MODEL_SELECTION": level})
        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
        if turn == 3:
            messages += [{"role": "user", "content": "And herons?"}, CLAUDE]
    bodies = kit.bodies()  # each was answered with 200
    assert [("request" in body) for body in bodies] == [way for way, _ in ways for _ in range(2)]
    last = bodies[-1]["request"]["contents"]
    assert {"role": "model", "parts": [{"text": CLAUDE["content"]}]} in last


async def test_each_endpoint_gets_back_what_it_signed_itself(kit: Kit, switch: Switch) -> None:
    messages: list[Json] = []
    for turn, code_assist in enumerate((False, True, False)):
        switch.code_assist = code_assist
        messages.append({"role": "user", "content": f"Question {turn}."})
        answer = await kit.complete(messages)
        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
    assert [signed(body) for body in kit.bodies()] == [[], [False], [True, False]]
