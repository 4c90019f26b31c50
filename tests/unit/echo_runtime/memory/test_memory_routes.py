"""The memory page's data: a user's own and nobody else's, not for an administrator either, in a file and back."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, Header, HTTPException

from echo_runtime.memory_desk import MemoryDesk
from echo_runtime.memory_routes import build_memory_routes
from memory_kit import Memories, memories
from store_kit import ManualClock

DATA = "/echo/api/memories"
CAT = "My cat is called Minou."
LYON = "I live in Lyon."


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


class Page:
    """The data's addresses, called as one of the users."""

    def __init__(self, desk: Memories, client: httpx.AsyncClient) -> None:
        self.desk = desk
        self.client = client

    async def send(self, user: str, method: str, path: str = "", form: Any = None) -> httpx.Response:
        return await self.client.request(
            method, f"{DATA}{path}", json=form, headers={"Authorization": f"Bearer {user}"}
        )

    async def ask(self, user: str, method: str, path: str = "", form: Any = None) -> Any:
        answer = await self.send(user, method, path, form)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def texts(self, user: str, path: str = "") -> list[str]:
        return [memory["text"] for memory in (await self.ask(user, "GET", path))["memories"]]


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    async with memories(tmp_path, ManualClock()) as made:

        async def opened() -> MemoryDesk:
            return made.desk

        app = FastAPI()
        app.router.routes[:0] = build_memory_routes(opened, user=signed_in, active=lambda: None)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://echo") as client:
            yield Page(made, client)


async def test_a_memory_is_seen_searched_changed_pinned_and_deleted(page: Page) -> None:
    cat = (await page.desk.tell("ada", CAT)).memory
    await page.desk.tell("ada", LYON)
    assert sorted(await page.texts("ada")) == [LYON, CAT]
    assert await page.texts("ada", "?query=minou") == [CAT]
    edited = await page.ask("ada", "PUT", f"/{cat.id}", {"text": "My cat is called Félix.", "importance": 4})
    assert (edited["origin"], edited["importance"], edited["source"]["chat_id"]) == ("page", 4, "c1")
    assert await page.texts("ada", f"/{edited['id']}/history") == ["My cat is called Félix.", CAT]
    pinned = await page.ask("ada", "PUT", f"/{edited['id']}/pin", {"pinned": True})
    assert (pinned["pinned"], pinned["expires_at_s"]) == (True, None)
    assert await page.texts("ada") == ["My cat is called Félix.", LYON]
    assert await page.ask("ada", "DELETE", f"/{edited['id']}") == {"forgotten": 2}
    assert await page.texts("ada", "?query=cat") == []
    assert await page.desk.recalled("ada", "What is my cat called?") == []
    assert page.desk.redacted == [("ada", sorted([cat.id, edited["id"]]))]


async def test_what_is_taken_along_comes_back_whole_elsewhere_and_is_known_the_second_time(page: Page) -> None:
    cat = (await page.desk.tell("ada", CAT, importance=5)).memory
    await page.desk.tell("ada", LYON, "city of residence", "Lyon")
    await page.desk.tell("ada", "I live in Nantes now.", "city of residence", "Nantes")
    await page.ask("ada", "PUT", f"/{cat.id}/pin", {"pinned": True})
    file = await page.ask("ada", "GET", "/export")
    assert (file["format"], len(file["memories"])) == ("echo-memories", 3)
    form = {"memories": file["memories"]}
    told = await page.ask("bob", "POST", "/import", form)
    assert told == {"new": 2, "same": 0, "replaces": 0, "history": 1, "refused": []}
    back = (await page.ask("bob", "GET"))["memories"]
    first = back[0]
    assert (first["text"], first["importance"], first["pinned"], first["origin"]) == (
        CAT,
        5,
        True,
        "import",
    )
    assert {one["source"]["chat_id"] for one in back} == {"c1"}
    assert await page.desk.recalled("bob", "Where do I live, in Nantes?") == ["I live in Nantes now."]
    again = await page.ask("bob", "POST", "/import", form)
    assert (again["new"], again["same"]) == (0, 2)
    assert (await page.ask("bob", "GET"))["total"] == 2


async def test_an_import_takes_nothing_that_may_not_be_remembered_and_tells_it(page: Page) -> None:
    secret = "My password is hunter2-Xk81."
    told = await page.ask("ada", "POST", "/import", {"memories": [{"text": secret}, {"text": CAT}, {"text": " "}]})
    assert (told["new"], [one["text"] for one in told["refused"]]) == (1, [secret, " "])
    assert set(told["refused"][0]["message"]) == {"en", "fr"}
    assert await page.texts("ada") == [CAT]


@pytest.mark.parametrize(
    "form",
    [
        {"memories": [{"text": "I like tea."}] * 51},
        {"memories": [{"text": "I like tea.", "importance": 6}]},
        {"memories": [{"text": "x" * 1201}]},
        {"memories": [{"kind": "fact"}]},
    ],
    ids=["too many", "no such level", "far too long", "no text"],
)
async def test_a_malformed_import_changes_nothing(page: Page, form: dict[str, Any]) -> None:
    assert (await page.send("ada", "POST", "/import", form)).status_code == 422
    assert await page.texts("ada") == []


@pytest.mark.parametrize("stranger", ["bob", "root"])
async def test_nobody_else_reads_changes_or_deletes_a_memory_an_administrator_neither(
    page: Page, stranger: str
) -> None:
    cat = (await page.desk.tell("ada", CAT)).memory
    for named in ("?user_id=ada", "?user=ada&query=cat", "/export?user_id=ada"):
        assert await page.texts(stranger, named) == []
    form = {"text": "My cat is called Brutus.", "importance": 5, "user_id": "ada", "pinned": True}
    for method, path in (("PUT", f"/{cat.id}"), ("PUT", f"/{cat.id}/pin"), ("GET", f"/{cat.id}/history")):
        answer = await page.send(stranger, method, path, None if method == "GET" else form)
        assert (answer.status_code, answer.json()["code"]) == (404, "memory_unknown")
    assert await page.ask(stranger, "DELETE", f"/{cat.id}?user_id=ada") == {"forgotten": 0}
    assert await page.ask(stranger, "DELETE", "?user_id=ada") == {"forgotten": 0}
    sent = {"user_id": "ada", "memories": [{"text": "I live in Paris.", "user_id": "ada", "id": cat.id}]}
    await page.ask(stranger, "POST", "/import", sent)
    for path in ("/../memories/ada", "/ada/history", f"/..%2Fada%2F{cat.id}/history"):
        assert (await page.send(stranger, "GET", path)).status_code in (404, 405)
    assert await page.texts("ada") == [CAT]


async def test_everything_can_be_deleted_at_once(page: Page) -> None:
    await page.desk.tell("ada", LYON, "city of residence", "Lyon")
    await page.desk.tell("ada", "I live in Nantes now.", "city of residence", "Nantes")
    await page.desk.tell("bob", CAT)
    assert await page.ask("ada", "DELETE") == {"forgotten": 2}
    assert (await page.ask("ada", "GET", "/export"))["memories"] == []
    assert await page.texts("bob") == [CAT]


async def test_a_cookie_alone_opens_the_page_but_no_data(page: Page) -> None:
    cookie = {"Cookie": "token=ada"}
    assert (await page.client.get("/echo/hud/memory", headers=cookie)).status_code == 200
    for method, path in (("GET", ""), ("GET", "/export"), ("DELETE", ""), ("POST", "/import")):
        assert (await page.client.request(method, f"{DATA}{path}", headers=cookie)).status_code == 401
