"""Seals a chat's system instruction and tools at its first turn, and tells the model later what has changed since."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from echo_aec import Artifact, Asking, EchoAEC, Transient, told
from echo_constants import ECHO_VERSION, Locale
from echo_core.alignment import Alignment
from echo_core.briefing import MODEL_VALUE, Briefing, known, model_entry, news, text_hash, tool_hashes
from echo_core.draft import Draft
from echo_core.level_tool import NAME as LEVEL_TOOL
from echo_core.overlay import NO_OVERLAY, OverlayEntry, Told, overlay_json
from echo_core.ports import ShadowStore
from echo_core.prefix import PrefixBreak
from echo_prompts import PromptBook, PromptName
from echo_protocol import Backend, ModelInfo, ToolConversion, content_json, text_part
from echo_runtime.breaks import BREAKS
from echo_runtime.call import PipeCall
from echo_runtime.compaction import Frame
from echo_runtime.drafting import draft_of
from echo_runtime.history import Rebuilt
from echo_runtime.host_texts import host_texts
from echo_runtime.metering import context_stats
from echo_runtime.placeholders import _resolve_placeholders
from echo_runtime.pushing import Pushes
from echo_runtime.settings import Settings
from echo_runtime.templates import Instructions, Templates
from echo_runtime.told import SEALED_KEY, sealed_key
from echo_runtime.turn_context import Anchors
from echo_utils import dumps

#: What `##MODEL_ORIGIN##` stands for.
ORIGINS: Final[Mapping[Backend, str]] = {"ai_studio": "Google AI Studio", "code_assist": "Google Code Assist"}

#: Names the model that answers; filled in when it is told, because a turn may change its model.
MODEL_NOTE: Final = Artifact(id="AEC_modele", attributes={"model": "##MODEL_ID##", "origin": "##MODEL_ORIGIN##"})

#: The directives that are judged anew each turn, as they are named in `echo_prompts`.
DIRECTIVES: Final[tuple[PromptName, ...]] = ("init", "reminder")

#: Toggles of the chat bar that decide which tools there are. Source: Open WebUI 0.12.4, `features` of a request.
TOOL_FEATURES: Final = ("code_interpreter", "image_generation", "web_search")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """What is sent unchanged for the life of a chat.

    Args:
        system: serialised Content.
        locale: the language of ECHO's own prompt in it.
        echo: hash of that prompt.
        instructions: hash of the instructions in it.
        tools: serialised `tools`, "" for none.
        names: Open WebUI's tool name by declared name.
        declared: hash of each declaration by name.
        selection: what the user had selected, canonical.
        servers: the tool servers of the user's own browser that were there.
    """

    system: str
    locale: Locale
    echo: str
    instructions: str
    tools: str
    names: Mapping[str, str]
    declared: Mapping[str, str]
    selection: str
    servers: Sequence[str]

    @property
    def told(self) -> Told:
        """What the model knows from it."""
        return Told(
            echo=self.echo, instructions=self.instructions, tools=self.declared, selection=text_hash(self.selection)
        )

    def to_json(self) -> str:
        """As it is kept in `echo_settings`."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return dumps(fields | {"servers": list(self.servers)}).decode()

    @classmethod
    def from_json(cls, text: str) -> "Sealed":
        """Read `to_json`."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefed:
    """What a turn sends before and beside the conversation.

    Args:
        system: serialised `systemInstruction`, None for none.
        tools: serialised `tools`, None for none.
        names: Open WebUI's tool name by declared name, those included that cannot be called at present.
        overlay: what is told beside the question.
        before: what the model knew of what changes, None where it is not told which model answers.
        renewed: what has to be told again once everything before the question is left out; gets the overlay.
    """

    system: bytes | None
    tools: bytes | None
    names: Mapping[str, str]
    overlay: bytes
    before: Told | None = None
    renewed: Callable[[bytes], OverlayEntry] | None = field(default=None, compare=False)

    def naming(self, note: str) -> bytes:
        """The overlay entry that names a model; empty where none is to be named.

        Args:
            note: an `AEC_modele` artifact.
        """
        return NO_OVERLAY if self.before is None else overlay_json([model_entry(note, self.before)])


class Briefings:
    """Prepares what stands around a conversation.

    Args:
        templates: where the instructions come from.
        backend: where the model is.
        pushes: what waits for a user in all chats; None where nothing does.
    """

    def __init__(self, templates: Templates, backend: Backend, pushes: Pushes | None = None) -> None:
        self._templates = templates
        self._pushes = pushes
        self._origin = ORIGINS[backend]

    async def frame(self, call: PipeCall, store: ShadowStore, *, shared: bool) -> Frame:
        """What is sealed around a conversation, so that it can be weighed; empty before its first turn."""
        kept = await store.get_setting(sealed_key(call, shared=shared))
        if kept is None:
            return Frame()
        sealed = Sealed.from_json(kept)
        return Frame(system=sealed.system.encode(), tools=sealed.tools.encode())

    async def brief(
        self,
        call: PipeCall,
        store: ShadowStore,
        history: Rebuilt,
        tools: ToolConversion,
        model: ModelInfo,
        settings: Settings,
        recalled: Sequence[str] = (),
    ) -> Briefed:
        """The sealed prompt and tools of a chat, and what the model must be told since.

        Args:
            call: who asks, which model, with which selection of tools.
            store: the chat's records.
            history: its conversation.
            tools: what could be called now.
            model: what answers.
            settings: when the rules are recalled.
            recalled: serialised artifacts of what bears on the question.
        """
        tells = call.shared.tells_own
        instructions = await self._templates.collect(call, shared=history.shared)
        key = sealed_key(call, shared=history.shared)
        sealed, fresh = await _sealed_for(call, store, key, instructions, tools, shared=history.shared)
        aligned = now = self._now(call, history, sealed, instructions, tools)
        overlay, named = history.overlay, None
        if overlay is None:
            if tells:
                alignment = await self._alignment(call.prompts, sealed.locale, model, settings, store)
                aligned = replace(now, alignment=alignment.at(history.chain, opens=fresh))
            before = known(sealed.told, history.overlays, [*now.values, MODEL_VALUE])
            checkpoint = "" if history.epoch is None else history.epoch.id
            entry = replace(news(aligned, before, sealed.declared), checkpoint=checkpoint)
            draft = await self._own_draft(call, store, history, sealed.locale) if tells and not history.shared else None
            resolve = partial(_resolve_placeholders, model_id=model.id, model_origin=self._origin)
            build = partial(_overlay, entry, draft, resolve, sealed.locale, recalled)
            overlay = await EchoAEC(store).drain_pending_directives(_asking(call, history, takes=tells), build)
            named = before if tells else None
        return Briefed(
            system=sealed.system.encode() or None,
            tools=sealed.tools.encode() or None,
            names={**sealed.names, **tools.original_names},
            overlay=overlay,
            before=named,
            renewed=partial(_renewed, now, sealed),
        )

    async def _own_draft(self, call: PipeCall, store: ShadowStore, history: Rebuilt, locale: Locale) -> Draft | None:
        """What was prepared for the question; what waits for the user as a whole is brought into the chat before."""
        if self._pushes is not None:
            await self._pushes.fan_out(call.user_id, store, partial(_is_told, history.overlays, locale))
        return draft_of(call)

    def _now(
        self, call: PipeCall, history: Rebuilt, sealed: Sealed, instructions: Instructions, tools: ToolConversion
    ) -> Briefing:
        """What the model is to know; in a chat with several writers nothing that is one person's own."""
        shared = history.shared
        anchors = Anchors() if shared else call.shared.anchors
        echo = _pis(call.prompts, sealed.locale) if call.shared.tells_own else ""
        hosted = {} if shared else host_texts(call.body, call.metadata, instructions.shown)
        return replace(_briefing(echo, instructions, anchors, tools), hosted=hosted)

    def model_note(self, model: ModelInfo) -> str:
        """The artifact that names a model."""
        return _resolve_placeholders(MODEL_NOTE.xml(), model_id=model.id, model_origin=self._origin)

    async def _alignment(
        self, prompts: PromptBook, locale: Locale, model: ModelInfo, settings: Settings, store: ShadowStore
    ) -> Alignment:
        """The words that open a chat and recall its rules, and how full the chat is."""
        init, reminder = (
            _resolve_placeholders(prompts.text(name, locale), model_id=model.id, model_origin=self._origin)
            for name in DIRECTIVES
        )
        window_tokens = min(settings.max_context_tokens, model.window_tokens)
        return Alignment(
            init=init,
            reminder=reminder,
            fill_percent=100 * (await context_stats(store)).fill_tokens // window_tokens,
            every_turns=settings.reminder_turns,
            at_fill_percent=settings.reminder_fill_percent,
        )


