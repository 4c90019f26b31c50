"""Splits a request behind its last large file, so that Google can keep the beginning ready. Pure."""

import json
from dataclasses import dataclass
from typing import Any, Final

from echo_protocol.attached import VAULT_SCHEME
from echo_utils import dumps

#: What belongs to the beginning beside contents; a request that uses a cache must not have them.
#: Source: Google's 400 text, "CachedContent can not be used with GenerateContent request setting system_instruction,
#: tools or tool_config".
_HELD: Final = ("systemInstruction", "tools", "toolConfig")


@dataclass(frozen=True, slots=True)
class CacheSplit:
    """A request in two.

    Args:
        beginning: what is cached, serialised: contents up to the last large file, instruction, tools.
        rest: the decoded remainder.
    """

    beginning: bytes
    rest: dict[str, Any]

    def request(self, name: str) -> bytes:
        """The request that uses a cache of the beginning."""
        return dumps({"cachedContent": name, **self.rest})

    def cached_content(self, model: str, ttl_s: float) -> bytes:
        """The CachedContent to be made: the beginning, byte for byte, with its model and its life."""
        head = dumps({"model": f"models/{model}", "ttl": f"{ttl_s:.0f}s"})
        return head[:-1] + b"," + self.beginning[1:]


def split_for_cache(body: bytes) -> CacheSplit | None:
    """A request split behind the last large file of an earlier message.

    None where there is nothing to split: no such file, nothing said since (a single question pays for no cache), or
    calls that are forced or forbidden, which a cache cannot say.
    """
    request: dict[str, Any] = json.loads(body)
    contents = request.get("contents") or []
    last = max((at for at, content in enumerate(contents) if _names_a_file(content)), default=None)
    forced = "functionCallingConfig" in (request.get("toolConfig") or {})
    if last is None or last + 1 >= len(contents) or forced:
        return None
    held = {name: request.pop(name) for name in _HELD if name in request}
    request["contents"] = contents[last + 1 :]
    return CacheSplit(dumps({**held, "contents": contents[: last + 1]}), request)


def _names_a_file(content: dict[str, Any]) -> bool:
    files = (part.get("fileData") for part in content.get("parts") or ())
    return any(str((file or {}).get("fileUri") or "").startswith(VAULT_SCHEME) for file in files)
