"""What can go wrong with Gemini, each with what to do about it.

AuthError      KeyMissing, KeyRejected, PermissionRefused, TermsViolation, AccountVerification
ConfigError    ModelNotFound, TlsFailed
LimitError     QuotaPerMinute, QuotaPerDay, QuotaNotInTier, SpendLimit, ContextTooLarge
UpstreamError  ModelOverloaded, ModelPaused, ServerFailed, NetworkUnreachable, TimedOut, StreamBroken, RegionUnsupported
ProtocolError  RequestRefused, SignatureRefused

`cascade` tells whether a weaker model may take over. It may where the limit or the fault is the model's own: quotas
count "per project per model", capacity is a model's, and for 500 and 503 Google itself advises another model for a
while. It never may where the account, its money, its region or the request is the reason: every model would answer the
same, and a spend limit is the project's.
Source: https://ai.google.dev/gemini-api/docs/rate-limits, https://ai.google.dev/gemini-api/docs/troubleshooting.
"""

from echo_constants import AuthError, Bilingual, ConfigError, LimitError, ProtocolError, UpstreamError


class KeyMissing(AuthError):
    """No API key or token is there for this user."""

    code = "gemini_key_missing"
    message = Bilingual(
        en="No Gemini API key is set for you.",
        fr="Aucune clé API Gemini n'est enregistrée pour vous.",
    )
    remedy = Bilingual(
        en="Create a key at https://aistudio.google.com/apikey and enter it on ECHO's key page, /echo/hud/keys.",
        fr="Créez une clé sur https://aistudio.google.com/apikey et saisissez-la sur la page des clés d'ECHO,"
        " /echo/hud/keys.",
    )


class KeyRejected(AuthError):
    """Google does not accept the key or token: wrong, deleted, expired or reported as leaked."""

    code = "gemini_key_rejected"
    message = Bilingual(
        en="Google did not accept the Gemini API key.",
        fr="Google n'a pas accepté la clé API Gemini.",
    )
    remedy = Bilingual(
        en="Check it on ECHO's key page (/echo/hud/keys), or create a new one at https://aistudio.google.com/apikey.",
        fr="Vérifiez-la sur la page des clés d'ECHO (/echo/hud/keys), ou créez-en une nouvelle sur"
        " https://aistudio.google.com/apikey.",
    )


class PermissionRefused(AuthError):
    """The key is known, but may not do this (API not enabled, key restrictions, a file of somebody else)."""

    code = "gemini_permission_refused"
    message = Bilingual(
        en="The Gemini API key is not allowed to do this.",
        fr="La clé API Gemini n'a pas le droit de faire cela.",
    )
    remedy = Bilingual(
        en="In the key's Google Cloud project, enable the Generative Language API and check the key's restrictions.",
        fr="Dans le projet Google Cloud de la clé, activez l'API Generative Language et vérifiez les restrictions"
        " de la clé.",
    )


class TermsViolation(AuthError):
    """Google has disabled the service for this account. Never retried, never answered by another account."""

    code = "gemini_terms_violation"
    message = Bilingual(
        en="Google has disabled this service for your account and names its terms of service as the reason.",
        fr="Google a désactivé ce service pour votre compte en invoquant ses conditions d'utilisation.",
    )
    remedy = Bilingual(
        en="Stop using this sign-in, appeal to Google if you think it is a mistake, and use an API key instead.",
        fr="N'utilisez plus cette connexion, faites appel auprès de Google si c'est une erreur, et utilisez plutôt"
        " une clé API.",
    )


class AccountVerification(AuthError):
    """Google wants the account's owner to verify something first."""

    code = "gemini_account_verification"
    message = Bilingual(
        en="Google asks you to verify your account first.",
        fr="Google vous demande d'abord de vérifier votre compte.",
    )
    remedy = Bilingual(
        en="Open {url}, follow the steps, then try again.",
        fr="Ouvrez {url}, suivez les étapes, puis réessayez.",
    )


class ModelNotFound(ConfigError):
    """The model id does not exist for this key, API version or method."""

    code = "gemini_model_not_found"
    cascade = "at_once"
    api_status = 404
    message = Bilingual(
        en="Gemini does not know the model {model} (any more), or your key may not use it.",
        fr="Gemini ne connaît pas (ou plus) le modèle {model}, ou votre clé ne peut pas l'utiliser.",
    )
    remedy = Bilingual(
        en="Choose another MODEL_SELECTION in the chat's Controls, under Valves. If it stays: newer models come with "
        "an update of ECHO, which an administrator installs.",
        fr="Choisissez un autre MODEL_SELECTION dans les contrôles de la discussion, sous Valves. Si cela persiste : "
        "les modèles récents viennent avec une mise à jour d'ECHO, qu'un administrateur installe.",
    )


