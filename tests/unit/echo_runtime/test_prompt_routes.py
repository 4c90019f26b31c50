"""The page of prompts: for administrators only, with a header, and every change is kept with who made it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, Header, HTTPException

from echo_prompts import SHIPPED
from echo_runtime.prompt_desk import PromptDesk
from echo_runtime.prompt_routes import build_prompt_routes
from echo_state_manager.prompts import PromptStore
from scripted import FakeClock

DATA = "/echo/api/admin/prompts"
PIS = f"{DATA}/pis/en"
ROOT = {"Authorization": "Bearer root"}


@dataclass
class User:
    name: str
    role: str


def signed_in(authorization: Annotated[str, Header()] = "", cookie: Annotated[str, Header()] = "") -> User:
    """Stands for Open WebUI's own guard, which takes the token from the header or the cookie."""
    name = authorization.removeprefix("Bearer ") or cookie.removeprefix("token=")
    if name not in ("ada", "root"):
        raise HTTPException(401)
    return User(name, "admin" if name == "root" else "user")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    desk = PromptDesk(PromptStore(tmp_path / "prompts.db", FakeClock()))

    async def opened() -> PromptDesk:
        return desk

    app = FastAPI()
    app.router.routes[:0] = build_prompt_routes(opened, user=signed_in, active=lambda: None)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://echo") as made:
        yield made
    await desk.aclose()


async def test_a_text_is_tried_kept_and_taken_back(client: httpx.AsyncClient) -> None:
    async def ask(method: str, path: str, **form: Any) -> Any:
        answer = await client.request(method, path, headers=ROOT, json=form or None)
        assert answer.status_code == 200, answer.text
        return answer.json()

    tried = await ask("POST", f"{PIS}/preview", text="Ahoy ##ECHO_VERSION##.")
    assert tried["text"].startswith("Ahoy ")
    assert "##" not in tried["text"]
    assert "+Ahoy ##ECHO_VERSION##." in tried["diff"]
    assert (await ask("GET", PIS))["versions"] == []
    kept = await ask("PUT", PIS, text="Ahoy.")
    assert (kept["prompt"]["text"], kept["shipped"]) == ("Ahoy.", SHIPPED.text("pis", "en"))
    [version] = kept["versions"]
    assert (version["version"], version["author"]) == (1, "root")
    states = {(state["name"], state["locale"]): state for state in (await ask("GET", DATA))["prompts"]}
    assert (states["pis", "en"]["version"], states["pis", "fr"]["version"]) == (1, 0)
    back = await ask("POST", f"{PIS}/rollback", version=0)
    assert back["prompt"]["text"] == SHIPPED.text("pis", "en")
    assert [each["version"] for each in back["versions"]] == [2, 1]


@pytest.mark.parametrize(
    ("method", "path", "form", "status", "code"),
    [
        ("PUT", PIS, {"text": "You are ##MODEL_ID##."}, 400, "prompt_refused"),
        ("GET", f"{DATA}/absent/en", None, 404, "prompt_unknown"),
        ("POST", f"{PIS}/rollback", {"version": 9}, 404, "prompt_version_unknown"),
        ("PUT", PIS, {"words": "You are ECHO."}, 422, "malformed"),
    ],
)
async def test_what_would_not_work_is_refused_with_a_reason_in_both_languages(
    client: httpx.AsyncClient, method: str, path: str, form: dict[str, Any] | None, status: int, code: str
) -> None:
    answer = await client.request(method, path, headers=ROOT, json=form)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()["message"]) == {"en", "fr"}
    assert (await client.get(PIS, headers=ROOT)).json()["versions"] == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Authorization": "Bearer ada"}, 403), ({}, 401), ({"Cookie": "token=root"}, 401)],
    ids=["another-user", "nobody", "cookie-only"],
)
async def test_nobody_else_sees_or_changes_them(
    client: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    asked = [("GET", DATA), ("GET", PIS), ("POST", f"{PIS}/preview"), ("PUT", PIS), ("POST", f"{PIS}/rollback")]
    for method, path in asked:
        form = {"text": "Ahoy.", "version": 0} if method != "GET" else None
        assert (await client.request(method, path, headers=headers, json=form)).status_code == status
    assert (await client.get(PIS, headers=ROOT)).json()["versions"] == []


async def test_the_page_is_served_without_inline_scripts(client: httpx.AsyncClient) -> None:
    page = await client.get("/echo/hud/prompts")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "unsafe" not in page.headers["content-security-policy"]
