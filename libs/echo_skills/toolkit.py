"""Skills as tools. Each docstring is what the model reads; every public method is a tool."""

from collections.abc import Callable
from typing import Any

from echo_codex_git.answers import answer
from echo_skills.document import SKILL_FILE, SkillDocument
from echo_skills.library import SkillLibrary
from echo_skills.space import SkillDraft

Given = dict[str, Any] | None


class SkillToolkit:
    """Skills for the model, as whoever asks may see them.

    Args:
        library: gives the skills of the running server; called for each use.
    """

    def __init__(self, library: Callable[[], SkillLibrary]) -> None:
        self._library = library

    async def search_skill(self, query: str = "", __user__: Given = None, __metadata__: Given = None) -> Any:
        """Find skills: written ways of doing a task. Look here before a task that one may cover, then use read_skill.

        :param query: words for the task; empty lists all
        """
        return await answer(self._library().search(__user__ or {"id": ""}, query), __metadata__)

    async def read_skill(
        self,
        name: str,
        file: str = SKILL_FILE,
        offset: int = 0,
        source: str = "",
        __user__: Given = None,
        __metadata__: Given = None,
    ) -> Any:
        """Read a skill's instructions, then follow them. They name the skill's other files, which are read alike.

        :param name: as search_skill gives it
        :param file: one of the skill's files
        :param offset: first character, to read on in a long file
        :param source: user, shared or open-webui, when several skills have this name
        """
        work = self._library().read(__user__ or {"id": ""}, name, path=file, offset=offset, source=source)
        return await answer(work, __metadata__)

    async def forge_skill(
        self,
        name: str,
        description: str,
        instructions: str,
        files: dict[str, str] | None = None,
        remove_files: list[str] | None = None,
        allowed_tools: list[str] | None = None,
        update: bool = False,
        for_everybody: bool = False,
        __user__: Given = None,
        __metadata__: Given = None,
    ) -> Any:
        """Write a skill, so that a way of working is kept for later chats, or improve one. Every version is kept.

        :param name: lower-case letters, digits and single hyphens, such as weekly-report
        :param description: what it does and when to use it, with the words somebody would search by; 1024 characters
        :param instructions: Markdown: the steps, what to mind, examples; name the other files here
        :param files: further text files, path to content, such as {"references/format.md": "..."}
        :param remove_files: paths of files that an update removes
        :param allowed_tools: names of the tools that it needs
        :param update: true to change a skill that exists
        :param for_everybody: true for all users; administrators only
        """

        async def work() -> Any:
            document = SkillDocument(
                name=name, description=description, body=instructions, allowed_tools=tuple(allowed_tools or ())
            )
            draft = SkillDraft(document=document, files=files or {}, removed=remove_files or (), update=update)
            return await self._library().forge(__user__ or {"id": ""}, draft, shared=for_everybody)

        return await answer(work(), __metadata__)
