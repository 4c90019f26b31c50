"""One real Open WebUI with ECHO and the simulator, started by the code behind `echoctl up`, for all live tests."""

import os
import secrets
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from echo_cli._functions import FUNCTIONS_ROOT
from echo_cli._ports import free_port
from echo_cli._stack import OPEN_WEBUI, Backend, Stack, StackSettings
from echo_constants import Bilingual
from echo_runtime.lifecycle import PIPE_ID
from live.client import Client, poll


class Silent:
    """Keeps what the stack tells, for failure messages."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def step(self, text: Bilingual, **fields: object) -> None:
        self.told.append(text.render("en", **fields))

    def warn(self, text: Bilingual, **fields: object) -> None:
        self.told.append("! " + text.render("en", **fields))


class Sim:
    """The simulator's control endpoints (docs/design.md section 10)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, trust_env=False, timeout=10.0)

    def script(self, *answers: Mapping[str, Any]) -> None:
        """Queue scripted answers: `{"match": {...}, "status": 200, "chunks": [{"text": ...}], ...}`."""
        self._http.post("/__sim__/script", json=list(answers)).raise_for_status()

    def requests(self, path: str = "") -> list[dict[str, Any]]:
        """What arrived since the last reset, oldest first; only those whose path contains `path`."""
        arrived: list[dict[str, Any]] = self._http.get("/__sim__/requests").raise_for_status().json()
        return [request for request in arrived if path in request["path"]]

    def wait_requests(self, count: int, path: str = "") -> list[dict[str, Any]]:
        """The requests, once there are at least `count`."""
        return poll(lambda: found if len(found := self.requests(path)) >= count else None, f"{count} requests")

    def answers(self) -> bool | None:
        """True when it is up, None when it is not, for `poll`."""
        try:
            return self._http.get("/__sim__/requests").is_success or None
        except httpx.TransportError:
            return None

    def wait_chunks(self, count: int) -> None:
        """Until that many scripted streams have sent all their chunks; their tokens are counted after the last one."""
        poll(
            lambda: sum(request["prompt_tokens"] > 0 for request in self.requests("GenerateContent")) >= count or None,
            f"{count} streams to have been sent",
        )

    def wait_sent(self, marker: str) -> None:
        """Until the scripted stream whose request holds `marker` has sent all its chunks."""
        poll(
            lambda: (
                any(marker in r["body"] and r["prompt_tokens"] > 0 for r in self.requests("GenerateContent")) or None
            ),
            f"the answer to {marker} to have been sent",
        )

    def wait_ended(self, marker: str, ended: str) -> None:
        """Until the stream whose request holds `marker` has ended in one way (`complete`, `reset_by_client`, …)."""
        poll(
            lambda: (
                any(
                    marker in request["body"] and request["ended"] == ended
                    for request in self.requests("streamGenerateContent")
                )
                or None
            ),
            f"{marker} to end by {ended}",
        )

    def wait_ended_last(self, marker: str, ended: str) -> None:
        """Until the latest stream whose request holds `marker` has ended in one way."""

        def has() -> bool | None:
            found = [r for r in self.requests("streamGenerateContent") if marker in r["body"]]
            return (bool(found) and found[-1]["ended"] == ended) or None

        poll(has, f"the last one of {marker} to end by {ended}")

    def reset(self) -> None:
        """Forget requests, scripts and caches."""
        self._http.post("/__sim__/reset").raise_for_status()

    def close(self) -> None:
        self._http.close()


class Live:
    """The running stack and its accounts.

    Attributes:
        url: for a browser.
        sim: the simulator's controls.
        admin: a client signed in as the administrator.
    """

    def __init__(self, data: Path, *, backend: Backend = "simulator", functions_root: Path = FUNCTIONS_ROOT) -> None:
        self._clients: list[Client] = []
        self._env: dict[str, str] = {}
        self._settings: Callable[[], StackSettings] = lambda: StackSettings(
            data=data,
            port=self._port,
            sim_port=self._sim_port,
            backend=backend,
            admin_email="admin@localhost",
            admin_password=self._password,
            functions_root=functions_root,
            extra_env=self._env,
        )
        self._port, self._sim_port = free_port(), free_port()
        self._password = secrets.token_urlsafe(12)
        self.data = data
        self.told = Silent()
        self._stack = Stack(self._settings(), self.told)
        self.sim = Sim(self._stack.sim_url)
        self.url = self._stack.url
        self.api_url = self._stack.api_url

    def start(self) -> "Live":
        """Boot and install; the administrator is signed in afterwards."""
        self._stack.start()
        self.admin = self.sign_in("admin@localhost", self._password, name="Admin")
        return self

    def stop(self) -> None:
        """End everything."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        self.sim.close()
        self._stack.stop()

    def restart(self, *, env: Mapping[str, str] | None = None, kill: bool = False) -> None:
        """Stop Open WebUI and the simulator and start them again on the same ports and data; tokens stay valid.

        Args:
            env: more environment for Open WebUI, from now on.
            kill: end Open WebUI by SIGKILL, as a crash would.
        """
        if kill:
            self.kill()
        self._stack.stop()
        self._env |= env or {}
        self._stack = Stack(self._settings(), self.told)
        self._stack.start()

    def kill(self) -> None:
        """SIGKILL to Open WebUI, which stays down until `restart`."""
        os.kill(self._stack.pids[OPEN_WEBUI], signal.SIGKILL)

    def log(self) -> str:
        """Open WebUI's log since its last start."""
        return (self.data / "run" / "logs" / f"{OPEN_WEBUI}.log").read_text(errors="replace")

    @contextmanager
    def valves(self, function_id: str = PIPE_ID, /, **changed: Any) -> Iterator[None]:
        """Other valves of the pipe or a filter, as an administrator would set them, while the context lasts."""
        path = f"/api/v1/functions/id/{function_id}/valves"
        before = self.admin.get(path) or {}
        self.admin.post(f"{path}/update", {**before, **changed})
        try:
            yield
        finally:
            self.admin.post(f"{path}/update", before)

    def sign_in(self, email: str, password: str, *, name: str = "", language: str = "en-US") -> Client:
        """A client for an account that exists."""
        client = Client(self.api_url, name=name, language=language)
        self._clients.append(client)
        client.sign_in(email, password)
        return client

    def new_user(self, name: str = "Ada", language: str = "en-US", role: str = "user") -> Client:
        """A new account, signed in; its e-mail is unique."""
        email = f"user-{secrets.token_hex(4)}@localhost"  # a browser takes only ASCII here
        password = secrets.token_urlsafe(9)
        form = {"name": name, "email": email, "password": password, "role": role}
        self.admin.post("/api/v1/auths/add", form)
        return self.sign_in(email, password, name=name, language=language)
