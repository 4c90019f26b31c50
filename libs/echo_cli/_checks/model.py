"""ECHO's record in the list of models, and the models that administrators built on it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from echo_cli._checks.base import Diagnosis, Finding, Need, Surroundings
from echo_cli._model_record import ECHO_MODEL_ID, REQUIRED_CAPABILITIES, REQUIRED_PARAMS
from echo_constants import Bilingual

RECORD_MISSING: Final = Diagnosis(
    code="model_record_missing",
    severity="problem",
    what=Bilingual(
        en="Open WebUI has no record for the model ECHO: plain users cannot see it.",
        fr="Open WebUI n'a pas de fiche pour le modèle ECHO : les simples utilisateurs ne le voient pas.",
    ),
    remedy=Bilingual(en="Run `echoctl install`.", fr="Lancez `echoctl install`."),
)
RECORD_OFF: Final = Diagnosis(
    code="model_off",
    severity="problem",
    what=Bilingual(en="The model ECHO is switched off.", fr="Le modèle ECHO est désactivé."),
    remedy=Bilingual(
        en="Admin panel, Settings, Models: switch ECHO on.",
        fr="Panneau d'administration, Réglages, Modèles : activez ECHO.",
    ),
)
NOT_SHARED: Final = Diagnosis(
    code="model_not_shared",
    severity="warning",
    what=Bilingual(
        en="The model {id} is not open to all users.", fr="Le modèle {id} n'est pas ouvert à tous les utilisateurs."
    ),
    remedy=Bilingual(
        en="If that is not meant: Admin panel, Settings, Models, {id}, Access: public.",
        fr="Si ce n'est pas voulu : Panneau d'administration, Réglages, Modèles, {id}, Accès : public.",
    ),
)
CAPABILITY: Final = Diagnosis(
    code="model_capability",
    severity="problem",
    what=Bilingual(
        en="Model {id}: the capability {key} must be {wanted}; it is {value}.",
        fr="Modèle {id} : la capacité {key} doit être {wanted} ; elle est {value}.",
    ),
    remedy=Bilingual(
        en="Run `echoctl install` (for {id} of your own: change it in its settings).",
        fr="Lancez `echoctl install` (si {id} est le vôtre : changez-la dans ses réglages).",
    ),
)
PARAMETER: Final = Diagnosis(
    code="model_parameter",
    severity="problem",
    what=Bilingual(
        en="Model {id}: the parameter {key} must be {wanted}; it is {value}.",
        fr="Modèle {id} : le paramètre {key} doit être {wanted} ; il est {value}.",
    ),
    remedy=CAPABILITY.remedy,
)
NOT_OFFERED: Final = Diagnosis(
    code="model_not_offered",
    severity="problem",
    what=Bilingual(en="Open WebUI does not offer the model {id}.", fr="Open WebUI ne propose pas le modèle {id}."),
    remedy=Bilingual(
        en="Run `echoctl install`, which brings the pipe if it is gone. If it is there, it could not be loaded: "
        "install echo-owui into the Python that runs Open WebUI, restart, and see its log.",
        fr="Lancez `echoctl install`, qui apporte le pipe s'il manque. S'il est là, il n'a pas pu être chargé : "
        "installez echo-owui dans le Python d'Open WebUI, redémarrez, et voyez son journal.",
    ),
)


class ModelCheck:
    """The record's settings, its grant, whether the model is offered; also for models that build on ECHO."""

    name = "model"
    title = Bilingual(en="Model record", fr="Fiche du modèle")
    need: Need = "admin"
    diagnoses = (RECORD_MISSING, RECORD_OFF, NOT_SHARED, CAPABILITY, PARAMETER, NOT_OFFERED)

    def run(self, here: Surroundings) -> Iterator[Finding]:
        """As `Check`. Raises as `OwuiApi.get`."""
        if here.api is None:
            return
        offered = {str(model["id"]) for model in here.api.get("/api/models", refresh="true")["data"]}
        if ECHO_MODEL_ID not in offered:
            yield NOT_OFFERED.found(id=ECHO_MODEL_ID)
        records = here.api.get("/api/v1/models/base")
        record = next((item for item in records if item["id"] == ECHO_MODEL_ID), None)
        yield from judge_record(record)
        for own in here.api.get("/api/v1/models/export"):
            if own.get("base_model_id") == ECHO_MODEL_ID:
                yield from judge_settings(own)


def judge_record(record: Mapping[str, Any] | None) -> Iterator[Finding]:
    """What is to be said about ECHO's own record, None = there is none.

    A capability that the record does not name is on, except `usage`. Source: Open WebUI 0.12.4, utils/middleware.py
    (`capabilities.get(…, True)`) and the chat page (`capabilities?.usage`).
    """
    if record is None:
        yield RECORD_MISSING.found()
        return
    if not record.get("is_active", True):
        yield RECORD_OFF.found()
    grants = record.get("access_grants") or []
    if not any(grant.get("principal_id") == "*" and grant.get("permission") == "read" for grant in grants):
        yield NOT_SHARED.found(id=record["id"])
    capabilities = (record.get("meta") or {}).get("capabilities") or {}
    for key, wanted in REQUIRED_CAPABILITIES.items():
        value = capabilities.get(key, key != "usage")
        if value is not wanted:
            yield CAPABILITY.found(id=record["id"], key=key, wanted=wanted, value=value)
    params = record.get("params") or {}
    for key, value in REQUIRED_PARAMS.items():
        if params.get(key) != value:
            yield PARAMETER.found(id=record["id"], key=key, wanted=value, value=params.get(key))


def judge_settings(record: Mapping[str, Any]) -> Iterator[Finding]:
    """The same for a model that builds on ECHO: what it sets itself must not contradict."""
    capabilities = (record.get("meta") or {}).get("capabilities") or {}
    for key in ("builtin_tools", "file_context"):
        if capabilities.get(key, True) is not REQUIRED_CAPABILITIES[key]:
            yield CAPABILITY.found(id=record["id"], key=key, wanted=REQUIRED_CAPABILITIES[key], value=True)
    params = record.get("params") or {}
    for key, wanted in REQUIRED_PARAMS.items():
        if key in params and params[key] not in (wanted, None, "default"):
            yield PARAMETER.found(id=record["id"], key=key, wanted=wanted, value=params[key])
