"""Turns a call of the pipe into what is sent: model, history, system instruction, tools, settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from echo_constants import Bilingual, EchoError
from echo_core.briefing import model_entry
from echo_core.compaction_planning import Budget
from echo_core.compaction_records import STATE_KEY
from echo_core.engine import TurnPlan
from echo_core.overlay import NO_OVERLAY, OverlayEntry, Told, overlay_json
from echo_core.ports import ModelBackend, ShadowStore
from echo_core.routing import LEVELS, Level, Route
from echo_core.usage import CONTEXT_STATS_KEY
from echo_protocol import (
    Backend,
    GenerationSettings,
    ModelInfo,
    Notice,
    ToolConversion,
    content_json,
    generation_settings,
    join_contents,
    merge_content_json,
    openai_messages_to_contents,
)
from echo_runtime import _owui_prompts
from echo_runtime.api_sessions import ApiHistory, retold
from echo_runtime.attachments import Attachments
from echo_runtime.briefings import Briefed, Briefings, unsealed
from echo_runtime.call import PipeCall
from echo_runtime.chains import RequestChain, SavedChain
from echo_runtime.compaction import Compactor, Frame
from echo_runtime.document_desk import DocumentDesk, DocumentReader
from echo_runtime.drawing import NOT_ALLOWED, may_draw, recent
from echo_runtime.google_tools import position_of
from echo_runtime.history import ASKED_KEY, HistoryBuilder, Rebuilt
from echo_runtime.levels import LEVEL_KEY, Levels
from echo_runtime.remembering import Remembering
from echo_runtime.scopes import Reader
from echo_runtime.settings import Settings
from echo_runtime.told import sealed_key
from echo_runtime.tool_config import Tooling, tool_config, tooling_of
from echo_runtime.toolset import Toolset
from echo_runtime.valley import Valley
from echo_runtime.writers import WRITERS_KEY

#: All categories that Gemini's API takes a threshold for. Source: https://ai.google.dev/api/generate-content
HARM_CATEGORIES: Final = (
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
)


class NothingAsked(EchoError):
    """The conversation holds no message that could be answered."""

    code = "nothing_asked"
    api_status = 400
    audience = "user"
    message = Bilingual(en="There is no message to answer.", fr="Il n'y a aucun message auquel répondre.")
    remedy = Bilingual(
        en="Write something or attach a file, then send it.",
        fr="Écrivez quelque chose ou joignez un fichier, puis envoyez.",
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn ready to run.

    Args:
        plan: what is sent.
        reader: what answers, and under which key.
        history: the conversation that the plan was made from, and where the answer belongs in it.
        tools: who runs which tool.
        notices: what the user is told before the answer, in the user's language.
        overlay_json: what the model is told beside the question; sealed with the answer.
        renewed: as of `Briefed`.
    """

    plan: TurnPlan
    reader: Reader
    history: Rebuilt
    tools: Toolset
    notices: tuple[str, ...] = ()
    overlay_json: bytes = NO_OVERLAY
    renewed: Callable[[bytes], OverlayEntry] | None = None


