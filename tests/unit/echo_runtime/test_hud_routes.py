"""The HUD's endpoint: signed in with a header, switched on, and one's own chats only."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, Header, HTTPException

from echo_core.figures import FIGURES_KEY, LATEST_FIGURES_KEY, TurnFigures
from echo_core.ports import ShadowStore
from echo_core.quota import ModelQuota
from echo_protocol import Catalogue
from echo_runtime.hud import Hud
from echo_runtime.hud_routes import HudHost, build_hud_routes
from echo_runtime.turn_context import Display
from echo_state_manager.memory import MemoryShadowStore
from store_kit import ManualClock

TURN = TurnFigures(
    message_id="m1", at_s=1, model_id="gemini-3-flash-preview", level="FLASH", cause="fill", window_tokens=1_000
)


@dataclass
class User:
    id: str


@dataclass
class Setup:
    display: Display = "page"
    active: bool = True


class NoQuota:
    async def model_quota(self, user_id: str, model_id: str) -> ModelQuota | None:
        return None


def signed_in(authorization: Annotated[str, Header()] = "", cookie: Annotated[str, Header()] = "") -> User:
    name = authorization.removeprefix("Bearer ") or cookie.removeprefix("token=")
    if name not in ("ada", "bob"):
        raise HTTPException(401)
    return User(name)


@pytest.fixture
def setup() -> Setup:
    return Setup()


@pytest.fixture
async def client(setup: Setup) -> AsyncIterator[httpx.AsyncClient]:
    store = MemoryShadowStore()
    await store.save_setting(LATEST_FIGURES_KEY, TURN.to_json())
    await store.save_setting(FIGURES_KEY.format(message_id="m1"), TURN.to_json())
    await store.save_setting(FIGURES_KEY.format(message_id="m0"), "damaged")
    hud = Hud(None, NoQuota(), None, Catalogue.load, ManualClock())  # type: ignore[arg-type]

    async def running() -> Hud:
        return hud

    @asynccontextmanager
    async def own(user_id: str, chat_id: str) -> AsyncIterator[ShadowStore | None]:
        yield store if (user_id, chat_id) == ("ada", "c1") else None

    async def display(_: str) -> Display:
        return setup.display

    async def is_echo(names: list[str]) -> bool:
        return "ECHO" in names

    def active() -> None:
        if not setup.active:
            raise HTTPException(404)

    app = FastAPI()
    host = HudHost(hud=running, open_chat=own, display=display, is_echo=is_echo)
    app.router.routes[:0] = build_hud_routes(host, user=signed_in, active=active)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page") as opened:
        yield opened


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {name}"}


async def test_the_owner_gets_the_gauge_and_nothing_is_cached(client: httpx.AsyncClient) -> None:
    answer = await client.get("/echo/api/hud?chat_id=c1&model=Other&model=ECHO", headers=bearer("ada"))
    told = answer.json()
    assert (told["display"], told["is_echo"]) == ("page", True)
    assert told["gauge"]["turn"]["level"] == "FLASH"
    assert [mark["fraction"] for mark in told["gauge"]["marks"]] == [0.2, 0.35]
    assert told["gauge"]["why"]["en"] == "AUTO: the context is full enough to need FLASH."
    assert told["gauge"]["quota"]["quota_5h_fraction"] is None
    assert answer.headers["cache-control"] == "no-store"


async def test_somebody_elses_chat_looks_like_one_that_is_not_there(client: httpx.AsyncClient) -> None:
    foreign = await client.get("/echo/api/hud?chat_id=c1&model=ECHO", headers=bearer("bob"))
    absent = await client.get("/echo/api/hud?chat_id=nobody&model=ECHO", headers=bearer("bob"))
    assert foreign.json() == absent.json() == {"display": "page", "is_echo": True, "gauge": None}


async def test_a_cookie_alone_and_no_sign_in_are_refused(client: httpx.AsyncClient) -> None:
    assert (await client.get("/echo/api/hud?chat_id=c1", headers={"Cookie": "token=ada"})).status_code == 401
    assert (await client.get("/echo/api/hud?chat_id=c1")).status_code == 401
    assert (await client.get("/echo/api/hud?chat_id=c1", headers=bearer("eve"))).status_code == 401


async def test_who_wants_no_hud_gets_no_figures(client: httpx.AsyncClient, setup: Setup) -> None:
    setup.display = "line"
    told = (await client.get("/echo/api/hud?chat_id=c1", headers=bearer("ada"))).json()
    assert told == {"display": "line", "is_echo": False, "gauge": None}


async def test_switched_off_it_is_not_there(client: httpx.AsyncClient, setup: Setup) -> None:
    setup.active = False
    assert (await client.get("/echo/api/hud", headers=bearer("ada"))).status_code == 404


async def test_very_many_models_are_refused(client: httpx.AsyncClient) -> None:
    many = "&".join(["model=x"] * 17)
    assert (await client.get(f"/echo/api/hud?{many}", headers=bearer("ada"))).status_code == 422


async def test_charts_are_the_owners_only(client: httpx.AsyncClient) -> None:
    own = (await client.get("/echo/api/hud/charts?chat_id=c1&locale=fr", headers=bearer("ada"))).json()["charts"]
    assert [chart["title"] for chart in own] == ["Jetons par réponse", "Coût par réponse", "Part venant du cache"]
    assert len(own[0]["rows"]) == 1
    foreign = await client.get("/echo/api/hud/charts?chat_id=c1", headers=bearer("bob"))
    assert foreign.json() == {"charts": []}
    assert (await client.get("/echo/api/hud/charts?chat_id=c1", headers={"Cookie": "token=ada"})).status_code == 401
    assert (await client.get("/echo/api/hud/charts?chat_id=c1&locale=xx", headers=bearer("ada"))).status_code == 422
