"""What the toolkits work with, on the running server; light to import, since Open WebUI loads function files itself."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from echo_codex_git import Codex
    from echo_runtime.call import PipeCall
    from echo_runtime.document_desk import DocumentDesk
    from echo_runtime.document_index import DocumentIndex
    from echo_runtime.memory_desk import MemoryDesk
    from echo_runtime.memory_ground import MemoryGround
    from echo_skills import SkillLibrary

#: Ids of the toolkits that ECHO brings.
OWN_TOOLKITS: Final = ("echo_codex", "echo_documents", "echo_memory", "echo_search", "echo_skills", "echo_subagent")


#: Those of them that read and search what users attach.
_DOCUMENT_TOOLKITS: Final = ("echo_documents", "echo_search")

#: How a message that holds, or stands for, a document which tools can read spells that, as it is serialised.
#: Source: `echo_runtime.document_desk`, `preview_xml` and `whole_text`.
_READABLE: Final = (b'<artifact id=\\"AEC_smart_context\\"', b'query_table(id=\\"')


async def offered_toolkits(call: "PipeCall", questions: Iterable[bytes] = ()) -> Mapping[str, Any]:
    """ECHO's own toolkits where nobody selected them and they are needed, as `__tools__` has them; else {}.

    An API caller who chose no tools gets those that the called model preselects in the browser. A chat gets those for
    documents from its first document on, so that what was attached can be read; the chain decides, so that it stays
    so from turn to turn. Both with the caller's own rights: what an administrator takes out of somebody's reach is
    not offered here either.

    Args:
        call: who asks.
        questions: the serialised messages of the person who asks, where ECHO keeps the chat's records.
    """
    body = call.body
    # Whoever wants JSON is a program that reads it, and not every model mixes that with tools.
    chose = body.get("tools") or body.get("tool_choice") == "none" or body.get("response_format")
    if call.task or chose:
        return {}
    info = (call.metadata.get("model") or {}).get("info") or {}
    chosen = (info.get("meta") or {}).get("toolIds") or ()
    if call.is_api:
        ids = [] if call.tools else [identity for identity in OWN_TOOLKITS if identity in chosen]
    else:
        ids = list(_DOCUMENT_TOOLKITS) if any(map(_names_document, questions)) else []
    if not ids:
        return {}
    from echo_runtime._owui_tools import toolkit_entries

    return await toolkit_entries(call.request, ids, call.user, call.metadata)


def _names_document(question: bytes) -> bool:
    return any(mark in question for mark in _READABLE)


def skills() -> "SkillLibrary":
    """All skills: the users' own, those for everybody, and Open WebUI's."""
    from echo_runtime._owui_skills import OwuiSkills
    from echo_runtime.composition import services
    from echo_skills import SkillLibrary

    shared = services()
    return SkillLibrary(shared.paths, shared.clock, OwuiSkills())


def documents() -> "DocumentDesk":
    """The documents of all users; each use names its user."""
    from echo_runtime.composition import services

    return services().documents


def session_memory() -> "DocumentIndex":
    """What the chats of all users keep for search; each use names its user."""
    from echo_runtime.retrieval import document_index

    return document_index()


def memories() -> "MemoryDesk":
    """What is remembered of all users; each use names its user."""
    from echo_runtime.composition import services

    return services().memories


def memory_ground() -> "MemoryGround":
    """What memory may be used for, by chat."""
    from echo_runtime import _owui
    from echo_runtime.composition import services
    from echo_runtime.memory_ground import MemoryGround

    shared = services()
    return MemoryGround(shared.sessions, _owui.chat_owner, shared.clock)


def codex_of(valves: Any) -> "Codex":
    """The git workspaces, as far as the administrator lets them clone.

    Args:
        valves: of the toolkit: CLONE_HTTPS, CLONE_PRIVATE_HOSTS, CLONE_FOLDERS.
    """
    from echo_codex_git import Codex, RemotePolicy
    from echo_runtime.composition import services

    shared = services()
    folders = (part.strip() for part in str(valves.CLONE_FOLDERS).split(","))
    policy = RemotePolicy(
        https=bool(valves.CLONE_HTTPS),
        private_hosts=bool(valves.CLONE_PRIVATE_HOSTS),
        local_roots=tuple(Path(folder) for folder in folders if folder),
    )
    return Codex(shared.paths, shared.clock, policy=policy)
