"""Answers that are none: what the model's stream said, as errors a person understands."""

from echo_constants import Bilingual, EchoError, LimitError, ProtocolError, UpstreamError
from echo_protocol import StreamResult


class IllegalTransition(ProtocolError):
    """The turn's state table has no row for what happened."""

    code = "illegal_transition"


class PromptBlocked(EchoError):
    """Gemini refused the question. Source: promptFeedback.blockReason."""

    code = "prompt_blocked"
    audience = "user"
    api_status = 400
    message = Bilingual(
        en="Gemini refused this message for safety reasons ({reason}).",
        fr="Gemini a refusé ce message pour des raisons de sécurité ({reason}).",
    )
    remedy = Bilingual(
        en="Rephrase it, or remove the part or the attachment that may be the cause, then send it again.",
        fr="Reformulez-le, ou retirez le passage ou la pièce jointe en cause, puis renvoyez-le.",
    )


class AnswerBlocked(EchoError):
    """Gemini broke its own answer off. Source: finishReason SAFETY, RECITATION, PROHIBITED_CONTENT and more."""

    code = "answer_blocked"
    audience = "user"
    api_status = 400
    message = Bilingual(
        en="Gemini stopped its own answer ({reason}).", fr="Gemini a interrompu sa propre réponse ({reason})."
    )
    remedy = Bilingual(
        en="Ask in other words, or for less verbatim text.",
        fr="Posez la question autrement, ou demandez moins de texte mot pour mot.",
    )


class EmptyAnswer(UpstreamError):
    """The stream ended without any content."""

    code = "empty_answer"
    message = Bilingual(en="Gemini sent an empty answer.", fr="Gemini a envoyé une réponse vide.")
    remedy = Bilingual(
        en="Use Regenerate. If it stays empty, rephrase the question.",
        fr="Utilisez Régénérer. Si elle reste vide, reformulez la question.",
    )


class TokensSpentThinking(LimitError):
    """The token limit was reached before the answer began. Source: finishReason MAX_TOKENS without answer parts."""

    code = "max_tokens_while_thinking"
    api_status = 400
    message = Bilingual(
        en="The token limit was used up by thinking before the answer began.",
        fr="La limite de jetons a été consommée par la réflexion avant le début de la réponse.",
    )
    remedy = Bilingual(
        en="Raise max_tokens in the chat's parameters, or lower the reasoning effort.",
        fr="Augmentez max_tokens dans les paramètres de la discussion, ou baissez l'effort de raisonnement.",
    )


class BadToolCall(UpstreamError):
    """The model wrote a tool call that cannot be read or names no tool we offered."""

    code = "bad_tool_call"
    message = Bilingual(
        en="Gemini tried to use a tool in a way that does not exist.",
        fr="Gemini a tenté d'utiliser un outil d'une manière qui n'existe pas.",
    )
    remedy = Bilingual(en="Use Regenerate.", fr="Utilisez Régénérer.")


class AnswerBrokenOff(UpstreamError):
    """The stream ended without a finish reason."""

    code = "answer_broken_off"
    message = Bilingual(
        en="The connection to Gemini ended before the answer was complete.",
        fr="La connexion à Gemini s'est terminée avant la fin de la réponse.",
    )
    remedy = Bilingual(
        en="What has arrived is kept. Use Continue or Regenerate.",
        fr="Ce qui est arrivé est conservé. Utilisez Continuer ou Régénérer.",
    )


def error_for(result: StreamResult) -> EchoError:
    """The error for an outcome that is not an answer."""
    reason = result.block_reason or result.finish_reason or "?"
    detail = f"{result.outcome}: {reason} {result.finish_message or ''}".strip()
    match result.outcome:
        case "prompt_blocked":
            return PromptBlocked(detail, reason=reason)
        case "answer_blocked" | "other":
            return AnswerBlocked(detail, reason=reason)
        case "max_tokens_while_thinking":
            return TokensSpentThinking(detail)
        case "malformed_call" | "unexpected_tool_call":
            return BadToolCall(detail)
        case "no_finish_reason":
            return AnswerBrokenOff(detail)
        case _:
            return EmptyAnswer(detail)
