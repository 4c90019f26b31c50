"""`/static/loader.js`: what was there comes first, whoever served it; nothing of it breaks ours, or ours it."""

from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from echo_runtime.page_loader import LOADER_PATH, loader_response

OURS = b"// ECHO: starts the HUD"


def served(folder: Path, *more: Route, active: bool = True) -> httpx.AsyncClient:
    app = FastAPI()
    app.mount("/static", StaticFiles(directory=folder))
    app.router.routes[:0] = more
    others = list(app.router.routes)

    async def loader(request: Request) -> Response:
        return await loader_response(request, others, active=active)

    app.router.routes.insert(0, Route(LOADER_PATH, loader, methods=["GET", "HEAD"]))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://page")


async def test_the_administrators_file_comes_first_and_whole(tmp_path: Path) -> None:
    theirs = b"window.theirs = 1 // no newline at the end"
    (tmp_path / "loader.js").write_bytes(theirs)
    async with served(tmp_path) as client:
        answer = await client.get(LOADER_PATH)
        assert answer.content.startswith(theirs + b"\n;" + OURS)
        assert answer.headers["content-type"].startswith("text/javascript")
        again = await client.get(LOADER_PATH, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_a_cached_answer_of_the_former_owner_does_not_lose_its_file(tmp_path: Path) -> None:
    (tmp_path / "loader.js").write_bytes(b"window.theirs = 1;")
    async with served(tmp_path, active=False) as bare:
        etag = (await bare.get(LOADER_PATH)).headers["etag"]
    headers = {"If-None-Match": etag, "Range": "bytes=0-3", "If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}
    async with served(tmp_path) as client:
        answer = await client.get(LOADER_PATH, headers=headers)
    assert answer.status_code == 200
    assert answer.content.startswith(b"window.theirs = 1;\n;" + OURS)


async def test_another_plugins_route_is_asked_before_the_folder(tmp_path: Path) -> None:
    (tmp_path / "loader.js").write_bytes(b"from the folder")

    async def plugin(_: Request) -> Response:
        return PlainTextResponse("from the plugin")

    async with served(tmp_path, Route(LOADER_PATH, plugin)) as client:
        assert (await client.get(LOADER_PATH)).content.startswith(b"from the plugin\n;" + OURS)


@pytest.mark.parametrize("error", [RuntimeError("broken"), HTTPException(404), HTTPException(503)])
async def test_a_broken_neighbour_leaves_ours(tmp_path: Path, error: Exception) -> None:
    async def plugin(_: Request) -> Response:
        raise error

    async with served(tmp_path, Route(LOADER_PATH, plugin)) as client:
        assert (await client.get(LOADER_PATH)).content.startswith(OURS)


async def test_no_file_and_an_empty_one_leave_ours(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        assert (await client.get(LOADER_PATH)).content.startswith(OURS)
        (tmp_path / "loader.js").write_bytes(b"\n")
        assert (await client.get(LOADER_PATH)).content.startswith(OURS)


async def test_switched_off_only_theirs_is_served(tmp_path: Path) -> None:
    (tmp_path / "loader.js").write_bytes(b"theirs")
    async with served(tmp_path, active=False) as client:
        assert (await client.get(LOADER_PATH)).content == b"theirs"
