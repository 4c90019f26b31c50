"""What the toolkits work with, on the running server; light to import, since Open WebUI loads function files itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from echo_codex_git import Codex
    from echo_skills import SkillLibrary


def skills() -> "SkillLibrary":
    """All skills: the users' own, those for everybody, and Open WebUI's."""
    from echo_runtime._owui_skills import OwuiSkills
    from echo_runtime.composition import services
    from echo_skills import SkillLibrary

    shared = services()
    return SkillLibrary(shared.paths, shared.clock, OwuiSkills())


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
