"""Has a model sum up what a chat no longer sends, and trusts nothing of it unseen."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from echo_constants import EchoError
from echo_core.compaction_checkpoint import ANSWER_SCHEMA, BYTES_A_TOKEN, Checkpoint, of_answer
from echo_core.compaction_extract import extract
from echo_core.compaction_records import Method
from echo_core.compaction_transcript import Said, chunks, transcript
from echo_core.compaction_verify import REVIEW_SCHEMA, Fault, reviewed, verify
from echo_core.ports import ModelBackend
from echo_prompts import SHIPPED, PromptBook
from echo_protocol import Backend, ModelInfo, UnreadableChunk, UnreadablePart
from echo_runtime.model_questions import Interviewer

log = logging.getLogger(__name__)

#: How long one call may take before the plain extract steps in. Source: our choice.
CALL_LIMIT_S: Final = 120.0
#: Share of the model's window that one stretch may fill, in characters for each token of it. Source: our choice; a
#: token has about four characters of English and two to three of other languages and code.
_CHARS_A_WINDOW_TOKEN: Final = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensed:
    """What became of a stretch of conversation.

    Args:
        method: who wrote the checkpoint; `extract` if any stretch had to do without the model.
        model_id: what was asked, "" when it wrote nothing that stands.
        faults: what was wrong with what the model wrote.
    """

    checkpoint: Checkpoint
    method: Method
    model_id: str = ""
    faults: tuple[Fault, ...] = ()


class Summariser:
    """Condenses stretches of conversation with MODEL_APOLLO.

    Args:
        model: what is asked.
        backend_name: whose model ids are used.
        prompts: how it is asked.
        call_limit_s: seconds that one call may take.
    """

    def __init__(
        self,
        model: ModelInfo,
        backend_name: Backend,
        prompts: PromptBook = SHIPPED,
        *,
        call_limit_s: float = CALL_LIMIT_S,
    ) -> None:
        self._interviewer = Interviewer(model, backend_name, call_limit_s)
        self._prompts = prompts

    async def condense(
        self, backend: ModelBackend | None, messages: Sequence[Said], before: Checkpoint, size_bytes: int
    ) -> Condensed:
        """One checkpoint for a stretch and for what stood for everything above it.

        A stretch that does not fit into the model's window is taken in pieces, each on top of the one before. Where the
        model does not answer, or what it writes does not hold, the plain extract stands.

        Args:
            backend: where the model is; None does without.
            messages: the stretch, oldest first.
            before: the former checkpoint.
            size_bytes: how large the new one may be in UTF-8.
        """
        faults: list[Fault] = []
        method: Method = "model" if backend is not None else "extract"
        for stretch in chunks(messages, int(self._interviewer.model.window_tokens * _CHARS_A_WINDOW_TOKEN)):
            written = None
            if backend is not None:
                try:
                    written = await self._written(backend, stretch, before, size_bytes, faults)
                except (EchoError, TimeoutError, UnreadableChunk, UnreadablePart) as error:
                    log.warning("the model that sums up did not answer: %s %s", type(error).__name__, error)
                    backend = None
            if written is None:
                method = "extract"
                written = extract(stretch, before, size_bytes)
            before = written
        told = self._interviewer.model_id if method == "model" else ""
        return Condensed(checkpoint=before, method=method, model_id=told, faults=tuple(dict.fromkeys(faults)))

    async def _written(
        self,
        backend: ModelBackend,
        stretch: Sequence[Said],
        before: Checkpoint,
        size_bytes: int,
        faults: list[Fault],
    ) -> Checkpoint | None:
        """What the model wrote, looked at twice; None when it does not hold."""
        asked = f"{_former(before)}\n<messages>\n{transcript(stretch)}\n</messages>"
        how = self._prompts.checkpoint(size_bytes // BYTES_A_TOKEN)
        answer = await self._interviewer.ask(backend, how, asked, ANSWER_SCHEMA)
        if answer is None:
            faults.append("cut_off")
            return None
        verdict = verify(of_answer(answer), stretch, before, size_bytes)
        faults += verdict.faults
        if verdict.checkpoint is None:
            log.warning("a checkpoint of %s was refused: %s", self._interviewer.model_id, ", ".join(verdict.faults))
            return None
        new = "\n".join(f"{name}: {text}" for name, text in verdict.checkpoint.lines())
        seen = f"{asked}\n<new_checkpoint>\n{new}\n</new_checkpoint>"
        review = await self._interviewer.ask(backend, self._prompts.checkpoint_review(), seen, REVIEW_SCHEMA)
        if review is None:
            return verdict.checkpoint
        again = verify(reviewed(verdict.checkpoint, review), stretch, before, size_bytes)
        return again.checkpoint or verdict.checkpoint


def _former(before: Checkpoint) -> str:
    lines = "\n".join(f"{name}: {text}" for name, text in before.lines())
    return f"<former_checkpoint>\n{lines}\n</former_checkpoint>"
