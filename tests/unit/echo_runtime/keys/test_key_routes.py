from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Annotated

import httpx
import pytest
from fastapi import Depends, FastAPI, Header, HTTPException

from echo_constants import ECHO_VERSION
from echo_http import EchoTransport
from echo_paths import EchoPaths
from echo_runtime.key_probe import GeminiKeyProbe
from echo_runtime.key_routes import build_routes
from echo_runtime.key_service import KeyService
from echo_runtime.keys import GEMINI_KEY_NAME, GEMINI_KEY_VARIABLE, KeyRing
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.identity import INSTANCE_OWNER, IdentityStore
from echo_workers.gemini_sim.core import faults
from sim_fixture import RunningSim
from store_kit import ManualClock

GOOD, BAD = "good-key-of-this-test-1234", "bad-key-of-this-test-5678"


@dataclass
class User:
    id: str
    role: str


def signed_in(authorization: Annotated[str, Header()] = "", cookie: Annotated[str, Header()] = "") -> User:
    """Stands for Open WebUI's own guard, which takes the token from the header or the cookie."""
    name = authorization.removeprefix("Bearer ") or cookie.removeprefix("token=")
    if name not in ("ada", "bob", "root"):
        raise HTTPException(401)
    return User(name, "admin" if name == "root" else "user")


def administrator(user: Annotated[User, Depends(signed_in)]) -> User:
    if user.role != "admin":
        raise HTTPException(401)
    return user


@dataclass
class Setup:
    client: httpx.AsyncClient
    identity: IdentityStore
    valve: list[bool]
    active: bool = True
    simulated: bool = False
    env: dict[str, str] = field(default_factory=dict)


def routes(setup: Setup, identity: IdentityStore, base_url: str) -> FastAPI:
    async def followed(present: bool) -> None:
        setup.valve.append(present)

    async def endpoint() -> str:
        return base_url

    async def simulated() -> bool:
        return setup.simulated

    def active() -> None:
        if not setup.active:
            raise HTTPException(404)

    service = KeyService(
        identity, KeyRing(identity, setup.env), GeminiKeyProbe(endpoint, EchoTransport), followed, simulated
    )
    app = FastAPI()
    app.router.routes[:0] = build_routes(service, identity, user=signed_in, admin=administrator, active=active)
    return app


@pytest.fixture
async def setup(identity: IdentityStore, sim: RunningSim) -> AsyncIterator[Setup]:
    made = Setup(httpx.AsyncClient(), identity, [])
    transport = httpx.ASGITransport(app=routes(made, identity, sim.base_url))
    made.client = httpx.AsyncClient(transport=transport, base_url="http://echo.test")
    async with made.client:
        yield made


