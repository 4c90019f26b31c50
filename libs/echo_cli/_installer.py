"""Installs ECHO into a running Open WebUI through its API, and takes it out again.

Installing is idempotent and resumable. What belongs to the administrator is read first and kept: valve values,
switched-off functions, who may use the model, its name and picture.

A function is created inactive and marked `"state": "installing"`, then switched on, then marked `"installed"`.
So a run that was cut off is finished by the next one, and a function that somebody switched off stays off.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from echo_cli._functions import FunctionFile
from echo_cli._model_record import ECHO_MODEL_ID, FRENCH, new_record, with_requirements
from echo_cli._owui_api import OwuiApi
from echo_constants import ECHO_VERSION, Bilingual, ConfigError
from echo_runtime.bundle_setup import MARK

Action = Literal["created", "updated", "finished", "enabled", "valves_set", "retired", "removed", "unchanged"]


class ForeignFunctionError(ConfigError):
    """The id is taken by something that is not ECHO's."""

    code: ClassVar[str] = "foreign_function"
    message: ClassVar[Bilingual] = Bilingual(
        en="Open WebUI already has a {kind} with the id {id} that is not part of ECHO.",
        fr="Open WebUI a déjà un élément ({kind}) d'identifiant {id} qui ne fait pas partie d'ECHO.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Rename or delete it in the admin panel, then install again.",
        fr="Renommez-le ou supprimez-le dans le panneau d'administration, puis réinstallez.",
    )