def _asking(call: PipeCall, history: Rebuilt, *, takes: bool) -> Asking:
    return Asking(
        question_id=call.user_message_id or history.parent_hash,
        answer_id=call.message_id,
        model_id=_told_as(call, history),
        chain=history.chain,
        takes=takes,
    )


def _renewed(briefing: Briefing, sealed: Sealed, overlay: bytes) -> OverlayEntry:
    """What the model has to be told beside a question when nothing before it is sent."""
    return news(briefing, known(sealed.told, [overlay], list(briefing.values)), sealed.declared)


def _told_as(call: PipeCall, history: Rebuilt) -> str:
    """Under what the overlay of an answer is kept for the other answers to the same question by the same model.

    What a compaction leaves out has to be told again, so after one the overlay is another.
    """
    epoch = "" if history.epoch is None else f"@{history.epoch.id}"
    return sealed_key(call, shared=history.shared).removeprefix(SEALED_KEY) + epoch


def _briefing(echo: str, instructions: Instructions, anchors: Anchors, tools: ToolConversion) -> Briefing:
    return Briefing(
        echo=echo,
        echo_version=ECHO_VERSION,
        instructions=instructions.text,
        declarations={str(declared["name"]): declared for declared in tools.declarations},
        times={**instructions.times, **anchors.times},
        places={**instructions.places, **anchors.places},
        person=anchors.person,
    )


