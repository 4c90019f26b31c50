"""ECHO's record in the list of models; `echo_runtime` has it, because ECHO also makes it from inside Open WebUI."""

from echo_runtime.model_record import (
    ECHO_MODEL_ID,
    EVERYBODY_READS,
    FRENCH,
    REQUIRED_CAPABILITIES,
    REQUIRED_PARAMS,
    icon_data_uri,
    new_record,
    with_requirements,
)

__all__ = [
    "ECHO_MODEL_ID",
    "EVERYBODY_READS",
    "FRENCH",
    "REQUIRED_CAPABILITIES",
    "REQUIRED_PARAMS",
    "icon_data_uri",
    "new_record",
    "with_requirements",
]