class ContextBuilder:
    """Prepares turns.

    Args:
        levels: which model level answers.
        histories: rebuilds chats.
        api_history: rebuilds what API callers send back.
        briefings: seals what stands around a chat's conversation.
        compactor: keeps chats within their context.
        backend_name: whose model ids are used.
        documents: reads what API callers attach; None where only what is text already counts.
        valley: brings back what was said long before.
        remembering: brings back what was said in other chats.
    """

    def __init__(
        self,
        levels: Levels,
        histories: HistoryBuilder,
        api_history: ApiHistory,
        briefings: Briefings,
        compactor: Compactor,
        backend_name: Backend,
        documents: DocumentDesk | None = None,
        valley: Valley | None = None,
        remembering: Remembering | None = None,
    ) -> None:
        self._levels = levels
        self._histories = histories
        self._api_history = api_history
        self._briefings = briefings
        self.compactor = compactor
        self.backend_name = backend_name
        self._documents = documents
        self.valley = valley or Valley()
        self.remembering = remembering

    def model(self, level: str) -> ModelInfo:
        """The model behind an abstract level (`LITE`, `FLASH`, `PRO`)."""
        return self._levels.model(level)

    async def prepare(
        self,
        call: PipeCall,
        settings: Settings,
        store: ShadowStore | None,
        signer: str,
        backend: ModelBackend | None = None,
    ) -> Prepared:
        """See `Orchestrator.prepare_context`."""
        kept = store if store is None or call.is_api else await store.reading_ahead(_read_ahead(call))
        level = await self._levels.start(call, settings, kept)
        usual = self.model(level)
        artist = self._levels.artist() if await may_draw(call) else None
        reader = Reader(model := artist or usual, signer)
        system_text, history = await self._conversation(call, kept, reader)
        if not history.contents and not history.question and not history.lead:
            raise NothingAsked(f"{len(call.body.get('messages') or [])} messages hold nothing to answer")
        history, told = await self._fitted(call, settings, kept, history, model, None if artist else backend)
        tooling = await self._tooling(call, store, usual, history, settings)
        if kept is None or call.is_api:  # an API caller's own system message counts, each time anew
            briefed = unsealed(call, system_text, tooling.conversion)
        else:
            briefed = await self._briefed(call, kept, history, tooling.conversion, model, settings)
        overlay = join_contents([briefed.overlay, briefed.naming(self._briefings.model_note(model))])
        sent, declared = history.sent(overlay), briefed.tools
        if artist is not None:  # for this one answer; what is declared in the chat stays declared
            sent, declared = recent(sent, artist.window_tokens), None
        generation = self._generation(call, settings, model, with_tools=declared is not None)
        plan = TurnPlan(
            model_id=model.backend_id(self.backend_name),
            contents=sent,
            system_instruction=briefed.system,
            tools=declared,
            tool_config=tool_config(declared, position_of(call)),
            tool_choice=tooling.choice if declared is not None else None,
            generation_config=generation.config,
            safety_settings=_safety(settings),
            tool_names=briefed.names,
            handed_over=tooling.toolset.handed_over,
            max_rounds=settings.max_tool_rounds,
            locale=call.locale,
            prompts=call.prompts,
            question=b"" if artist else history.question,
            overlay=overlay,
            **(_drawn(artist, level) if artist else self._routing(call, settings, level, briefed)),
        )
        refused = (Notice(NOT_ALLOWED),) if call.draws and artist is None else ()
        shown = _rendered(call, (*refused, *history.notices, *told, *generation.notices))
        return Prepared(plan, reader, history, tooling.toolset, (*tooling.notices, *shown), overlay, briefed.renewed)

    async def _tooling(
        self, call: PipeCall, store: ShadowStore | None, model: ModelInfo, history: Rebuilt, settings: Settings
    ) -> Tooling:
        """What may be called; where not all of the conversation is sent, it can be read and searched."""
        index, told_of = self.valley.index, history.for_tools
        return await tooling_of(call, store, model, self.backend_name, moves=settings.moves, index=index, **told_of)

    async def _briefed(
        self,
        call: PipeCall,
        store: ShadowStore,
        history: Rebuilt,
        tools: ToolConversion,
        model: ModelInfo,
        settings: Settings,
    ) -> Briefed:
        """What stands around the conversation of a chat, with what was said long before and bears on the question."""
        window_tokens = min(settings.max_context_tokens, model.window_tokens)
        past = await self.valley.recalled(call, store, history, window_tokens)
        if self.remembering is not None:
            past += await self.remembering.recalled(call, history)
        return await self._briefings.brief(call, store, history, tools, model, settings, past)

    async def frame(self, call: PipeCall, store: ShadowStore) -> Frame:
        """What is sealed around the conversation of a chat with one writer."""
        return await self._briefings.frame(call, store, shared=False)

    @staticmethod
    def _generation(call: PipeCall, settings: Settings, model: ModelInfo, *, with_tools: bool) -> GenerationSettings:
        return generation_settings(
            model, _params(call, settings), include_thoughts=settings.show_thoughts, with_tools=with_tools
        )

    async def _fitted(
        self,
        call: PipeCall,
        settings: Settings,
        store: ShadowStore | None,
        history: Rebuilt,
        model: ModelInfo,
        backend: ModelBackend | None,
    ) -> tuple[Rebuilt, tuple[Notice, ...]]:
        """See `Compactor.fitted`; conversations without records, and without a backend to ask, stay as they are."""
        if store is None or backend is None or call.is_api:
            return history, ()
        budget = Budget(size_tokens=min(settings.max_context_tokens, model.window_tokens))

        async def frame_of() -> Frame:
            frame = await self._briefings.frame(call, store, shared=history.shared)
            recalled_tokens = self.valley.most_tokens(call, budget.size_tokens)
            return replace(frame, beside_tokens=frame.beside_tokens + recalled_tokens)

        return await self.compactor.fitted(
            call, store, history, frame_of=frame_of, model=model, budget=budget, backend=backend
        )

    def _routing(self, call: PipeCall, settings: Settings, level: Level, briefed: Briefed) -> dict[str, Any]:
        """The fields of a `TurnPlan` that say where the turn stands and where it may go."""
        routes = {name: self._route(call, settings, name, briefed) for name in LEVELS}
        here = routes.pop(level)
        return {
            "level": level,
            "others": tuple(routes.values()) if settings.moves else (),
            "scope": here.scope,
            "signs": here.signs,
            "window_tokens": here.window_tokens,
        }

    def _route(self, call: PipeCall, settings: Settings, level: Level, briefed: Briefed) -> Route:
        model = self.model(level)
        generation = self._generation(call, settings, model, with_tools=briefed.tools is not None)
        return Route(
            level=level,
            model_id=model.backend_id(self.backend_name),
            generation_config=generation.config,
            window_tokens=min(settings.max_context_tokens, model.window_tokens),
            scope=model.signature_scope,
            signs=model.validates_signatures,
            note=b"" if briefed.before is None else _naming_anew(self._briefings.model_note(model)),
        )

    async def _conversation(self, call: PipeCall, store: ShadowStore | None, reader: Reader) -> tuple[str, Rebuilt]:
        messages = call.body.get("messages") or []
        system_text, _ = openai_messages_to_contents(m for m in messages if m.get("role") in ("system", "developer"))
        system_text = _owui_prompts.without_tool_prompts(system_text, call.metadata)
        if store is None or call.is_api:
            return system_text, await self._from_messages(call, messages, store, reader)
        chain = await RequestChain.read(call) if call.is_temporary else SavedChain(call)
        return system_text, await self._histories.rebuild(call, store, chain, reader)

    async def _from_messages(
        self, call: PipeCall, messages: Sequence[Mapping[str, Any]], store: ShadowStore | None, reader: Reader
    ) -> Rebuilt:
        """The conversation of a caller that sends all of it, with media and files that Gemini takes."""
        # What an API caller attached is kept where its answers are.
        documents = DocumentReader(call, self._documents, keeps=store is not None) if self._documents else None
        attachments = Attachments(call, None, documents)
        messages = await attachments.cleaned(messages)
        if store is None:
            history = Rebuilt(contents=retold(messages, reader))
        else:
            history = await self._api_history.rebuild(messages, store, reader)
        files = await attachments.parts([], call.metadata.get("files") or ())
        if files and history.contents and history.contents[-1].startswith(b'{"role":"user"'):
            question = merge_content_json(history.contents[-1], content_json("user", files))
            history = replace(history, contents=(*history.contents[:-1], question))
        return replace(history, notices=tuple(attachments.notices))


