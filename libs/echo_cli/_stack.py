"""Open WebUI with ECHO, and the simulator when Google is not wanted, as child processes of this one.

`echoctl up` and the tests' live stack both use it.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Literal, Protocol

import httpx

from echo_cli._exit_codes import ExitCode
from echo_cli._functions import FUNCTIONS_ROOT, FunctionFile, discover_functions
from echo_cli._installer import Installer, Report
from echo_cli._model_record import ECHO_MODEL_ID
from echo_cli._owui_api import OwuiApi, OwuiSignInError
from echo_cli._ports import require_free_port
from echo_cli._process import Child, end_all
from echo_cli._run_folder import Account, RunFolder
from echo_cli._simulator import simulator_command
from echo_constants import Bilingual, ConfigError, UpstreamError

Backend = Literal["google", "simulator"]

#: First start on a slow machine: imports without byte code took 25 s, migrations 3 s (measured on two shared cores).
BOOT_LIMIT_S: Final = 300.0
_POLL_S: Final = 0.1

OPEN_WEBUI: Final = "open-webui"
SIMULATOR: Final = "simulator"

#: The key that is sent to the simulator, which takes any.
_SIMULATOR_KEY: Final = "simulator"

#: Settings that let Open WebUI boot fast, without PyTorch and without the network; the environment may override
#: them. Source: open_webui/{env,config}.py, 0.12.4.
_DEFAULTS: Final = {
    "ANONYMIZED_TELEMETRY": "false",
    "DEFAULT_MODELS": ECHO_MODEL_ID,
    "DO_NOT_TRACK": "true",
    "ENABLE_EVALUATION_ARENA_MODELS": "false",
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_OPENAI_API": "false",
    "ENABLE_VERSION_UPDATE_CHECK": "false",
    "OFFLINE_MODE": "true",
    "RAG_EMBEDDING_ENGINE": "openai",
    # ECHO reads documents itself; Open WebUI would ask an embedding service that is not there and warn at each upload.
    "BYPASS_EMBEDDING_AND_RETRIEVAL": "true",
    "RAG_EMBEDDING_MODEL_AUTO_UPDATE": "false",
    "RAG_RERANKING_MODEL_AUTO_UPDATE": "false",
    "SCARF_NO_ANALYTICS": "true",
    "WEBUI_ADMIN_NAME": "Admin",
}


class OpenWebuiMissingError(ConfigError):
    """Open WebUI is not installed beside ECHO."""

    code: ClassVar[str] = "open_webui_missing"
    message: ClassVar[Bilingual] = Bilingual(
        en="Open WebUI is not installed in this Python.", fr="Open WebUI n'est pas installé dans ce Python."
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Run `make run`, or install echo-owui[openwebui]. For an Open WebUI elsewhere use `echoctl install`.",
        fr="Lancez `make run`, ou installez echo-owui[openwebui]. Pour un Open WebUI ailleurs : `echoctl install`.",
    )


class BootError(UpstreamError):
    """A child did not come up, or ended by itself."""

    code: ClassVar[str] = "boot_failed"
    exit_code: ClassVar[ExitCode] = ExitCode.BOOT_FAILED
    audience = "admin"
    message: ClassVar[Bilingual] = Bilingual(
        en="{name} stopped or did not come up (exit status {status}).",
        fr="{name} s'est arrêté ou n'a pas démarré (code de sortie {status}).",
    )
    remedy: ClassVar[Bilingual] = Bilingual(en="Its log says why: {log}", fr="Son journal dit pourquoi : {log}")


class Reporter(Protocol):
    """Gets told what is being done; `Output` is one."""

    def step(self, text: Bilingual, **fields: object) -> None:
        """What is being done."""

    def warn(self, text: Bilingual, **fields: object) -> None:
        """What deserves attention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSettings:
    """What to start and where.

    Attributes:
        data: the data folder; made when missing.
        host: address that Open WebUI listens on; the simulator always stays on 127.0.0.1.
        sim_port: the simulator's port.
        backend: who answers for Gemini.
        chunk_delay_ms: pause of the simulator before each streamed chunk; 0 = as fast as it can.
        admin_email: None = the one used before, else a default.
        admin_password: None = the one used before, else a generated one.
        functions_root: where the function files are.
        extra_env: wins over everything else in Open WebUI's environment.
    """

    data: Path
    host: str = "127.0.0.1"
    port: int
    sim_port: int
    backend: Backend
    chunk_delay_ms: int = 0
    admin_email: str | None = None
    admin_password: str | None = None
    functions_root: Path = FUNCTIONS_ROOT
    extra_env: Mapping[str, str] = field(default_factory=dict)


