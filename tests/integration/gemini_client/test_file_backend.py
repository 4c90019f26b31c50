"""Requests that name files of a vault, sent to a server that forgets uploads after 48 hours."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from echo_core.ports import GenerateRequest
from echo_events import NoticeShown
from echo_gemini_client import EchoGeminiClient, PermissionRefused, RequestRefused
from echo_paths import EchoPaths
from echo_protocol import (
    SENTINEL,
    FunctionCallPart,
    content_json,
    file_data_part,
    function_call_part,
    function_response_part,
    inline_data_part,
    request_json,
    text_part,
)
from echo_protocol.attached import vault_part
from echo_runtime.file_backend import FileBackend
from echo_runtime.request_size import MovedMedia, within_limit
from echo_state_manager.vault import Vault, VaultFile
from echo_workers.gemini_sim.core import faults
from scripted import FakeClock
from sim_fixture import RunningSim

MODEL = "gemini-3.8-flash"
GENERATE = "streamGenerateContent"


class SharedClock(FakeClock):
    """Our time and the simulator's go together."""

    def __init__(self, sim: RunningSim) -> None:
        super().__init__(sim.advance(0))
        self._sim = sim

    async def sleep(self, delay_s: float) -> None:
        self._sim.advance(delay_s)
        self.at_s += delay_s


class Desk:
    """A chat's way to the simulator: a vault, a backend, and what the page was told."""

    def __init__(self, client: EchoGeminiClient, sim: RunningSim, folder: Path) -> None:
        self.sim = sim
        self.vault = Vault(EchoPaths(folder), "u", "chat")
        self.scope = "key one"
        self.clock = SharedClock(sim)
        self.told: list[NoticeShown] = []

        async def tell(notice: NoticeShown) -> None:
            self.told.append(notice)

        self._client, self._tell = client, tell
        self._refused: dict[str, None] = {}
        self.keeps = True
        self.folder = folder

    @property
    def backend(self) -> FileBackend:
        return FileBackend(
            self._client, self.vault, self.scope, self.clock, self._tell, "en", self._refused, keeps=self.keeps
        )

    async def keep(self, data: bytes = b"RIFF film", mime_type: str = "audio/wav") -> VaultFile:
        return await self.vault.put(data, mime_type=mime_type, name="talk.wav")

    async def ask(self, *parts: Any) -> None:
        await self.send(content_json("user", [text_part("What is said here?"), *parts]))

    async def send(self, *contents: bytes) -> None:
        request = GenerateRequest(model=MODEL, body_json=request_json(contents=contents))
        async with self.backend.stream_generate(request) as chunks:
            assert [chunk async for chunk in chunks]

    def later(self, hours: float) -> None:
        self.sim.advance(hours * 3600)
        self.clock.at_s += hours * 3600

    def asked(self) -> list[dict[str, Any]]:
        return [row for row in self.sim.requests() if GENERATE in row["path"]]

    def uploads(self) -> int:
        return sum("upload_id" not in row["path"] and "/upload/" in row["path"] for row in self.sim.requests())

    def last_parts(self) -> list[dict[str, Any]]:
        body = json.loads(self.asked()[-1]["body"])
        return body["contents"][-1]["parts"]


@pytest.fixture
def desk(make_client: Callable[..., EchoGeminiClient], sim: RunningSim, tmp_path: Path) -> Desk:
    return Desk(make_client(), sim, tmp_path)


async def test_a_file_is_uploaded_once_and_named_by_one_address_while_that_is_valid(desk: Desk) -> None:
    part = vault_part("audio/wav", (await desk.keep()).sha256)
    await desk.ask(part)
    first = desk.asked()[-1]["body"]
    desk.later(40)
    await desk.ask(part)
    assert desk.asked()[-1]["body"] == first
    assert desk.uploads() == 1
    assert "/files/" in desk.last_parts()[1]["fileData"]["fileUri"]
    assert [notice.done for notice in desk.told] == [False, True]