def _read_ahead(call: PipeCall) -> list[str]:
    """Keys of what every turn of a chat looks at before it asks."""
    sealed = sealed_key(call, shared=False)
    return [LEVEL_KEY, WRITERS_KEY, ASKED_KEY, STATE_KEY, CONTEXT_STATS_KEY, sealed]


def _naming_anew(note: str) -> bytes:
    """The overlay entry that names a model whatever was told before."""
    return overlay_json([model_entry(note, Told())])


def _rendered(call: PipeCall, notices: Sequence[Notice]) -> tuple[str, ...]:
    return tuple(notice.render(call.locale) for notice in notices)


def _drawn(artist: ModelInfo, level: Level) -> dict[str, Any]:
    """As `ContextBuilder._routing`, for an answer that only one model can give."""
    return {
        "level": level,
        "scope": artist.signature_scope,
        "signs": artist.validates_signatures,
        "window_tokens": artist.window_tokens,
    }


def _params(call: PipeCall, settings: Settings) -> dict[str, Any]:
    params = {key: value for key, value in call.body.items() if key not in ("messages", "model", "stream", "tools")}
    if settings.reasoning_effort:
        params.setdefault("reasoning_effort", settings.reasoning_effort)
    return params


def _safety(settings: Settings) -> list[dict[str, Any]] | None:
    if not settings.safety_threshold:
        return None
    return [{"category": category, "threshold": settings.safety_threshold} for category in HARM_CATEGORIES]
