"""Everything that one simulator remembers."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields

from echo_workers.gemini_sim.core.prompt_cache import PromptCache
from echo_workers.gemini_sim.core.settings import SimSettings
from echo_workers.gemini_sim.core.signatures import Signer
from echo_workers.gemini_sim.services.accounts import Accounts
from echo_workers.gemini_sim.services.caches import CacheStore
from echo_workers.gemini_sim.services.clock import SimClock
from echo_workers.gemini_sim.services.files import FileStore
from echo_workers.gemini_sim.services.journal import Journal
from echo_workers.gemini_sim.services.scripts import ScriptQueue


@dataclass(slots=True, kw_only=True)
class SimState:
    """The parts that routes share; one object a simulator.

    Args:
        pending: token counts of scripted answers that nobody has asked for yet, oldest first.
    """

    settings: SimSettings = field(default_factory=SimSettings)
    clock: SimClock = field(default_factory=SimClock)
    journal: Journal = field(default_factory=Journal)
    scripts: ScriptQueue = field(default_factory=ScriptQueue)
    prompts: PromptCache = field(default_factory=PromptCache)
    files: FileStore = field(default_factory=FileStore)
    caches: CacheStore = field(default_factory=CacheStore)
    accounts: Accounts = field(default_factory=Accounts)
    answers: int = 0
    pending: list[Callable[[], None]] = field(default_factory=list)

    def signer(self) -> Signer:
        """Issues and judges signatures under the current settings."""
        settings = self.settings
        return Signer(secret=settings.signing_secret.encode(), trust_foreign=settings.trust_foreign_signatures)

    def next_serial(self) -> int:
        """Number of the next answer."""
        self.answers += 1
        return self.answers

    def settle(self) -> None:
        """Do the pending counts; called before anything that shows them or depends on their prompts."""
        while self.pending:
            self.pending.pop(0)()

    def reset(self) -> None:
        """Empty request list and script queue; everything else (files, caches, accounts, prompts) stays."""
        self.settle()
        self.journal.clear()
        self.scripts.clear()

    def start_over(self, settings: SimSettings) -> None:
        """Become a fresh simulator: nothing remembered, the clock right, these settings."""
        fresh = SimState(settings=settings)
        for part in fields(SimState):
            setattr(self, part.name, getattr(fresh, part.name))
