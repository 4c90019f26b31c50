"""Every tool of one call, merged without duplicates: what is declared, who runs it, and what had to be left out."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from echo_constants import Bilingual
from echo_core.ports import ShadowStore
from echo_runtime.call import PipeCall
from echo_runtime.own_tools import READ_TOOL_OUTPUT, read_tool_output_entry

Entry = Mapping[str, Any]

_NOT_RUNNABLE: Final = Bilingual(
    en="it comes without code that could run it.", fr="il est fourni sans code qui permette de l'exécuter."
)
_NO_BROWSER: Final = Bilingual(
    en="it runs in the browser, and no browser is connected.",
    fr="il s'exécute dans le navigateur, et aucun navigateur n'est connecté.",
)
_TAKEN: Final = Bilingual(
    en="another tool has the same name; that one is used.", fr="un autre outil porte le même nom ; c'est lui qui sert."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """The tools of one call.

    Args:
        specs: what is declared to the model, in Open WebUI's form.
        runnable: what ECHO runs, by name: entries of `__tools__` and its own.
        handed_over: names of the tools that the API caller declared and runs itself.
        left_out: (name, why) of those that cannot be offered.
    """

    specs: tuple[Entry, ...] = ()
    runnable: Mapping[str, Entry] = field(default_factory=dict)
    handed_over: frozenset[str] = frozenset()
    left_out: tuple[tuple[str, Bilingual], ...] = ()


def tools_of(
    call: PipeCall,
    store: ShadowStore | None,
    extra: Mapping[str, Entry] | None = None,
    chain: Collection[str] = (),
) -> Toolset:
    """Merge the sources: `__tools__` in its three forms, the body's specs, ECHO's own.

    `__tools__` is a dict of callables, a list of bare specs, or empty. What the body declares beyond it is the API
    caller's own, to be run by the caller; in a chat nobody could run it. `read_tool_output` comes with the first tool
    that ECHO runs where results are kept: declared from the start, so that the declarations of a chat never change
    because a result was cut.

    Args:
        call: where the tools come from.
        store: where long results are kept, None where nothing is.
        extra: more tools that ECHO runs, by name; those of `__tools__` come first.
        chain: ids of the messages whose results may have been put aside.
    """
    entries, listed = _forms(call.tools)
    entries = {**(extra or {}), **entries}
    runnable: dict[str, Entry] = {}
    left_out: list[tuple[str, Bilingual]] = []
    specs: list[Entry] = []
    callers = dict(_declared_by_caller(call, entries)) if call.is_api else {}
    for name, entry in entries.items():
        why = _TAKEN if name in callers else _hindrance(call, entry)
        if why is not None:
            left_out.append((name, why))
            continue
        runnable[name] = entry
        specs.append({**entry["spec"], "name": name})
    if runnable and store is not None:
        if READ_TOOL_OUTPUT in runnable:
            left_out.append((READ_TOOL_OUTPUT, _TAKEN))
            specs = [spec for spec in specs if spec["name"] != READ_TOOL_OUTPUT]
        runnable[READ_TOOL_OUTPUT] = own = read_tool_output_entry(store, call.user_id, chain)
        specs.append(own["spec"])
    if not call.is_api:
        native = {name for name, _ in _specs_in([entry.get("spec") for entry in entries.values()])}
        bare = {name for name, _ in _specs_in([*listed, *_body_tools(call)])} - entries.keys() - native
        left_out += [(name, _NOT_RUNNABLE) for name in sorted(bare)]
    return Toolset(
        specs=(*specs, *callers.values()),
        runnable=runnable,
        handed_over=frozenset(callers),
        left_out=tuple(left_out),
    )


def _forms(tools: Any) -> tuple[dict[str, Entry], list[Any]]:
    """`__tools__` as entries by name, and as bare specs."""
    if isinstance(tools, Mapping):
        return {str(name): entry if isinstance(entry, Mapping) else {} for name, entry in tools.items()}, []
    return {}, list(tools) if isinstance(tools, list | tuple) else []


def _hindrance(call: PipeCall, entry: Entry) -> Bilingual | None:
    if not isinstance(entry.get("spec"), Mapping):
        return _NOT_RUNNABLE
    if entry.get("direct"):
        return None if call.event_call is not None and call.speaks_responses else _NO_BROWSER
    return None if callable(entry.get("callable")) else _NOT_RUNNABLE


def _declared_by_caller(call: PipeCall, entries: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
    """The body's specs that are not Open WebUI's: it puts its own beside the caller's.

    A spec under the name of one of Open WebUI's tools is the caller's when it says something else.
    """
    for name, spec in _specs_in(_body_tools(call)):
        native = entries.get(name, {}).get("spec")
        if native is None or {**native, "name": name} != spec:
            yield name, spec


def _body_tools(call: PipeCall) -> list[Any]:
    declared = call.body.get("tools")
    return declared if isinstance(declared, list) else []


def _specs_in(items: list[Any]) -> Iterator[tuple[str, Entry]]:
    for item in items:
        function = item.get("function", item) if isinstance(item, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(function, Mapping) and isinstance(name, str) and name:
            yield name, function
