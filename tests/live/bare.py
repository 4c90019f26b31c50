"""An Open WebUI that knows nothing of ECHO: no libraries on its path, nothing installed; and a simulator beside it."""

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

from echo_cli._ports import free_port
from echo_cli._process import Child, end_all
from echo_cli._simulator import simulator_command
from live.client import Client, poll
from live.stack import Sim

BOOT_LIMIT_S = 180.0

#: What makes it start without PyTorch and without the network. Source: open_webui/{env,config}.py, 0.12.4.
SETTINGS = {
    "ENABLE_EVALUATION_ARENA_MODELS": "false",
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_OPENAI_API": "false",
    "ENABLE_VERSION_UPDATE_CHECK": "false",
    "OFFLINE_MODE": "true",
    "RAG_EMBEDDING_ENGINE": "openai",
}


class BareOpenWebui:
    """The server and its administrator.

    Attributes:
        admin: a client signed in as the administrator.
    """

    def __init__(self, data: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.data = data
        self._port, self._sim_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.sim = Sim(f"http://127.0.0.1:{self._sim_port}")
        self.email, self.password = "admin@localhost", secrets.token_urlsafe(12)
        self._env = dict(env or {})
        self._children: list[Child] = []
        self._clients: list[Client] = []

    def start(self) -> None:
        """Start both, wait until they answer, sign the administrator in."""
        libs = Path(__file__).resolve().parents[2] / "libs"
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.sim = Sim(self.sim.url)
        self._add("simulator", simulator_command("127.0.0.1", self._sim_port), {**outside, "PYTHONPATH": str(libs)})
        command = [sys.executable, "-c", "from open_webui import app; app()", "serve", "--host", "127.0.0.1"]
        self._add("open-webui", [*command, "--port", str(self._port)], {**outside, **self._settings()})
        with httpx.Client(trust_env=False, timeout=5.0) as http:
            poll(lambda: self._up(http, f"{self.url}/health"), "Open WebUI", BOOT_LIMIT_S)
            poll(lambda: self._up(http, f"{self.sim.url}/__sim__/requests"), "the simulator", BOOT_LIMIT_S)
        self.admin = self.sign_in(self.email, self.password)

    def stop(self) -> None:
        """End both."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        self.sim.close()
        children, self._children = self._children, []
        end_all(children)

    def sign_in(self, email: str, password: str) -> Client:
        """A client for an account that exists."""
        client = Client(self.url)
        client.sign_in(email, password)
        self._clients.append(client)
        return client

    def new_user(self) -> Client:
        """A new plain account, signed in."""
        email, password = f"user-{secrets.token_hex(4)}@localhost", secrets.token_urlsafe(9)
        form = {"name": "Ada", "email": email, "password": password, "role": "user"}
        self.admin.post("/api/v1/auths/add", form)
        return self.sign_in(email, password)

    def log(self) -> str:
        """Open WebUI's log since its last start."""
        return (self.data / "logs" / "open-webui.log").read_text(errors="replace")

    def _settings(self) -> dict[str, str]:
        return {
            **SETTINGS,
            "DATA_DIR": str(self.data),
            "STATIC_DIR": str(self.data / "static"),
            "WEBUI_SECRET_KEY": "a secret for tests that is long enough",
            "WEBUI_ADMIN_EMAIL": self.email,
            "WEBUI_ADMIN_PASSWORD": self.password,
            "GEMINI_API_KEY": "simulator",
            "GEMINI_BASE_URL": self.sim.url,
            **self._env,
        }

    def _add(self, name: str, argv: list[str], env: dict[str, str]) -> None:
        log = self.data / "logs" / f"{name}.log"
        self._children.append(Child(name, argv, env=env, log=log, cwd=self.data))

    def _up(self, http: httpx.Client, url: str) -> bool | None:
        ended = [child for child in self._children if child.exit_status is not None]
        assert not ended, f"{ended[0].name} ended:\n{ended[0].tail()}"
        try:
            return http.get(url).is_success or None
        except httpx.TransportError:
            return None