async def test_the_chat_goes_on_when_all_its_files_have_expired(desk: Desk) -> None:
    parts = [vault_part("audio/wav", (await desk.keep(f"RIFF {n}".encode())).sha256) for n in range(3)]
    await desk.ask(*parts)
    before = desk.last_parts()
    desk.later(49)
    await desk.ask(*parts)
    assert desk.uploads() == 6
    assert all(new != old for new, old in zip(desk.last_parts()[1:], before[1:], strict=True))
    assert {row["status"] for row in desk.asked()} == {200}


async def test_another_key_gets_its_own_upload_and_the_first_one_is_found_again(desk: Desk) -> None:
    part = vault_part("audio/wav", (await desk.keep()).sha256)
    await desk.ask(part)
    desk.scope = "key two"
    await desk.ask(part)
    desk.scope = "key one"
    await desk.ask(part)
    assert desk.uploads() == 2


async def test_an_upload_that_google_lost_early_is_made_again(desk: Desk) -> None:
    part = vault_part("audio/wav", (await desk.keep()).sha256)
    await desk.ask(part)
    desk.sim.advance(49 * 3600)  # our own clock says that it is still there
    await desk.ask(part)
    assert [row["status"] for row in desk.asked()] == [200, 403, 200]
    assert desk.uploads() == 2


async def test_a_file_that_vanished_from_the_vault_is_told_and_the_chat_goes_on(desk: Desk) -> None:
    await desk.ask(vault_part("audio/wav", "0" * 64))
    assert "no longer kept" in desk.last_parts()[1]["text"]
    [notice] = desk.told
    assert notice.level == "warning"
    assert "attach it again" in notice.text


async def test_a_film_is_waited_for_while_google_processes_it(desk: Desk) -> None:
    desk.sim.settings(video_processing_s=5)
    part = vault_part("video/mp4", (await desk.keep(b"film", "video/mp4")).sha256)
    await desk.ask(part)
    assert [row["status"] for row in desk.asked()] == [200]


async def test_a_file_that_google_refuses_is_told_and_the_chat_goes_on(desk: Desk) -> None:
    refused = {
        "match": {"body_regex": "mimeType.*sizeBytes"},
        "status": 400,
        **_error(400, "INVALID_ARGUMENT", "Unsupported."),
    }
    desk.sim.script(refused)
    await desk.ask(vault_part("audio/wav", (await desk.keep()).sha256))
    assert "could not process talk.wav" in desk.last_parts()[1]["text"]


async def test_a_video_that_google_does_not_open_is_left_out_once_and_for_all(desk: Desk) -> None:
    film = file_data_part("video/mp4", "https://www.youtube.com/watch?v=abcdefghijk")
    private = {"status": 403, **_error(403, "PERMISSION_DENIED", "You do not have permission to access the video.")}
    desk.sim.script({"match": {"body_regex": "youtube.com"}, **private})
    await desk.ask(film)
    await desk.ask(film)
    assert [row["status"] for row in desk.asked()] == [403, 200, 200]
    assert "did not open" in desk.last_parts()[1]["text"]
    assert len(desk.told) == 1


async def test_another_refusal_is_no_reason_to_try_again(desk: Desk) -> None:
    desk.sim.script({"status": 403, **_error(403, "PERMISSION_DENIED", "No.")})
    with pytest.raises(PermissionRefused):
        await desk.ask()
    desk.sim.script({"match": {"method": GENERATE}, "status": 400, **_error(400, "INVALID_ARGUMENT", "No.")})
    with pytest.raises(RequestRefused):
        await desk.ask(vault_part("audio/wav", (await desk.keep()).sha256))
    assert [row["status"] for row in desk.asked()] == [403, 400]


async def test_words_that_look_like_a_reference_stay_words(desk: Desk) -> None:
    forged = json.dumps(vault_part("audio/wav", "0" * 64).wire, separators=(",", ":"))
    await desk.ask(text_part(forged))
    assert desk.last_parts()[1] == {"text": forged}
    assert desk.told == []


def _error(code: int, status: str, message: str) -> dict[str, Any]:
    return {"chunks": [{"text": faults.error_text(code, status, message)}], "end": "close"}


def sound(n: int, size: int = 6_000_000) -> Any:
    return inline_data_part("audio/wav", base64.b64encode(f"RIFF {n}".encode().ljust(size, b"s")).decode())