def _overlay(
    entry: OverlayEntry,
    draft: Draft | None,
    resolve: Callable[[str], str],
    locale: Locale,
    recalled: Sequence[str],
    drained: Sequence[Transient],
) -> bytes:
    """What is new, recalled and drained; directives are ECHO's own text, the others may quote somebody."""
    draft = draft or Draft()
    directives = (*draft.directives, *(t.payload for t in drained if t.type == "aec_directive"))
    shown = replace(
        entry,
        notes=(*entry.notes, *recalled),
        directives=tuple(map(resolve, directives)),
        events=(*draft.events, *(told(t, locale) for t in drained if t.type == "aec_event")),
    )
    return overlay_json([shown])


def _is_told(overlays: Sequence[bytes], locale: Locale, transient: Transient) -> bool:
    """Whether an answer on the chain was told something, whatever chat it was in."""
    text = dumps(told(transient, locale))
    return any(text in overlay for overlay in overlays)


def _pis(prompts: PromptBook, locale: Locale) -> str:
    return _resolve_placeholders(prompts.text("pis", locale))


def unsealed(call: PipeCall, instructions: str, tools: ToolConversion) -> Briefed:
    """What stands around a conversation that is no chat of Open WebUI's: as it comes, each time anew."""
    return Briefed(
        system=_system(_pis(call.prompts, call.locale) if call.shared.tells_own else "", instructions) or None,
        tools=tools.tools_json(),
        names=tools.original_names,
        overlay=NO_OVERLAY,
    )


def _system(echo: str, instructions: str) -> bytes:
    """ECHO's prompt and the instructions as serialised Content, b"" when both are empty."""
    text = "\n\n".join(words for words in (echo, instructions) if words)
    return content_json("user", [text_part(text)]) if text else b""


def _sealed(call: PipeCall, instructions: str, tools: ToolConversion) -> Sealed:
    locale = call.locale
    echo = _pis(call.prompts, locale) if call.shared.tells_own else ""
    sealed = Sealed(
        system=_system(echo, instructions).decode(),
        locale=locale,
        echo=text_hash(echo),
        instructions=text_hash(instructions),
        tools="",
        names={},
        declared={},
        selection="",
        servers=(),
    )
    return _with_tools(call, sealed, tools)


def _with_tools(call: PipeCall, sealed: Sealed, tools: ToolConversion) -> Sealed:
    return replace(
        sealed,
        tools=(tools.tools_json() or b"").decode(),
        names=dict(tools.original_names),
        declared=tool_hashes({str(declared["name"]): declared for declared in tools.declarations}),
        selection=_selection(call),
        servers=_servers(call),
    )


async def _sealed_for(
    call: PipeCall, store: ShadowStore, key: str, instructions: Instructions, tools: ToolConversion, *, shared: bool
) -> tuple[Sealed, bool]:
    """What is sealed for the chat, and whether that was done just now."""
    kept = await store.get_setting(key)
    fresh = kept is None
    if kept is None:
        kept = await store.claim_setting(key, _sealed(call, instructions.text, tools).to_json())
        if shared:
            BREAKS.note(PrefixBreak.SECOND_WRITER, call.chat_id)
    return await _with_selection(call, store, key, Sealed.from_json(kept), tools), fresh


async def _with_selection(
    call: PipeCall, store: ShadowStore, key: str, sealed: Sealed, tools: ToolConversion
) -> Sealed:
    """The sealed tools, sealed anew when the user selected others.

    Letting the model choose its level is a selection too; a tool server that does not answer is none. Without any
    declared tool Gemini refuses calls, so the first tools that a chat gets are declared as well.
    """
    others = sealed.selection != _selection(call) or not set(_servers(call)) <= set(sealed.servers)
    if others or (LEVEL_TOOL in tools.original_names and LEVEL_TOOL not in sealed.declared):
        reason = PrefixBreak.TOOL_SELECTION
    elif not sealed.tools and tools.declarations:
        reason = PrefixBreak.FIRST_TOOLS
    else:
        return sealed
    again = _with_tools(call, sealed, tools)
    if again.tools != sealed.tools:
        BREAKS.note(reason, call.chat_id)
    await store.save_setting(key, again.to_json())
    return again


def _selection(call: PipeCall) -> str:
    """What the user has selected, whether or not it answers."""
    features = call.metadata.get("features")
    on = features if isinstance(features, Mapping) else {}
    chosen = {
        "tools": sorted(str(tool_id) for tool_id in call.metadata.get("tool_ids") or ()),
        "features": [name for name in TOOL_FEATURES if on.get(name)],
        "terminal": call.metadata.get("terminal_id") or "",
    }
    return dumps(chosen).decode()


def _servers(call: PipeCall) -> tuple[str, ...]:
    """Tool servers that the user's browser reaches; one that is down is not sent, as if it were not selected."""
    servers: Any = call.metadata.get("tool_servers") or ()
    return tuple(sorted(str(s.get("id") or s.get("url") or "") for s in servers if isinstance(s, Mapping)))