class PipeNotLoadedError(ConfigError):
    """Everything is stored, but Open WebUI does not offer the model."""

    code: ClassVar[str] = "pipe_not_loaded"
    message: ClassVar[Bilingual] = Bilingual(
        en="ECHO is installed, but Open WebUI does not list the model {id}.",
        fr="ECHO est installé, mais Open WebUI ne propose pas le modèle {id}.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Install the package echo-owui into the Python that runs Open WebUI, restart it, and switch the pipe on.",
        fr="Installez le paquet echo-owui dans le Python d'Open WebUI, redémarrez-le et activez le pipe.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happened to one function, toolkit or model record."""

    kind: str
    id: str
    action: Action


@dataclass(slots=True, kw_only=True)
class Report:
    """What an install or uninstall did, in order."""

    changes: list[Change] = field(default_factory=list)
    switched_off: list[str] = field(default_factory=list)

    def add(self, kind: str, identity: str, action: Action) -> None:
        """Note one outcome."""
        self.changes.append(Change(kind=kind, id=identity, action=action))

    @property
    def changed(self) -> bool:
        """False when Open WebUI was already as it should be."""
        return any(change.action != "unchanged" for change in self.changes)


def function_form(function: FunctionFile, state: Literal["installing", "installed"]) -> dict[str, Any]:
    """The function in the form that Open WebUI's `/create` and `/update` take."""
    mark = {"version": ECHO_VERSION, "sha256": function.digest, "state": state}
    french = {"name": function.title.fr, "description": function.description.fr}
    return {
        "id": function.id,
        "name": function.title.en,
        "content": function.source,
        "meta": {
            "description": function.description.en,
            "i18n": dict.fromkeys(FRENCH, french),
            "manifest": {},
            MARK: mark,
        },
    }


class Installer:
    """Brings one Open WebUI to the state that the function files describe.

    Args:
        api: signed in as an administrator.
        functions: the function files; one of them is the pipe.
    """

    def __init__(self, api: OwuiApi, functions: Sequence[FunctionFile]) -> None:
        self._api = api
        self._functions = functions

    def install(self, *, valves: Mapping[str, Any] | None = None, enable: bool = False) -> Report:
        """Create or update everything.

        Args:
            valves: values for the pipe's valves; only those that are not set yet are written.
            enable: switch on functions that somebody switched off.

        Raises:
            ForeignFunctionError: an id is taken; nothing has been changed then.
            PipeNotLoadedError: Open WebUI does not offer the model afterwards.
            OwuiAnswerError: Open WebUI refused a step; running again continues.
        """
        stored = self._stored()
        for function in self._functions:
            _require_ours(function, stored.get((_table(function.kind), function.id)))
        report = Report()
        for function in self._functions:
            present = stored.get((_table(function.kind), function.id))
            if function.kind == "tool":
                self._put_tool(function, present, report)
            else:
                self._put_function(function, present, report, enable=enable)
        self._retire(stored, report)
        if valves:
            self._set_valves(valves, report)
        self._put_model(report)
        self._require_visible(report)
        return report

    def uninstall(self) -> Report:
        """Remove everything that carries ECHO's mark or one of its ids; running twice is harmless."""
        report = Report()
        ours = {(_table(function.kind), function.id): function for function in self._functions}
        if self._find_model() is not None:
            self._api.post("/api/v1/models/model/delete", {"id": ECHO_MODEL_ID})
            report.add("model", ECHO_MODEL_ID, "removed")
        for (table, identity), present in self._stored().items():
            function = ours.get((table, identity))
            if _mark(present) or (function and _is_ours(function, present)):
                self._api.delete(f"/api/v1/{table}/id/{identity}/delete")
                report.add(str(present.get("type", "tool")), identity, "removed")
        return report

    def _stored(self) -> dict[tuple[str, str], dict[str, Any]]:
        functions: Iterable[dict[str, Any]] = self._api.get("/api/v1/functions/export")
        tools: Iterable[dict[str, Any]] = self._api.get("/api/v1/tools/export")
        return {("functions", str(item["id"])): item for item in functions} | {
            ("tools", str(item["id"])): item for item in tools
        }

    def _put_function(
        self, function: FunctionFile, present: dict[str, Any] | None, report: Report, *, enable: bool
    ) -> None:
        path = f"/api/v1/functions/id/{function.id}"
        if present is None:
            present = self._api.post("/api/v1/functions/create", function_form(function, "installing"))
            self._switch_on(function, present, everything=True)
            self._api.post(f"{path}/update", function_form(function, "installed"))
            report.add(function.kind, function.id, "created")
            return
        cut_off = _mark(present).get("state") == "installing"
        same = present["content"] == function.source and _mark(present).get("sha256") == function.digest
        switched = self._switch_on(function, present, everything=cut_off) if cut_off or enable else False
        if not same or cut_off:
            self._api.post(f"{path}/update", function_form(function, "installed"))
        if not present["is_active"] and not cut_off and not enable:
            report.switched_off.append(function.id)
        report.add(function.kind, function.id, _action(same=same, cut_off=cut_off, switched=switched))

    def _switch_on(self, function: FunctionFile, present: Mapping[str, Any], *, everything: bool) -> bool:
        """The routes toggle, so the state is read first. True when something was switched."""
        path = f"/api/v1/functions/id/{function.id}"
        switched = False
        if function.scope == "global" and not present["is_global"] and everything:
            self._api.post(f"{path}/toggle/global")
            switched = True
        if not present["is_active"]:
            self._api.post(f"{path}/toggle")
            switched = True
        return switched

    def _put_tool(self, function: FunctionFile, present: dict[str, Any] | None, report: Report) -> None:
        form = function_form(function, "installed")
        if present is None:
            grants = [{"principal_type": "user", "principal_id": "*", "permission": "read"}]
            self._api.post("/api/v1/tools/create", {**form, "access_grants": grants})
            report.add("tool", function.id, "created")
        elif present["content"] != function.source or _mark(present).get("sha256") != function.digest:
            self._api.post(f"/api/v1/tools/id/{function.id}/update", form)
            report.add("tool", function.id, "updated")
        else:
            report.add("tool", function.id, "unchanged")

    def _retire(self, stored: Mapping[tuple[str, str], dict[str, Any]], report: Report) -> None:
        """Remove functions that an earlier version of ECHO installed and this one does not have."""
        wanted = {(_table(function.kind), function.id) for function in self._functions}
        for (table, identity), present in stored.items():
            if (table, identity) not in wanted and _mark(present):
                self._api.delete(f"/api/v1/{table}/id/{identity}/delete")
                report.add(str(present.get("type", "tool")), identity, "retired")

    def _set_valves(self, valves: Mapping[str, Any], report: Report) -> None:
        for function in self._functions:
            if function.kind != "pipe":
                continue
            path = f"/api/v1/functions/id/{function.id}/valves"
            current: dict[str, Any] = self._api.get(path) or {}
            missing = {key: value for key, value in valves.items() if key not in current}
            if missing:
                self._api.post(f"{path}/update", {**current, **missing})
                report.add("pipe", function.id, "valves_set")

    def _find_model(self) -> dict[str, Any] | None:
        records: list[dict[str, Any]] = self._api.get("/api/v1/models/base")
        return next((record for record in records if record["id"] == ECHO_MODEL_ID), None)

    def _put_model(self, report: Report) -> None:
        by_kind = {
            kind: [f.id for f in self._functions if f.kind == kind and f.scope == "model"]
            for kind in ("action", "filter", "tool")
        }
        ids = {f"{kind}_ids": found for kind, found in by_kind.items()}
        record = self._find_model()
        if record is None:
            self._api.post("/api/v1/models/create", new_record(**ids))
            report.add("model", ECHO_MODEL_ID, "created")
            return
        gone = {change.id for change in report.changes if change.action == "retired"}
        wanted = with_requirements(record, **ids, gone=gone)
        if wanted == record:
            report.add("model", ECHO_MODEL_ID, "unchanged")
            return
        del wanted["access_grants"]  # absent = Open WebUI leaves them alone
        self._api.post("/api/v1/models/model/update", wanted, id=ECHO_MODEL_ID)
        report.add("model", ECHO_MODEL_ID, "updated")

    def _require_visible(self, report: Report) -> None:
        if any(f.kind == "pipe" and f.id in report.switched_off for f in self._functions):
            return  # an administrator switched the pipe off; the report says so
        offered = {str(model["id"]) for model in self._api.get("/api/models", refresh="true")["data"]}
        if ECHO_MODEL_ID not in offered:
            raise PipeNotLoadedError(f"offered: {sorted(offered)[:20]}", id=ECHO_MODEL_ID)


def _table(kind: str) -> str:
    return "tools" if kind == "tool" else "functions"


def _mark(present: Mapping[str, Any]) -> dict[str, Any]:
    mark = (present.get("meta") or {}).get(MARK)
    return mark if isinstance(mark, dict) else {}


def _is_ours(function: FunctionFile, present: Mapping[str, Any]) -> bool:
    """Marked, or (imported or saved through the admin panel, which drops the mark) by its frontmatter's id."""
    manifest = (present.get("meta") or {}).get("manifest") or {}
    return bool(_mark(present)) or str(manifest.get("id", "")).lower() == function.id


def _require_ours(function: FunctionFile, present: Mapping[str, Any] | None) -> None:
    if present is not None and not _is_ours(function, present):
        raise ForeignFunctionError(kind=function.kind, id=function.id)


def _action(*, same: bool, cut_off: bool, switched: bool) -> Action:
    if not same:
        return "updated"
    if cut_off:
        return "finished"
    return "enabled" if switched else "unchanged"
