"""`/upload/{version}/files` and `/{version}/files`."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from echo_workers.gemini_sim.core.errors import invalid
from echo_workers.gemini_sim.core.wire import parse_json, read_message
from echo_workers.gemini_sim.routes.common import (
    base_url,
    caller_of,
    json_response,
    paging,
    refusing,
    state_of,
    version_of,
)
from echo_workers.gemini_sim.services.catalogue import page_of
from echo_workers.gemini_sim.services.files import StoredFile

#: Source: Files API, documented (10 by default).
_PAGE = "10"
#: Source: Files API, recorded header of the start answer.
_GRANULARITY_BYTES = 262_144


def _resource(request: Request, stored: StoredFile) -> dict[str, Any]:
    return stored.resource(base_url(request), state_of(request).clock.now_s())


def _number(request: Request, name: str) -> int | None:
    text = request.headers.get(name)
    if text is None:
        return None
    if not text.isdigit():
        raise invalid(f"Invalid value for header {name}: {text}")
    return int(text)


async def _upload(request: Request) -> Response:
    version_of(request)
    commands = {word.strip() for word in request.headers.get("x-goog-upload-command", "").lower().split(",")}
    if "start" in commands:
        return await _start(request)
    if commands & {"upload", "finalize", "query", "cancel"}:
        return await _continue(request, commands)
    raise invalid("Upload protocol must be resumable: X-Goog-Upload-Command is missing.")


async def _start(request: Request) -> Response:
    caller = caller_of(request)
    if request.headers.get("x-goog-upload-protocol", "") != "resumable":
        raise invalid("Upload protocol must be resumable.")
    body = read_message("CreateFileRequest", parse_json(await request.body()))
    upload = state_of(request).files.start(
        caller.key,
        body.get("file", {}),
        request.headers.get("x-goog-upload-header-content-type", ""),
        _number(request, "x-goog-upload-header-content-length"),
    )
    url = f"{base_url(request)}{request.url.path}?upload_id={upload.id}&upload_protocol=resumable"
    headers = {
        "x-goog-upload-url": url,
        "x-goog-upload-control-url": url,
        "x-goog-upload-status": "active",
        "x-goog-upload-chunk-granularity": str(_GRANULARITY_BYTES),
    }
    return Response(b"", headers=headers)


async def _continue(request: Request, commands: set[str]) -> Response:
    """A later step of an upload; the upload id stands for the caller. Source: SDK sends no key here, verified."""
    state = state_of(request)
    upload_id = request.query_params.get("upload_id", "")
    if "query" in commands:
        upload = state.files.open_upload(upload_id)
        received = {"x-goog-upload-status": "active", "x-goog-upload-size-received": str(upload.received_bytes)}
        return Response(b"", headers=received)
    if "cancel" in commands:
        state.files.uploads.pop(upload_id, None)
        return Response(b"", headers={"x-goog-upload-status": "cancelled"})
    offset = _number(request, "x-goog-upload-offset") or 0
    upload = state.files.receive(upload_id, offset, await request.body())
    if "finalize" not in commands:
        return Response(b"", headers={"x-goog-upload-status": "active"})
    stored = state.files.finish(upload, state.clock.now_s(), state.settings.video_processing_s)
    response = json_response({"file": _resource(request, stored)})
    response.headers["x-goog-upload-status"] = "final"
    return response


async def _list(request: Request) -> Response:
    version_of(request)
    state, caller = state_of(request), caller_of(request)
    rows = [_resource(request, stored) for stored in state.files.listed(caller.key, state.clock.now_s())]
    size, token = paging(request)
    return json_response(page_of(rows, "files", size or _PAGE, token))


async def _one(request: Request) -> Response:
    version_of(request)
    state, caller = state_of(request), caller_of(request)
    file_id, now_s = request.path_params["file"], state.clock.now_s()
    if request.method == "DELETE":
        state.files.delete(caller.key, file_id, now_s)
        return json_response({})
    return json_response(_resource(request, state.files.get(caller.key, file_id, now_s)))


def routes() -> list[Route]:
    """The endpoints of this file."""
    return [
        Route("/upload/{version:str}/files", refusing(_upload), methods=["POST", "PUT"]),
        Route("/{version:str}/files", refusing(_list), methods=["GET"]),
        Route("/{version:str}/files/{file:str}", refusing(_one), methods=["GET", "DELETE"]),
    ]
