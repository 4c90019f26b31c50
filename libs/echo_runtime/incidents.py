"""Every failure that a user sees has a reference, and the log has a line with the same one."""

import logging
import secrets
from typing import Any

from starlette.responses import StreamingResponse

from echo_constants import EchoError, Locale
from echo_events import TurnFailed, api_failure, page_failure
from echo_runtime.call import PipeCall
from echo_utils import dumps

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
    return TurnFailed(
        message=known.user_message(locale), code=known.code, reference=reference, api_status=known.api_status
    )


def refusal(call: PipeCall, failure: TurnFailed) -> Any:
    """What the pipe returns when there is nothing but a failure.

    Open WebUI hands an HTTP status on only from a StreamingResponse, and only to callers without a chat; its page reads
    the text from a dict. Source: open_webui/{functions,main}.py, 0.12.4.
    """
    if call.speaks_responses:
        return page_failure(failure)
    if call.streams:
        return api_failure(failure)
    body = iter([dumps(api_failure(failure))])
    return StreamingResponse(body, status_code=failure.api_status, media_type="application/json")


def refuse(error: BaseException, call: PipeCall) -> Any:
    """`report` and `refusal` for a call that could not even begin; a task gets an empty answer."""
    failure = report(error, call.locale, chat_id=call.chat_id, message_id=call.message_id)
    return "" if call.task else refusal(call, failure)
