"""Starts a real Open WebUI on a free port, for the tests of ECHO's key handling."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[3]
ADMIN = ("admin@example.com", "admin-password-1")
#: A boot takes ten seconds; a machine with other work may need many times that.
BOOT_LIMIT_S = 180.0


@dataclass
class OpenWebUI:
    """One server with its own data folder; `start` and `stop` may alternate."""

    data_dir: Path
    env: dict[str, str] = field(default_factory=dict)
    port: int = 0
    token: str = ""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.data_dir / "server.log").read_text(errors="replace")

    def start(self) -> None:
        self.port = _free_port()
        command = [str(Path(sys.executable).parent / "open-webui"), "serve", "--host", "127.0.0.1"]
        with (self.data_dir / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--port", str(self.port)], env=self._env(), stdout=log, stderr=log
            )
        deadline_s = time.monotonic() + BOOT_LIMIT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                self.stop()
                raise RuntimeError(self.log[-3000:])
        self.token = self.sign_in(*ADMIN)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def sign_in(self, email: str, password: str) -> str:
        answer = self.call("POST", "/api/v1/auths/signin", {"email": email, "password": password}, token="")
        return answer.raise_for_status().json()["token"]

    def add_user(self, name: str) -> tuple[str, str]:
        """(id, token) of a new plain user."""
        form = {"name": name, "email": f"{name}@example.com", "password": "user-password-1", "role": "user"}
        self.call("POST", "/api/v1/auths/add", form).raise_for_status()
        token = self.sign_in(form["email"], form["password"])
        return self.call("GET", "/api/v1/auths/", token=token).json()["id"], token

    def call(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> httpx.Response:
        bearer = self.token if token is None else token
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        # trust_env off: a proxy of the developer's machine has no business with 127.0.0.1.
        with httpx.Client(base_url=self.base, timeout=30, trust_env=False) as client:
            return client.request(method, path, json=body, headers=headers)

    def install(self, function_id: str, content: str) -> None:
        form = {"id": function_id, "name": function_id, "content": content, "meta": {"description": "", "manifest": {}}}
        if self.call("GET", f"/api/v1/functions/id/{function_id}").status_code == 200:
            self.call("POST", f"/api/v1/functions/id/{function_id}/update", form).raise_for_status()
            return
        self.call("POST", "/api/v1/functions/create", form).raise_for_status()
        self.toggle(function_id)

    def toggle(self, function_id: str) -> None:
        self.call("POST", f"/api/v1/functions/id/{function_id}/toggle").raise_for_status()

    def valves(self, function_id: str) -> dict[str, Any]:
        return self.call("GET", f"/api/v1/functions/id/{function_id}/valves").raise_for_status().json() or {}

    def database_bytes(self) -> bytes:
        """Everything that lies in Open WebUI's database files right now."""
        return b"".join(path.read_bytes() for path in self.data_dir.glob("webui.db*"))

    def _answers(self) -> bool:
        try:
            return httpx.get(self.base + "/health", timeout=1, trust_env=False).status_code == 200
        except httpx.HTTPError:
            # The first connect is refused at once, so the poll itself has to pause; select is a wait with a bound.
            assert self._process is not None
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.2)
            return False

    def _env(self) -> dict[str, str]:
        keep = {name: os.environ[name] for name in ("HOME", "PATH", "LANG", "TMPDIR") if name in os.environ}
        return keep | {
            "PYTHONPATH": str(ROOT / "libs"),
            "DATA_DIR": str(self.data_dir),
            "WEBUI_SECRET_KEY": "secret of the tests",
            "WEBUI_ADMIN_EMAIL": ADMIN[0],
            "WEBUI_ADMIN_PASSWORD": ADMIN[1],
            "WEBUI_ADMIN_NAME": "Admin",
            "OFFLINE_MODE": "true",
            "RAG_EMBEDDING_ENGINE": "openai",
            "ENABLE_OLLAMA_API": "false",
            "ENABLE_OPENAI_API": "false",
            "ENABLE_EVALUATION_ARENA_MODELS": "false",
            "ENABLE_VERSION_UPDATE_CHECK": "false",
            "SHOW_CHANGELOG": "false",
            **self.env,
        }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