class TlsFailed(ConfigError):
    """The server's certificate is not trusted, or no TLS was possible."""

    code = "gemini_tls_failed"
    message = Bilingual(
        en="The secure connection to Gemini could not be verified.",
        fr="La connexion sécurisée à Gemini n'a pas pu être vérifiée.",
    )
    remedy = Bilingual(
        en="If a company proxy inspects traffic, an administrator must give ECHO its CA certificate file; else check"
        " the server's clock.",
        fr="Si un proxy d'entreprise inspecte le trafic, un administrateur doit fournir à ECHO son certificat CA ;"
        " sinon, vérifiez l'horloge du serveur.",
    )


class QuotaPerMinute(LimitError):
    """Requests or tokens per minute are used up; waiting helps."""

    code = "gemini_quota_per_minute"
    cascade = "after_waiting"
    retryable = True
    message = Bilingual(
        en="Gemini's per-minute limit is reached.",
        fr="La limite par minute de Gemini est atteinte.",
    )
    remedy = Bilingual(
        en="Wait a minute and try again, or choose a lighter model.",
        fr="Attendez une minute et réessayez, ou choisissez un modèle plus léger.",
    )


class QuotaPerDay(LimitError):
    """The day's (or week's) quota is used up."""

    code = "gemini_quota_per_day"
    cascade = "at_once"
    message = Bilingual(
        en="The Gemini quota for this model is used up for now.",
        fr="Le quota Gemini de ce modèle est épuisé pour le moment.",
    )
    remedy = Bilingual(
        en="Daily quotas return at midnight Pacific time. Choose another model until then, or use a key with billing.",
        fr="Les quotas journaliers reviennent à minuit, heure du Pacifique. D'ici là, choisissez un autre modèle ou"
        " une clé avec facturation.",
    )


class QuotaNotInTier(LimitError):
    """The model's limit is zero for this key's tier: waiting never helps."""

    code = "gemini_quota_not_in_tier"
    cascade = "at_once"
    message = Bilingual(
        en="This model is not included in your key's plan (its limit is 0).",
        fr="Ce modèle n'est pas inclus dans l'offre de votre clé (sa limite est 0).",
    )
    remedy = Bilingual(
        en="Choose another model, or enable billing for the key's project in Google AI Studio.",
        fr="Choisissez un autre modèle, ou activez la facturation du projet de la clé dans Google AI Studio.",
    )


class SpendLimit(LimitError):
    """Money: the spend limit of the last ten minutes, or prepaid credit, is used up."""

    code = "gemini_spend_limit"
    message = Bilingual(
        en="The spending limit or credit of your Gemini project is used up.",
        fr="Le plafond de dépenses ou le crédit de votre projet Gemini est épuisé.",
    )
    remedy = Bilingual(
        en="Spend limits free up within about ten minutes; credit and limits are managed in Google AI Studio, Billing.",
        fr="Les plafonds se libèrent en une dizaine de minutes ; crédit et plafonds se gèrent dans Google AI Studio,"
        " Facturation.",
    )


class ContextTooLarge(LimitError):
    """The request has more tokens than the model takes."""

    code = "gemini_context_too_large"
    api_status = 400
    message = Bilingual(
        en="The conversation is too long for this model.",
        fr="La conversation est trop longue pour ce modèle.",
    )
    remedy = Bilingual(
        en="Compact the context, remove large attachments, or start a new chat.",
        fr="Compactez le contexte, retirez les pièces jointes volumineuses, ou commencez une nouvelle conversation.",
    )


class ModelOverloaded(UpstreamError):
    """503 or no capacity; passes by itself."""

    code = "gemini_model_overloaded"
    cascade = "after_waiting"
    message = Bilingual(
        en="Gemini is busy: this model has no free capacity right now.",
        fr="Gemini est surchargé : ce modèle n'a plus de capacité pour le moment.",
    )
    remedy = Bilingual(
        en="Try again in a moment, or choose another model.",
        fr="Réessayez dans un instant, ou choisissez un autre modèle.",
    )


