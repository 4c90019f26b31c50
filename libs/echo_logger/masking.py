"""Credentials never reach a log through ECHO's own loggers, whatever an exception's text may hold."""

import logging

from echo_utils.secrets import SecretMaskingFilter


class _OwnRecordsMasked(SecretMaskingFilter):
    """Masks ECHO's records only: what the host application logs is not ours to change."""

    def filter(self, record: logging.LogRecord) -> bool:
        return super().filter(record) if record.name.startswith("echo_") else True


def mask_own_records() -> None:
    """Put the filter on every handler of the root logger, once; handlers are where all loggers' records pass."""
    for handler in logging.getLogger().handlers:
        if not any(isinstance(known, _OwnRecordsMasked) for known in handler.filters):
            handler.addFilter(_OwnRecordsMasked())
