"""Every failure that a user sees has a reference, and the log has a line with the same one."""

import logging
import secrets

from echo_constants import EchoError, Locale
from echo_events import TurnFailed

log = logging.getLogger(__name__)


def report(error: BaseException, locale: Locale, *, chat_id: str, message_id: str) -> TurnFailed:
    """Log a failure and turn it into what the user is told.

    Args:
        error: an EchoError is told in its own words; anything else as an internal fault.
        locale: the reader's language.
        chat_id: for the log.
        message_id: for the log.
    """
    reference = secrets.token_hex(4)
    known = error if isinstance(error, EchoError) else EchoError()
    where = {"reference": reference, "code": known.code, "chat_id": chat_id, "message_id": message_id}
    if known is error:
        log.warning("turn failed: %s %s", error, where)
    else:
        log.error("turn failed: unexpected %s %s", type(error).__name__, where, exc_info=error)
    return TurnFailed(message=known.user_message(locale), code=known.code, reference=reference)