class Stack:
    """The running processes. `start` brings them up, `stop` ends them; a stopped stack may be started again.

    Attributes:
        url: where a browser on this machine finds Open WebUI.
        api_url: the same for programs: never a name that could lead to another address first.
        sim_url: where the simulator is.
        account: the administrator, known once `start` was called.

    Args:
        settings: what to start.
        reporter: gets told what is being done.
    """

    def __init__(self, settings: StackSettings, reporter: Reporter) -> None:
        self.settings = settings
        self.data = settings.data.resolve()
        self.url = f"http://{_browser_host(settings.host)}:{settings.port}"
        self.api_url = f"http://{_local_host(settings.host)}:{settings.port}"
        self.sim_url = f"http://127.0.0.1:{settings.sim_port}"
        self.account: Account | None = None
        self._children: list[Child] = []
        self._reporter = reporter
        self._folder = RunFolder(self.data)

    def start(self) -> Report | None:
        """Start everything, wait until it answers, and install ECHO.

        Returns:
            What was installed; None when an administrator changed the password since, so that it could not be
            checked: the stack runs nevertheless.

        Raises:
            ConfigError: a port, the data folder or a package is not to be had; nothing was started.
            BootError: a child ended or did not answer in time; the others were ended.
        """
        functions = discover_functions(self.settings.functions_root)
        if importlib.util.find_spec("open_webui") is None:
            raise OpenWebuiMissingError
        self._folder.lock()
        try:
            first_start = not (self.data / "webui.db").exists()
            account = self.account = self._folder.account(self.settings.admin_email, self.settings.admin_password)
            self._start_children(account)
            self._wait_until_up()
            return self._install(account, functions, first_start=first_start)
        except BaseException:
            self.stop()
            raise

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by name, of what was started."""
        return {child.name: child.pid for child in self._children}

    def stop(self) -> None:
        """End all children and give the data folder back."""
        children, self._children = self._children, []
        end_all(children)
        self._folder.unlock()

    def check(self) -> None:
        """See whether all children run.

        Raises:
            BootError: one has ended by itself.
        """
        for child in self._children:
            if (status := child.exit_status) is not None:
                raise BootError(child.tail(), name=child.name, status=status, log=str(child.log))

    def _start_children(self, account: Account) -> None:
        settings = self.settings
        if self._folder.end_leftovers():
            self._reporter.warn(_LEFTOVERS)
        require_free_port(settings.host, settings.port, "--port")
        if settings.backend == "simulator":
            command = simulator_command("127.0.0.1", settings.sim_port, chunk_delay_ms=settings.chunk_delay_ms)
            require_free_port("127.0.0.1", settings.sim_port, "--sim-port")
            self._reporter.step(_STARTING_SIMULATOR, where=self.sim_url)
            self._add_child(SIMULATOR, command, _base_env())
        self._reporter.step(_STARTING_OPEN_WEBUI, where=self.url)
        # `python -m open_webui` does not exist and the script `open-webui` may not be on PATH; this is what it does.
        command = [sys.executable, "-c", "from open_webui import app; app()", "serve"]
        command += ["--host", settings.host, "--port", str(settings.port)]
        self._add_child(OPEN_WEBUI, command, self._owui_env(account))
        self._folder.note_running(self._children)

    def _add_child(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        log = self._folder.logs / f"{name}.log"
        self._children.append(Child(name, argv, env=env, log=log, cwd=self._folder.workplace))

    def _owui_env(self, account: Account) -> dict[str, str]:
        env = {
            **_DEFAULTS,
            **_base_env(),
            "DATA_DIR": str(self.data),
            "ECHO_DATA_DIR": str(self.data / "echo"),
            # Open WebUI empties this folder at each start; its default lies in the package, shared by all instances.
            "STATIC_DIR": str(self.data / "static"),
            "WEBUI_SECRET_KEY": self._folder.secret_key(),
            "WEBUI_ADMIN_EMAIL": account.email,
            "WEBUI_ADMIN_PASSWORD": account.password,
        }
        if self.settings.backend == "simulator":
            env |= {
                "GEMINI_BASE_URL": self.sim_url,
                "GEMINI_API_KEY": _SIMULATOR_KEY,
                "ECHO_SIMULATOR_URL": self.sim_url,
            }
        return {**env, **self.settings.extra_env}

    def _wait_until_up(self) -> None:
        waiting = {OPEN_WEBUI: f"{self.api_url}/health"}
        if self.settings.backend == "simulator":
            waiting[SIMULATOR] = f"{self.sim_url}/__sim__/requests"
        give_up_at_s = time.monotonic() + BOOT_LIMIT_S
        with httpx.Client(trust_env=False, timeout=5.0) as http:
            while waiting:
                self.check()
                waiting = {name: url for name, url in waiting.items() if not _answers(http, url)}
                if waiting and time.monotonic() > give_up_at_s:
                    child = next(child for child in self._children if child.name in waiting)
                    raise BootError(child.tail(), name=child.name, status="-", log=str(child.log))
                if waiting:
                    time.sleep(_POLL_S)
        self.check()

    def _install(self, account: Account, functions: Sequence[FunctionFile], *, first_start: bool) -> Report | None:
        with OwuiApi(self.api_url) as api:
            try:
                api.sign_in(account.email, account.password)
            except OwuiSignInError:
                if first_start or self.settings.admin_password:
                    raise
                self._reporter.warn(_NOT_CHECKED)
                return None
            self._folder.keep_account(account)
            self._reporter.step(_INSTALLING)
            return Installer(api, functions).install()


_STARTING_SIMULATOR: Final = Bilingual(en="Starting the simulator on {where}", fr="Démarrage du simulateur sur {where}")
_STARTING_OPEN_WEBUI: Final = Bilingual(
    en="Starting Open WebUI on {where}; please wait, up to a minute",
    fr="Démarrage d'Open WebUI sur {where} ; patientez, jusqu'à une minute",
)
_INSTALLING: Final = Bilingual(en="Installing ECHO into Open WebUI", fr="Installation d'ECHO dans Open WebUI")
_LEFTOVERS: Final = Bilingual(
    en="Processes of an earlier run were still there; they were ended.",
    fr="Des processus d'un lancement précédent tournaient encore ; ils ont été arrêtés.",
)
_NOT_CHECKED: Final = Bilingual(
    en="The administrator's password was changed, so the installation was not checked. "
    "Pass --admin-email and --admin-password once to have it checked again.",
    fr="Le mot de passe de l'administrateur a changé, l'installation n'a donc pas été vérifiée. "
    "Donnez une fois --admin-email et --admin-password pour qu'elle le soit de nouveau.",
)


def _base_env() -> dict[str, str]:
    """Our environment, and where the `echo_*` packages are even when they are not installed but on the path."""
    libs = str(Path(__file__).resolve().parents[1])
    path = [libs, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONUNBUFFERED": "1"}


def _local_host(host: str) -> str:
    if host in ("", "0.0.0.0"):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host


def _browser_host(host: str) -> str:
    local = _local_host(host)
    return "localhost" if local in ("127.0.0.1", "[::1]") else local


def _answers(http: httpx.Client, url: str) -> bool:
    try:
        return http.get(url).is_success
    except httpx.TransportError:
        return False
