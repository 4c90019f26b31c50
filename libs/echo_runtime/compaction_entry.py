"""What the action imports: light, because Open WebUI loads it on its event loop."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from echo_constants import Bilingual, EchoError, Locale
from echo_runtime import _owui
from echo_runtime.call import Emitter, PipeCall, request_locale
from echo_runtime.compaction_told import compacted_text
from echo_runtime.loading import orchestrator

if TYPE_CHECKING:
    from echo_core.compaction_checkpoint import Checkpoint

log = logging.getLogger(__name__)

ASK: Final = Bilingual(
    en="What shall ECHO do with this conversation?", fr="Que doit faire ECHO de cette conversation ?"
)
CHOICES: Final[Mapping[str, Bilingual]] = {
    "compact": Bilingual(en="Condense it now", fr="La condenser maintenant"),
    "show": Bilingual(en="Show and edit what was condensed", fr="Voir et modifier ce qui est condensé"),
    "pin": Bilingual(en="Pin this answer word for word", fr="Épingler cette réponse mot à mot"),
    "unpin": Bilingual(en="Unpin this answer", fr="Détacher cette réponse"),
    "undo": Bilingual(en="Undo the last condensing", fr="Annuler la dernière condensation"),
}
EDIT: Final = Bilingual(
    en="This stands for the beginning of the conversation. What you change here, the model reads.",
    fr="Ceci remplace le début de la conversation. Le modèle lira ce que vous y changez.",
)
SECTION_NAMES: Final[Mapping[str, Bilingual]] = {
    "goal": Bilingual(en="Goal", fr="But"),
    "constraints": Bilingual(en="Constraints", fr="Contraintes"),
    "decisions": Bilingual(en="Decisions", fr="Décisions"),
    "facts": Bilingual(en="Facts", fr="Faits"),
    "artefacts": Bilingual(en="Artefacts", fr="Artefacts"),
    "open_tasks": Bilingual(en="Open tasks", fr="Tâches ouvertes"),
    "user_words": Bilingual(en="Your words", fr="Vos mots"),
    "note": Bilingual(en="Note", fr="Note"),
}
NOTHING: Final = Bilingual(en="There is nothing to condense yet.", fr="Il n'y a encore rien à condenser.")
NOT_CONDENSED: Final = Bilingual(en="This conversation is sent whole.", fr="Cette conversation est envoyée en entier.")
EDITED: Final = Bilingual(en="Your version is used from now on.", fr="Votre version est désormais utilisée.")
PINNED: Final = Bilingual(en="Pinned: {count}.", fr="Épinglés : {count}.")
UNDONE: Final = Bilingual(
    en="Undone: the whole conversation is sent again.", fr="Annulé : la conversation est de nouveau envoyée en entier."
)


async def act(
    body: Mapping[str, Any], user: Mapping[str, Any], emit: Emitter | None, ask: Emitter | None, request: Any
) -> None:
    """Let the user choose what is done about a chat, do it, and say so; never raises.

    Args:
        body: of Open WebUI's action: `chat_id`, and as `id` the answer under which the button stands.
        user: who pressed it.
        emit: shows a status line.
        ask: opens a form in the page; without one the chat is condensed.
        request: Open WebUI's.
    """
    locale = request_locale({}, request)
    try:
        choice = await _choice(ask, locale)
        told = await _do(choice, body, user, ask, request, locale) if choice else ""
    except EchoError as error:
        told = error.user_message(locale)
    except Exception:
        log.exception("the action failed")
        raise
    if told and emit is not None:
        await emit({"type": "status", "data": {"description": told, "done": True}})


async def _choice(ask: Emitter | None, locale: Locale) -> str:
    """What the user wants, "" for nothing."""
    if ask is None:
        return "compact"
    labels = {text.render(locale): name for name, text in CHOICES.items()}
    field = {"type": "string", "title": "ECHO", "enum": list(labels), "default": next(iter(labels))}
    schema = {"type": "object", "properties": {"choice": field}, "required": ["choice"]}
    filled = await _form(ask, ASK.render(locale), schema)
    return "compact" if filled is None else labels.get(str(filled.get("choice") or ""), "")


async def _form(ask: Emitter, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What was filled in, {} when the form was closed, None where no page could show it.

    Source: Open WebUI 0.12.4, event `request:elicitation`; it answers `{"error": …}` without a page.
    """
    data = {"server_name": "ECHO", "message": message, "mode": "form", "requestedSchema": schema}
    answer = await ask({"type": "request:elicitation", "data": data})
    if not isinstance(answer, Mapping) or "action" not in answer:
        return None
    content = answer.get("content") if answer["action"] == "accept" else None
    return content if isinstance(content, Mapping) else {}


async def _do(
    choice: str, body: Mapping[str, Any], user: Mapping[str, Any], ask: Emitter | None, request: Any, locale: Locale
) -> str:
    """Do it; what is told."""
    from echo_runtime.compaction_desk import desk

    chat_id, message_id = str(body.get("chat_id") or ""), str(body.get("id") or "")
    user_id = str(user.get("id") or "")
    if choice == "compact":
        return await _compact(chat_id, message_id, user, request, locale)
    if choice == "show":
        return await _show(chat_id, message_id, user_id, ask, locale)
    if choice == "undo":
        await desk().undo(chat_id, user_id, message_id)
        return UNDONE.render(locale)
    pins = await desk().pin(chat_id, user_id, message_id, pinned=choice == "pin")
    return PINNED.render(locale, count=len(pins))


async def _compact(chat_id: str, message_id: str, user: Mapping[str, Any], request: Any, locale: Locale) -> str:
    call = PipeCall(
        body={"messages": []},
        user={key: value for key, value in user.items() if key != "valves"},
        metadata={"chat_id": chat_id, "user_message_id": message_id},
        valves=await _owui.pipe_valves(request),
        tools={},
        request=request,
    )
    epoch = await (await orchestrator()).compact_now(call)
    if epoch is None:
        return NOTHING.render(locale)
    return compacted_text(epoch.tokens_before, epoch.tokens_after, locale)


async def _show(chat_id: str, message_id: str, user_id: str, ask: Emitter | None, locale: Locale) -> str:
    from echo_runtime.compaction_desk import desk

    view = await desk().view(chat_id, user_id, message_id)
    if view is None or view.epoch is None or view.checkpoint is None or ask is None:
        return NOT_CONDENSED.render(locale)
    lines = _lines(view.checkpoint, locale)
    fields = {str(n): {"type": "string", "title": name, "default": line} for n, (name, line) in enumerate(lines)}
    filled = await _form(ask, EDIT.render(locale), {"type": "object", "properties": fields}) or {}
    changed = [(name, str(filled.get(str(n)) or "").strip()) for n, (name, _) in enumerate(lines)]
    if changed == lines or not any(line for _, line in changed):
        return ""
    note = SECTION_NAMES["note"].render(locale)
    text = "\n".join(line if name == note else f"{name}: {line}" for name, line in changed if line)
    await desk().edit(chat_id, user_id, view.epoch.checkpoint_id, text)
    return EDITED.render(locale)


def _lines(checkpoint: "Checkpoint", locale: Locale) -> list[tuple[str, str]]:
    """A checkpoint as (section, line of text), since a field of Open WebUI's form holds one line."""
    return [
        (SECTION_NAMES[name].render(locale), line)
        for name, text in checkpoint.lines()
        for part in text.splitlines()
        if (line := part.strip())
    ]