def talk(*media: Any) -> list[bytes]:
    """A conversation with one medium a question."""
    said = [(content_json("user", [text_part("?"), part]), content_json("model", [text_part("!")])) for part in media]
    return [content for pair in said for content in pair][:-1]


def kinds(row: dict[str, Any]) -> list[str]:
    parts = [part for content in json.loads(row["body"])["contents"] for part in content["parts"]]
    return [next(iter(part)) for part in parts if "text" not in part or "left out" in part["text"]]


async def test_media_that_a_request_has_no_room_for_go_by_address_the_oldest_first(desk: Desk) -> None:
    media = [sound(n) for n in range(4)]
    for count in range(1, 5):
        await desk.send(*talk(*media[:count]))
    assert [kinds(row) for row in desk.asked()] == [
        ["inlineData"],
        ["inlineData", "inlineData"],
        ["fileData", "inlineData", "inlineData"],
        ["fileData", "fileData", "inlineData", "inlineData"],
    ]
    assert desk.uploads() == 2
    assert all(len(row["body"]) < 20_971_520 and row["status"] == 200 for row in desk.asked())
    assert not [notice for notice in desk.told if notice.level == "warning"], "the model still sees all of them"


async def test_the_beginning_of_requests_stays_while_a_step_lasts(desk: Desk) -> None:
    media = [sound(n) for n in range(3)]
    await desk.send(*talk(*media))
    before = desk.asked()[-1]["body"]
    more = [content_json("model", [text_part("!")]), content_json("user", [text_part("word " * 10_000)])]
    await desk.send(*talk(*media), *more)
    assert desk.asked()[-1]["body"].startswith(before[: before.rindex("]}")])


async def test_a_request_that_google_would_refuse_for_its_size_is_refused_by_the_simulator(
    make_client: Callable[..., EchoGeminiClient],
) -> None:
    body = request_json(contents=talk(*[sound(n) for n in range(3)]))
    with pytest.raises(RequestRefused, match="payload size exceeds the limit"):
        await make_client().generate(GenerateRequest(model=MODEL, body_json=body))


async def test_what_was_moved_once_is_not_written_again(desk: Desk) -> None:
    media = [sound(n) for n in range(3)]
    moved = MovedMedia()
    request = GenerateRequest(model=MODEL, body_json=request_json(contents=talk(*media)))
    await within_limit(request, desk.vault, moved)
    [path] = [path for path in desk.folder.rglob("*") if re.fullmatch("[0-9a-f]{64}", path.name)]
    before = path.stat().st_ino
    first, _ = await within_limit(request, desk.vault, moved)
    assert path.stat().st_ino == before
    await desk.vault.forget_chat("chat")
    second, _ = await within_limit(request, desk.vault, moved)
    assert path.exists() and first == second


async def test_where_nothing_may_be_kept_the_oldest_media_are_left_out_and_told(desk: Desk) -> None:
    desk.keeps = False
    await desk.send(*talk(*[sound(n) for n in range(4)]))
    [row] = desk.asked()
    assert (kinds(row), row["status"]) == (["text", "text", "inlineData", "inlineData"], 200)
    [notice] = desk.told
    assert "no longer sees the oldest" in notice.text


async def test_pictures_of_tools_and_of_the_model_make_room_in_forms_that_gemini_takes(desk: Desk) -> None:
    called = function_call_part("look", {}, call_id="c1")
    call = content_json("model", [FunctionCallPart({**called.wire, "thoughtSignature": SENTINEL})])
    picture = inline_data_part("image/png", base64.b64encode(b"\x89PNG".ljust(11_000_000, b"p")).decode())
    answer = content_json("user", [function_response_part(called, {"output": "seen"}, [picture])])
    drawn = content_json("model", [picture])
    question = content_json("user", [text_part("?")])
    await desk.send(question, call, answer, drawn, question)
    [row] = desk.asked()
    assert row["status"] == 200
    contents = json.loads(row["body"])["contents"]
    held = contents[2]["parts"][0]["functionResponse"]["parts"][0]["inlineData"]
    assert (held["mimeType"], len(held["data"]) < 200) == ("image/png", True)
    assert "left out" in held["displayName"]
    assert len(desk.told) == 1