class ModelPaused(UpstreamError):
    """The circuit breaker is open: the model failed several times in a row and is left alone for a moment."""

    code = "gemini_model_paused"
    cascade = "at_once"
    message = Bilingual(
        en="Gemini failed several times in a row with this model, so ECHO is giving it a short rest.",
        fr="Gemini a échoué plusieurs fois de suite avec ce modèle ; ECHO le laisse souffler un instant.",
    )
    remedy = Bilingual(
        en="Try again in {seconds} s, or choose another model.",
        fr="Réessayez dans {seconds} s, ou choisissez un autre modèle.",
    )


class ServerFailed(UpstreamError):
    """500, 502, 504: Google's side failed."""

    code = "gemini_server_failed"
    cascade = "after_waiting"
    message = Bilingual(
        en="Gemini had an internal error.",
        fr="Gemini a rencontré une erreur interne.",
    )
    remedy = Bilingual(
        en="Try again in a moment. If it keeps failing, shorten the request or choose another model.",
        fr="Réessayez dans un instant. Si l'erreur persiste, raccourcissez la demande ou changez de modèle.",
    )


class NetworkUnreachable(UpstreamError):
    """No connection: name look-up, refused, proxy."""

    code = "gemini_network_unreachable"
    message = Bilingual(
        en="The server that runs ECHO cannot reach Gemini.",
        fr="Le serveur qui héberge ECHO ne parvient pas à joindre Gemini.",
    )
    remedy = Bilingual(
        en="Try again. An administrator can check the internet access, proxy and base URL with `echoctl doctor`.",
        fr="Réessayez. Un administrateur peut vérifier l'accès à internet, le proxy et l'URL avec `echoctl doctor`.",
    )


class TimedOut(UpstreamError):
    """Gemini did not begin, or stopped in the middle of, its answer."""

    code = "gemini_timed_out"
    message = Bilingual(
        en="Gemini took too long to answer.",
        fr="Gemini a mis trop de temps à répondre.",
    )
    remedy = Bilingual(
        en="Try again. For very long tasks, lower the thinking level or split the question.",
        fr="Réessayez. Pour les très longues tâches, baissez le niveau de réflexion ou divisez la question.",
    )


class StreamBroken(UpstreamError):
    """The answer ended too early.

    Pass `received=True` when at least one chunk had arrived.
    """

    code = "gemini_stream_broken"
    breaks_off = True
    message = Bilingual(
        en="The answer broke off before Gemini had finished.",
        fr="La réponse s'est interrompue avant que Gemini ait terminé.",
    )
    remedy = Bilingual(
        en="What had arrived is kept. Use Continue, or try again.",
        fr="Ce qui était arrivé est conservé. Utilisez Continuer, ou réessayez.",
    )

    @property
    def received(self) -> bool:
        """Whether anything of the answer had arrived."""
        return bool(self.fields.get("received", False))


class RegionUnsupported(UpstreamError):
    """Google does not offer the API where this server stands."""

    code = "gemini_region_unsupported"
    retryable = False
    message = Bilingual(
        en="Google does not offer the Gemini API at the place where this server runs.",
        fr="Google ne propose pas l'API Gemini là où se trouve ce serveur.",
    )
    remedy = Bilingual(
        en="An administrator can route ECHO through a supported country (HTTPS_PROXY); the list is at"
        " https://ai.google.dev/gemini-api/docs/available-regions.",
        fr="Un administrateur peut faire passer ECHO par un pays pris en charge (HTTPS_PROXY) ; liste :"
        " https://ai.google.dev/gemini-api/docs/available-regions.",
    )


class RequestRefused(ProtocolError):
    """Gemini refused the request as such (400 and others); Google's text is in the detail."""

    code = "gemini_request_refused"
    api_status = 400
    message = Bilingual(
        en="Gemini refused the request.",
        fr="Gemini a refusé la demande.",
    )
    remedy = Bilingual(
        en="If you attached a file, check its kind and size. Otherwise give your administrator the reference.",
        fr="Si vous avez joint un fichier, vérifiez son type et sa taille. Sinon, donnez la référence à votre"
        " administrateur.",
    )


class SignatureRefused(ProtocolError):
    """A thought signature is missing, damaged or from elsewhere."""

    code = "gemini_signature_refused"
    message = Bilingual(
        en="Gemini did not recognise the stored reasoning state of this chat.",
        fr="Gemini n'a pas reconnu l'état de raisonnement enregistré de cette conversation.",
    )
    remedy = Bilingual(
        en="Regenerate the answer. If it happens again, give your administrator the reference.",
        fr="Régénérez la réponse. Si cela se reproduit, donnez la référence à votre administrateur.",
    )
