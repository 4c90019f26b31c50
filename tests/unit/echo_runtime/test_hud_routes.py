"""The HUD's endpoint: signed in with a header, switched on, and one's own chats only."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, Header, HTTPException

from echo_core.compaction_checkpoint import Checkpoint
from echo_core.compaction_records import STATE_KEY, CompactionState, Epoch
from echo_core.figures import FIGURES_KEY, LATEST_FIGURES_KEY, TurnFigures
from echo_core.ports import ShadowStore
from echo_core.quota import ModelQuota
from echo_paths import EchoPaths
from echo_protocol import Catalogue
from echo_runtime.compaction_desk import CompactionDesk
from echo_runtime.compaction_store import keep_artifacts
from echo_runtime.hud import Hud
from echo_runtime.hud_routes import HudHost, build_hud_routes
from echo_runtime.turn_context import Display
from echo_state_manager import SessionStores
from echo_state_manager.memory import MemoryShadowStore
from store_kit import ManualClock, seal

#: A chat that lives in memory, so that nobody but its own user can meet it.
CONDENSED = "temporary:socket"

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


async def condense(sessions: SessionStores) -> None:
    """Give a chat of Ada's a compaction in force."""
    epoch = Epoch(id="e1", checkpoint_id="k1", method="model", tokens_before=900, tokens_after=200, created_at_s=7)
    checkpoint = Checkpoint(goal="Ship it", facts=("The sky is blue.",))
    async with sessions.open("ada", CONDENSED) as store:
        await store.save_setting(STATE_KEY, CompactionState(epochs=(epoch,), pins=("m1",)).to_json())
        await keep_artifacts(store, "k1", [checkpoint.artifact("k1", 3)])
        await store.seal(seal("m1", chat_id=CONDENSED))


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
async def client(setup: Setup, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    store = MemoryShadowStore()
    await store.save_setting(LATEST_FIGURES_KEY, TURN.to_json())
    await store.save_setting(FIGURES_KEY.format(message_id="m1"), TURN.to_json())
    await store.save_setting(FIGURES_KEY.format(message_id="m0"), "damaged")
    hud = Hud(None, NoQuota(), None, Catalogue.load, ManualClock())  # type: ignore[arg-type]

    async def running() -> Hud:
        return hud

    @asynccontextmanager
    async def own(user_id: str, chat_id: str) -> AsyncIterator[ShadowStore | None]:
        if chat_id == CONDENSED and user_id == "ada":
            async with sessions.open(user_id, chat_id) as held:
                yield held
        else:
            yield store if (user_id, chat_id) == ("ada", "c1") else None

    async def display(_: str) -> Display:
        return setup.display

    async def is_echo(names: list[str]) -> bool:
        return "ECHO" in names

    def active() -> None:
        if not setup.active:
            raise HTTPException(404)

    app = FastAPI()
    sessions = SessionStores(EchoPaths(tmp_path), ManualClock())
    await condense(sessions)
    host = HudHost(hud=running, open_chat=own, display=display, is_echo=is_echo, desk=lambda: CompactionDesk(sessions))
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
    assert [mark["fraction"] for mark in told["gauge"]["marks"]] == [0.2, 0.25, 0.35, 0.45]
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


async def test_a_checkpoint_is_read_changed_and_undone_by_its_owner_only(client: httpx.AsyncClient) -> None:
    where = f"/echo/api/hud/checkpoint?chat_id={CONDENSED}"
    held = (await client.get(where, headers=bearer("ada"))).json()["checkpoint"]
    assert held == {"checkpoint_id": "k1", "lines": [["goal", "Ship it"], ["facts", "The sky is blue."]]}
    assert (await client.get(where, headers=bearer("bob"))).json() == {"checkpoint": None}
    form = {"chat_id": CONDENSED, "checkpoint_id": "k1", "text": "My own words"}
    foreign = await client.put("/echo/api/hud/checkpoint", json=form, headers=bearer("bob"))
    assert (foreign.status_code, foreign.json()["code"]) == (404, "no_such_compaction")
    assert (await client.put("/echo/api/hud/checkpoint", json=form, headers=bearer("ada"))).status_code == 200
    changed = (await client.get(where, headers=bearer("ada"))).json()["checkpoint"]
    assert changed["lines"] == [["note", "My own words"]]
    undo = {"chat_id": CONDENSED}
    assert (await client.post("/echo/api/hud/undo", json=undo, headers=bearer("bob"))).status_code == 404
    assert (await client.post("/echo/api/hud/undo", json=undo, headers=bearer("ada"))).status_code == 200
    assert (await client.get(where, headers=bearer("ada"))).json() == {"checkpoint": None}
    assert (await client.post("/echo/api/hud/undo", json=undo, headers={"Cookie": "token=ada"})).status_code == 401


async def test_the_gauge_says_what_condensing_did(client: httpx.AsyncClient) -> None:
    told = (await client.get(f"/echo/api/hud?chat_id={CONDENSED}", headers=bearer("ada"))).json()["gauge"]
    assert told["compaction"]["tokens_before"] == 900
    assert told["compaction"]["method"]["fr"] == "condensé par un modèle et vérifié"
    assert (told["pins"], told["compaction"]["times"]) == (["m1"], 1)


async def test_messages_are_pinned_by_their_owner_only(client: httpx.AsyncClient) -> None:
    form = {"chat_id": CONDENSED, "message_id": "m1", "pinned": False}
    foreign = await client.post("/echo/api/hud/pin", json=form, headers=bearer("bob"))
    assert (foreign.status_code, foreign.json()["code"]) == (404, "no_such_compaction")
    assert (await client.post("/echo/api/hud/pin", json=form, headers=bearer("ada"))).json() == {"pins": []}
    again = {**form, "pinned": True}
    assert (await client.post("/echo/api/hud/pin", json=again, headers=bearer("ada"))).json() == {"pins": ["m1"]}
    absent = await client.post("/echo/api/hud/pin", json={**again, "message_id": "m9"}, headers=bearer("ada"))
    assert absent.status_code == 404


async def test_nobody_condenses_somebody_elses_chat(client: httpx.AsyncClient) -> None:
    form = {"chat_id": "c1", "message_id": "m1"}
    assert (await client.post("/echo/api/hud/compact", json=form, headers=bearer("bob"))).json() == {"told": ""}
