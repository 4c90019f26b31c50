"""An administrator's own prompts: shown, tried, put in place of the shipped ones, taken back.

ConfigError
└── NoSuchVersionError   a prompt has no version of that number
"""

import difflib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from echo_constants import Bilingual, ConfigError, StateError
from echo_prompts import (
    PROMPT_NAMES,
    SHIPPED,
    PromptBook,
    PromptKey,
    PromptName,
    UnknownPromptError,
    check_text,
    locales_of,
    prompt_key,
    shipped,
)
from echo_runtime.placeholders import _resolve_placeholders
from echo_state_manager.prompts import PromptStore, PromptVersion

log = logging.getLogger(__name__)

#: What the placeholders of a preview stand for, since no model is asked.
_EXAMPLE_MODEL = ("gemini-…", "Google AI Studio")


class NoSuchVersionError(ConfigError):
    """A prompt has no version of that number; nothing was changed."""

    code = "prompt_version_unknown"
    audience = "admin"
    api_status = 404
    message = Bilingual(
        en="This prompt has no such version. Nothing was changed.",
        fr="Ce prompt n'a pas de telle version. Rien n'a été modifié.",
    )
    remedy = Bilingual(
        en="Look at its versions first; 0 is the shipped text.",
        fr="Consultez d'abord ses versions ; 0 est le texte livré.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptState:
    """How one prompt stands.

    Args:
        text: that holds now.
        version: the administrator's version that holds, 0 for the shipped text.
        shipped_version: of the text that ECHO ships.
        outdated: whether ECHO ships another text than the one that the administrator's was made from.
    """

    name: PromptName
    locale: str
    text: str
    version: int
    shipped_version: int
    outdated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPreview:
    """What a text would be.

    Args:
        text: as the model would read it, placeholders filled in by examples.
        diff: unified, from the text that holds; "" when it is the same.
    """

    text: str
    diff: str


class PromptDesk:
    """Reads and changes the prompts of the instance.

    Args:
        store: keeps the versions.
    """

    def __init__(self, store: PromptStore) -> None:
        self._store = store

    async def book(self) -> PromptBook:
        """The texts that hold; the shipped ones where those of an administrator cannot be read, told in the log."""
        try:
            current = await self._store.current()
        except StateError:
            log.exception("the administrator's prompts cannot be read; the shipped ones hold")
            return SHIPPED
        overrides = {key: version.text for key, version in _known(current) if version.text is not None}
        return PromptBook(overrides) if overrides else SHIPPED

    async def states(self) -> list[PromptState]:
        """How each prompt stands, in each language."""
        current = dict(_known(await self._store.current()))
        return [
            _state((name, locale), current.get((name, locale))) for name in PROMPT_NAMES for locale in locales_of(name)
        ]

    async def state(self, name: str, locale: str) -> PromptState:
        """How one prompt stands. Raises UnknownPromptError."""
        key = prompt_key(name, locale)
        versions = await self._store.history(*key)
        return _state(key, versions[-1] if versions else None)

    async def history(self, name: str, locale: str) -> list[PromptVersion]:
        """The administrator's versions of one prompt, oldest first. Raises UnknownPromptError."""
        return await self._store.history(*prompt_key(name, locale))

    async def preview(self, name: str, locale: str, text: str) -> PromptPreview:
        """What a text would be; nothing is changed. Raises as `put`."""
        key = prompt_key(name, locale)
        words = check_text(key, text)
        before = (await self.state(name, locale)).text
        lines = difflib.unified_diff(before.splitlines(), words.splitlines(), "now", "then", lineterm="")
        model_id, origin = _EXAMPLE_MODEL
        filled = words if name == "pis" else _resolve_placeholders(words, model_id=model_id, model_origin=origin)
        return PromptPreview(text=_resolve_placeholders(filled), diff="\n".join(lines))

    async def put(self, name: str, locale: str, text: str, author: str) -> PromptState:
        """Put a text in place of the one that holds.

        Raises:
            UnknownPromptError: there is no such prompt.
            PromptRefusedError: the text would not work.
        """
        key = prompt_key(name, locale)
        return await self._keep(key, check_text(key, text), author)

    async def roll_back(self, name: str, locale: str, version: int, author: str) -> PromptState:
        """Let an earlier version hold again, as a new one; 0 is the shipped text.

        Raises:
            UnknownPromptError: there is no such prompt.
            NoSuchVersionError: it has no such version.
        """
        key = prompt_key(name, locale)
        texts = {kept.version: kept.text for kept in await self._store.history(*key)} | {0: None}
        if version not in texts:
            raise NoSuchVersionError(f"{name}.{locale} {version}")
        return await self._keep(key, texts[version], author)

    async def aclose(self) -> None:
        """Close the file; the next use opens it again."""
        await self._store.close()

    async def _keep(self, key: PromptKey, text: str | None, author: str) -> PromptState:
        kept = await self._store.put(*key, text, based_on=shipped(*key).version, author=author)
        return _state(key, kept)


def _known(versions: Sequence[PromptVersion]) -> list[tuple[PromptKey, PromptVersion]]:
    """Those whose prompt there is in this release."""
    found: list[tuple[PromptKey, PromptVersion]] = []
    for version in versions:
        try:
            found.append((prompt_key(version.name, version.locale), version))
        except UnknownPromptError:
            log.info("this release has no prompt %s.%s", version.name, version.locale)
    return found


def _state(key: PromptKey, kept: PromptVersion | None) -> PromptState:
    own = kept is not None and kept.text is not None
    return PromptState(
        name=key[0],
        locale=key[1],
        text=kept.text if kept is not None and kept.text is not None else shipped(*key).text,
        version=kept.version if kept is not None and own else 0,
        shipped_version=shipped(*key).version,
        outdated=kept is not None and own and kept.based_on != shipped(*key).version,
    )
