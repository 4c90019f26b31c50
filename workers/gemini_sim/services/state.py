"""Everything that one simulator remembers."""

from dataclasses import dataclass, field

from echo_workers.gemini_sim.core.prompt_cache import PromptCache
from echo_workers.gemini_sim.core.settings import SimSettings
from echo_workers.gemini_sim.core.signatures import Signer
from echo_workers.gemini_sim.services.clock import SimClock
from echo_workers.gemini_sim.services.journal import Journal
from echo_workers.gemini_sim.services.scripts import ScriptQueue


@dataclass(slots=True, kw_only=True)
class SimState:
    """The parts that routes share; one object a simulator."""

    settings: SimSettings = field(default_factory=SimSettings)
    clock: SimClock = field(default_factory=SimClock)
    journal: Journal = field(default_factory=Journal)
    scripts: ScriptQueue = field(default_factory=ScriptQueue)
    prompts: PromptCache = field(default_factory=PromptCache)
    answers: int = 0

    def signer(self) -> Signer:
        """Issues and judges signatures under the current settings."""
        return Signer(
            secret=self.settings.signing_secret.encode(), trust_foreign=self.settings.trust_foreign_signatures
        )

    def reset(self) -> None:
        """Empty request list and script queue."""
        self.journal.clear()
        self.scripts.clear()