async def call(setup: Setup, method: str, path: str, user: str = "ada", **body: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {user}"} if user else {}
    return await setup.client.request(method, f"/echo/api/{path}", headers=headers, json=body or None)


async def test_a_key_is_stored_shown_masked_and_deleted(setup: Setup) -> None:
    answer = await call(setup, "PUT", "keys", key=f" {GOOD} ")
    assert answer.json() == {
        "keys": [{"name": GEMINI_KEY_NAME, "tail": "…1234", "updated_at_s": 1_800_000_000, "damaged": False}],
        "fallback": None,
        "simulated": False,
        "admin": False,
    }
    assert answer.headers["cache-control"] == "no-store"
    assert await setup.identity.get_secret("ada", GEMINI_KEY_NAME) == GOOD
    assert (await call(setup, "GET", "keys", "bob")).json()["keys"] == []
    assert (await call(setup, "DELETE", "keys")).json()["keys"] == []
    assert await setup.identity.get_secret("ada", GEMINI_KEY_NAME) is None
    assert setup.valve == []


async def test_the_instances_key_is_the_administrators_and_moves_the_valve(setup: Setup) -> None:
    for method, path in [("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/test")]:
        assert (await call(setup, method, f"admin/key{path}", "ada", key=GOOD)).status_code == 401
    assert (await call(setup, "PUT", "admin/key", "root", key=GOOD)).json()["fallback"] == "instance"
    assert (await call(setup, "GET", "keys", "ada")).json()["fallback"] == "instance"
    assert (await call(setup, "DELETE", "admin/key", "root")).json() == {
        "keys": [],
        "fallback": None,
        "simulated": False,
    }
    assert setup.valve == [True, False]
    assert await setup.identity.secret_names(INSTANCE_OWNER) == {}


async def test_in_a_demo_no_key_is_checked_and_the_simulators_own_is_nobodys(setup: Setup, sim: RunningSim) -> None:
    setup.env[GEMINI_KEY_VARIABLE] = "pretend"
    assert (await call(setup, "GET", "keys")).json()["fallback"] == "environment"
    setup.simulated = True
    for path, user in (("keys", "ada"), ("admin/key", "root")):
        shown = (await call(setup, "GET", path, user)).json()
        assert (shown["simulated"], shown["fallback"]) == (True, None)
        assert (await call(setup, "POST", f"{path}/test", user, key=GOOD)).json() == {"verdict": "simulated"}
    assert sim.requests() == []


async def test_a_cookie_alone_is_not_enough(setup: Setup) -> None:
    for method, path in [("GET", "keys"), ("PUT", "keys"), ("DELETE", "keys"), ("POST", "keys/test")]:
        answer = await setup.client.request(
            method, f"/echo/api/{path}", headers={"Cookie": "token=ada"}, json={"key": GOOD}
        )
        assert answer.status_code == 401, path
    assert await setup.identity.secret_names("ada") == {}


async def test_what_is_no_key_is_told_in_both_languages_and_not_repeated(setup: Setup) -> None:
    answer = await call(setup, "PUT", "keys", key="two words")
    assert answer.status_code == 400
    assert answer.json()["code"] == "key_malformed"
    assert set(answer.json()["message"]) == {"en", "fr"}
    assert "two words" not in answer.text
    assert (await setup.client.put("/echo/api/keys", headers={"Authorization": "Bearer ada"}, content=b"{")).is_error


@pytest.mark.parametrize(("user", "path"), [("ada", "keys"), ("root", "admin/key")])
async def test_gemini_is_asked_about_stored_and_new_keys(setup: Setup, sim: RunningSim, user: str, path: str) -> None:
    assert (await call(setup, "POST", f"{path}/test", user)).json()["code"] == "key_absent"
    assert (await call(setup, "POST", f"{path}/test", user, key=BAD)).json() == {"verdict": "refused"}
    assert (await call(setup, "GET", path, user)).json()["keys"] == []
    await call(setup, "PUT", path, user, key=GOOD)
    assert (await call(setup, "POST", f"{path}/test", user)).json() == {"verdict": "accepted"}
    assert sim.requests()[-1]["path"] == "/v1beta/models?pageSize=1"
    sim.script(faults.quota_exhausted())
    assert (await call(setup, "POST", f"{path}/test", user)).json() == {"verdict": "limited"}
    sim.script(faults.internal_error())
    assert (await call(setup, "POST", f"{path}/test", user)).json() == {"verdict": "unreachable"}


async def test_a_damaged_key_is_shown_as_such_and_can_be_deleted(setup: Setup) -> None:
    await setup.identity.put_secret("ada", GEMINI_KEY_NAME, GOOD)
    database, _ = await setup.identity._ready()
    await database.write(lambda transaction: transaction.rows("UPDATE secrets SET sealed = x'0102'"))
    [shown] = (await call(setup, "GET", "keys")).json()["keys"]
    assert (shown["damaged"], shown["tail"]) == (True, "…")
    assert (await call(setup, "POST", "keys/test")).json()["code"] == "secret_damaged"
    assert (await call(setup, "DELETE", "keys")).json()["keys"] == []


@pytest.fixture
async def locked(paths: EchoPaths, identity: IdentityStore, sim: RunningSim) -> AsyncIterator[Setup]:
    """The routes over an identity.db of another secret."""
    await identity.open()
    await identity.close()
    foreign = IdentityStore(paths.identity_db, MasterSecret("WEBUI_SECRET_KEY", "another"), ManualClock())
    made = Setup(httpx.AsyncClient(), foreign, [])
    transport = httpx.ASGITransport(app=routes(made, foreign, sim.base_url))
    made.client = httpx.AsyncClient(transport=transport, base_url="http://echo.test")
    async with made.client:
        yield made


async def test_a_file_of_another_secret_is_told_to_the_page_and_to_health(locked: Setup) -> None:
    answer = await call(locked, "GET", "keys")
    assert answer.status_code == 503
    assert answer.json()["code"] == "secret_key_mismatch"
    health = (await locked.client.get("/echo/api/health")).json()
    assert health == {"status": "degraded", "version": ECHO_VERSION, "code": "secret_key_mismatch"}


async def test_health_needs_no_sign_in(setup: Setup) -> None:
    assert (await setup.client.get("/echo/api/health")).json() == {"status": "ok", "version": ECHO_VERSION}


async def test_while_echo_is_switched_off_there_is_nothing(setup: Setup) -> None:
    setup.active = False
    for path in ("api/keys", "api/health", "hud/keys", "hud/static/keys.js"):
        answer = await setup.client.get(f"/echo/{path}", headers={"Authorization": "Bearer ada"})
        assert answer.status_code == 404, path


@pytest.fixture
def expected_types() -> Iterator[dict[str, str]]:
    yield {
        "hud/keys": "text/html; charset=utf-8",
        "hud/static/keys.js": "text/javascript; charset=utf-8",
        "hud/static/page.css": "text/css; charset=utf-8",
        "hud/static/key.svg": "image/svg+xml",
    }


async def test_the_page_and_its_files_are_served(setup: Setup, expected_types: dict[str, str]) -> None:
    for path, media_type in expected_types.items():
        answer = await setup.client.get(f"/echo/{path}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = await setup.client.get(f"/echo/{path}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    policy = (await setup.client.get("/echo/hud/keys")).headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    for name in ("absent.js", "..%2f__init__.py", "__init__.py"):
        assert (await setup.client.get(f"/echo/hud/static/{name}")).status_code == 404


@pytest.mark.parametrize("body", [{"keyy": "not-a-real-key-but-secret"}, {}])
async def test_a_malformed_request_is_told_without_repeating_what_was_typed(setup: Setup, body: dict[str, str]) -> None:
    answer = await call(setup, "PUT", "keys", **body)
    assert answer.status_code == 422
    assert "but-secret" not in answer.text
    assert set(answer.json()["message"]) == {"en", "fr"}
