"""Names every adapter, once."""

import os
from typing import Final

from echo_http import SystemClock
from echo_paths import EchoPaths
from echo_protocol import Backend, Catalogue
from echo_runtime._owui_routes import echo_data_dir
from echo_runtime.backends import Backends
from echo_runtime.context import ContextBuilder
from echo_runtime.history import HistoryBuilder
from echo_runtime.keys import KeyRing
from echo_runtime.orchestrator import Orchestrator
from echo_runtime.scopes import Scopes
from echo_runtime.stores import ChatStores
from echo_state_manager import SessionStores
from echo_state_manager.crypto import master_secret
from echo_state_manager.identity import IdentityStore

#: The backend that this version talks to.
BACKEND: Final[Backend] = "ai_studio"


def build() -> Orchestrator:
    """The orchestrator over the real adapters, for the calling thread's event loop.

    Raises:
        SecretKeyMissingError: there is no secret to encrypt keys with.
    """
    clock = SystemClock()
    paths = EchoPaths(echo_data_dir())
    identity = IdentityStore(paths.identity_db, master_secret(os.environ), clock)
    catalogue = Catalogue.load()
    stores = ChatStores(SessionStores(paths, clock))
    scopes = Scopes(catalogue, BACKEND)
    return Orchestrator(
        backends=Backends(KeyRing(identity, os.environ), clock, os.environ),
        stores=stores,
        contexts=ContextBuilder(catalogue, HistoryBuilder(stores, scopes, clock), BACKEND),
        scopes=scopes,
        clock=clock,
        env_base_url=os.environ.get("GEMINI_BASE_URL", ""),
    )
