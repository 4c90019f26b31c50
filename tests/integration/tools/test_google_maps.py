"""Google Maps, as the simulator receives it."""

import json
from typing import Any

import pytest

from echo_runtime.turn_context import Anchors, shared_context
from turn_kit import Json, Kit, entry

ASKED: list[Json] = [{"role": "user", "content": "Where is a bakery?"}]
WITH_MAPS = {"GOOGLE_MAPS": True}


async def roll(sides: int = 6) -> str:
    """Rolls a die."""
    return f"rolled {sides}"


def searching(place: str = "") -> dict[str, Any]:
    """The metadata of a user who switched web search on and is somewhere."""
    metadata: dict[str, Any] = {"features": {"web_search": True}}
    shared_context(metadata).anchors = Anchors(places={"USER_LOCATION": place} if place else {})
    return metadata


async def test_maps_go_out_with_the_users_position_beside_functions(kit: Kit) -> None:
    native = {"roll": entry(roll, sides={"type": "integer"})}
    metadata = searching("45.764, 4.836 (lat, long)")
    await kit.complete(ASKED, own_valves=WITH_MAPS, metadata=metadata, native=native)
    [body] = kit.bodies()
    assert [tool for tool in body["tools"] if "functionDeclarations" not in tool] == [
        {"googleSearch": {}},
        {"urlContext": {}},
        {"googleMaps": {}},
    ]
    assert body["toolConfig"] == {
        "includeServerSideToolInvocations": True,
        "retrievalConfig": {"latLng": {"latitude": 45.764, "longitude": 4.836}},
    }


async def test_nobodys_position_is_sent_without_maps_or_without_leave(kit: Kit) -> None:
    await kit.complete(ASKED, metadata=searching("45.764, 4.836 (lat, long)"))
    await kit.complete(ASKED, own_valves=WITH_MAPS, metadata=searching())
    without_maps, without_leave = kit.bodies()
    assert {"googleMaps": {}} not in without_maps["tools"]
    assert {"googleMaps": {}} in without_leave["tools"]
    assert "latLng" not in json.dumps([without_maps, without_leave])


async def test_an_answer_in_json_does_without_maps(kit: Kit) -> None:
    await kit.complete(ASKED, own_valves=WITH_MAPS, metadata=searching(), response_format={"type": "json_object"})
    [body] = kit.bodies()
    assert body["generationConfig"]["responseMimeType"] == "application/json"
    assert {"googleMaps": {}} not in body["tools"]


@pytest.mark.parametrize("model", ["LITE", "FLASH", "PRO"])
async def test_every_level_is_one_that_has_maps(kit: Kit, model: str) -> None:
    await kit.complete(ASKED, own_valves=WITH_MAPS, metadata=searching(), valves={"MODEL_SELECTION": model})
    assert {"googleMaps": {}} in kit.bodies()[-1]["tools"]
