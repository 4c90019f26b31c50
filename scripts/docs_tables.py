"""Write the tables of docs/ that come from the code: error codes, valves, filter priorities, doctor's findings.

    python scripts/docs_tables.py            rewrite the tables
    python scripts/docs_tables.py --check    change nothing; exit 1 and show the difference if one is out of date

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. The text around it is written by hand.
"""

import dataclasses
import difflib
import importlib
import pkgutil
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIBS = ROOT / "libs"
if str(LIBS) not in sys.path:
    sys.path.insert(0, str(LIBS))

FUNCTION_FOLDERS = ("pipes", "filters", "actions", "events", "tools")
ENTRY_CLASSES = ("Pipe", "Filter", "Action", "Event", "Tools")
MARK = re.compile(r"(<!-- table: (?P<name>[a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)

Row = tuple[str, ...]


def import_everything() -> None:
    """Import each module of each lib, so that the whole error tree exists.

    Left out: `__main__` modules, which run a program, and modules that need a running Open WebUI. No error class
    stands in those; a test holds that.
    """
    sys.modules["open_webui"] = None  # type: ignore[assignment]
    for folder in sorted(LIBS.iterdir()):
        if (folder / "__init__.py").is_file():
            package = importlib.import_module(folder.name)
            for found in pkgutil.walk_packages(package.__path__, f"{folder.name}."):
                if not found.name.endswith(".__main__"):
                    _import_without_host(found.name)


def _import_without_host(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "open_webui":
            raise


def table(head: Row, rows: Iterable[Row]) -> str:
    """A Markdown table; cells are escaped."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def errors_table() -> str:
    """One line for each error class of the suite, by code."""
    import_everything()
    from echo_constants import error_classes

    classes = {cls for cls in error_classes() if cls.__module__.split(".")[0].startswith("echo_")}
    return table(
        ("Code", "Class", "Who can act", "Retry", "English", "Français"),
        (
            (
                f"`{cls.code}`",
                f"`{cls.__module__.split('.')[0]}.{cls.__name__}`",
                cls.audience,
                "yes" if cls.retryable else "no",
                f"{cls.message.en} {cls.remedy.en}",
                f"{cls.message.fr} {cls.remedy.fr}",
            )
            for cls in sorted(classes, key=lambda cls: (cls.code, cls.__name__))
        ),
    )


def function_files(*folders: str) -> list[Path]:
    """The function files of some folders, all without arguments."""
    return sorted(path for folder in folders or FUNCTION_FOLDERS for path in (ROOT / folder).glob("*.py"))


def entry_class(path: Path) -> Any:
    """The class by which Open WebUI knows a function file, from its text as Open WebUI executes it."""
    module = types.ModuleType(f"function_{path.stem}")
    sys.modules[module.__name__] = module  # pydantic looks there for the names in annotations
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)  # noqa: S102 - Open WebUI's way
    return next(getattr(module, name) for name in ENTRY_CLASSES if hasattr(module, name))


def valves_table() -> str:
    """A heading and a table for each function file that has valves."""
    parts: list[str] = []
    for path in function_files():
        cls = entry_class(path)
        rows = [
            (f"`{name}`", who, _type_name(field.annotation), f"`{field.default!r}`", field.description or "")
            for who, holder in (("admin", "Valves"), ("user", "UserValves"))
            for name, field in getattr(getattr(cls, holder, None), "model_fields", {}).items()
        ]
        if rows:
            parts.append(f"\n## {path.parent.name}/{path.name}\n\n")
            parts.append(table(("Valve", "Who sets it", "Type", "Default", "Meaning"), rows))
    return "".join(parts) + "\n"


def _type_name(annotation: Any) -> str:
    name = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return f"`{name.replace('typing.', '')}`"


def filters_table() -> str:
    """Filters in the order in which they run: by priority, then by id."""
    ranked = sorted(
        (entry_class(path).Valves.model_fields["priority"].default, path) for path in function_files("filters")
    )
    return table(
        ("Priority", "Filter", "What it does"),
        ((str(priority), f"`{path.name}`", _description(path)) for priority, path in ranked),
    )


def _description(path: Path) -> str:
    found = re.search(r"^description:\s*(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1) if found else ""


def tools_table() -> str:
    """Every tool of every toolkit, with the first sentence that the model reads."""
    rows: list[Row] = []
    for path in function_files("tools"):
        cls = entry_class(path)
        names = [name for name in dir(cls) if not name.startswith("_") and not isinstance(getattr(cls, name), type)]
        for name in names:
            told = (getattr(cls, name).__doc__ or "").strip().splitlines()[0]
            rows.append((f"`{path.stem}`", f"`{name}`", told))
    return table(("Toolkit", "Tool", "What the model reads first"), rows)


def diagnoses_table() -> str:
    """Everything that `echoctl doctor` can find, in the order of its checks."""
    from echo_cli._checks.registry import CHECKS

    return table(
        ("Check", "Code", "Severity", "English", "Français"),
        (
            (
                check.name,
                f"`{found.code}`",
                found.severity,
                f"{found.what.en} → {found.remedy.en}",
                f"{found.what.fr} → {found.remedy.fr}",
            )
            for check in CHECKS
            for found in check.diagnoses
        ),
    )


def breaks_table() -> str:
    """Everything that `echoctl verify` can find, by its kind."""
    from echo_cli._breaks import BREAKS

    return table(
        ("Kind", "English", "Français"),
        ((f"`{kind}`", words.en, words.fr) for kind, words in BREAKS.items()),
    )


def uctp_table() -> str:
    """Every event of a turn, and what its two readers get of it."""
    from echo_events import Renderer, ToolCalled, TurnEvent

    rows: list[Row] = []
    for cls in typing.get_args(TurnEvent):
        event = _sample(cls)
        page, api = Renderer.for_page("p"), Renderer.for_api(completion_id="c", created_s=0, model="m")
        page.render(_sample(ToolCalled))  # what follows a call is shown on its card
        fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(cls)) or "–"
        told = (cls.__doc__ or "").splitlines()[0]
        rows.append((f"`{cls.__name__}`", fields, told, _wires(page.render(event)), _wires(api.render(event))))
    return table(("Event", "Fields", "What happened", "The page gets", "A streaming API caller gets"), rows)


def _sample(cls: type) -> Any:
    """An instance of an event with something in every field that has no default."""
    hints = typing.get_type_hints(cls)
    needed = [f for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING]
    return cls(**{field.name: _value(hints[field.name]) for field in needed})


def _value(hint: Any) -> Any:
    if dataclasses.is_dataclass(hint):
        return _sample(typing.cast("type", hint))
    if typing.get_origin(hint) is tuple:
        return (_value(typing.get_args(hint)[0]),)
    if typing.get_origin(hint) is not None:
        return {}
    return hint("1") if hint in (str, int, float) else hint()


def _wires(wires: list[dict[str, Any]]) -> str:
    """What some wire objects are, in short."""
    kinds = [
        f"`{wire['type']}`" if "type" in wire
        else f"event `{wire['event']['type']}`" if "event" in wire
        else "`error`" if "error" in wire
        else "`usage`" if "usage" in wire
        else f"`{next((key for key in wire['choices'][0]['delta'] if key != 'role'), 'finish_reason')}`"
        for wire in wires
    ]  # fmt: skip
    return ", ".join(dict.fromkeys(kinds)) or "–"


def happenings_table() -> str:
    """Everything that can be told to the model between two messages."""
    from echo_events import HAPPENINGS

    return table(
        ("Name", "English", "Français"),
        ((f"`{name}`", words.en, words.fr) for name, words in HAPPENINGS.items()),
    )


TABLES: dict[str, Callable[[], str]] = {
    "errors": errors_table,
    "valves": valves_table,
    "filters": filters_table,
    "tools": tools_table,
    "diagnoses": diagnoses_table,
    "breaks": breaks_table,
    "uctp": uctp_table,
    "happenings": happenings_table,
}


def rendered(text: str) -> str:
    """A page with its tables as they should be."""
    return MARK.sub(lambda found: found.group(1) + TABLES[found.group("name")]() + found.group(3), text)


def main(check: bool) -> int:
    """Rewrite or check every page of docs/; gives the exit code."""
    stale = 0
    for page in sorted((ROOT / "docs").glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = rendered(before)
        if before == after:
            continue
        stale += 1
        if check:
            lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), page.name, "from the code")
            sys.stdout.writelines(lines)
        else:
            page.write_text(after, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
