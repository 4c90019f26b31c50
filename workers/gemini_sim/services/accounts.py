"""Google sign-in: authorisation codes with PKCE, tokens, revocation. One made-up account, consent is granted at once.

Source: OAuth 2.0 for installed apps, documented; error bodies SDK and third-party.
"""

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass, field
from typing import Any, Final

from echo_constants import Bilingual, ProtocolError

ACCESS_LIFE_S: Final = 3_599
_CODE_LIFE_S: Final = 600.0
USER: Final = {
    "id": "100000000000000000001",
    "email": "ada@example.com",
    "verified_email": True,
    "name": "Ada Example",
    "given_name": "Ada",
    "family_name": "Example",
    "picture": "https://example.com/ada.png",
}


class OAuthRefusal(ProtocolError):
    """The token endpoint says no; the body is OAuth's, not Google's RPC envelope."""

    code = "sim_oauth_refusal"
    message = Bilingual(
        en="The simulated sign-in refused the request: {description}",
        fr="La connexion simulée a refusé la requête : {description}",
    )
    remedy = Bilingual(en="Sign in again.", fr="Connectez-vous à nouveau.")

    def __init__(self, http_status: int, error: str, description: str) -> None:
        super().__init__(f"{error}: {description}", description=description)
        self.http_status = http_status
        self.error = error
        self.description = description

    def body(self) -> dict[str, str]:
        """`{"error", "error_description"}`."""
        return {"error": self.error, "error_description": self.description}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grant:
    client_id: str
    redirect_uri: str
    scope: str
    challenge: str
    method: str
    offline: bool
    expires_s: float


@dataclass(slots=True)
class Accounts:
    """Codes and tokens of one simulator."""

    _codes: dict[str, _Grant] = field(default_factory=dict)
    _access: dict[str, tuple[float, str]] = field(default_factory=dict)
    _refresh: dict[str, tuple[str, str]] = field(default_factory=dict)
    _consented: set[str] = field(default_factory=set)

    def authorise(self, query: dict[str, str], now_s: float) -> str:
        """Grant a code for an authorisation request.

        Raises:
            OAuthRefusal: a parameter is missing or wrong.
        """
        for name in ("client_id", "redirect_uri", "scope"):
            if not query.get(name):
                raise OAuthRefusal(400, "invalid_request", f"Required parameter is missing: {name}")
        if query.get("response_type") != "code":
            raise OAuthRefusal(400, "unsupported_response_type", "Only response_type=code is supported.")
        method = query.get("code_challenge_method", "plain")
        if query.get("code_challenge") and method not in ("S256", "plain"):
            raise OAuthRefusal(400, "invalid_request", "Unsupported code_challenge_method.")
        client = query["client_id"]
        offline = query.get("access_type") == "offline"
        code = f"4/0{secrets.token_urlsafe(40)}"
        self._codes[code] = _Grant(
            client_id=client,
            redirect_uri=query["redirect_uri"],
            scope=query["scope"],
            challenge=query.get("code_challenge", ""),
            method=method,
            offline=offline and (query.get("prompt") == "consent" or client not in self._consented),
            expires_s=now_s + _CODE_LIFE_S,
        )
        self._consented.add(client)
        return code

    def token(self, form: dict[str, str], now_s: float) -> dict[str, Any]:
        """Answer `POST /token`.

        Raises:
            OAuthRefusal: 400 invalid_grant, 401 invalid_client and the like.
        """
        if not form.get("client_id") or form.get("client_secret", "").startswith("bad-"):
            raise OAuthRefusal(401, "invalid_client", "Unauthorized")
        match form.get("grant_type"):
            case "authorization_code":
                return self._exchange(form, now_s)
            case "refresh_token":
                return self._renew(form, now_s)
            case _:
                raise OAuthRefusal(400, "unsupported_grant_type", f"Invalid grant_type: {form.get('grant_type', '')}")

    def _exchange(self, form: dict[str, str], now_s: float) -> dict[str, Any]:
        grant = self._codes.pop(form.get("code", ""), None)
        if grant is None or now_s >= grant.expires_s or grant.client_id != form["client_id"]:
            raise OAuthRefusal(400, "invalid_grant", "Malformed auth code.")
        if grant.redirect_uri != form.get("redirect_uri"):
            raise OAuthRefusal(400, "redirect_uri_mismatch", "Bad Request")
        if grant.challenge and not _proves(grant, form.get("code_verifier", "")):
            raise OAuthRefusal(400, "invalid_grant", "Invalid code verifier.")
        answer = self._issue(grant.client_id, grant.scope, now_s)
        if grant.offline:
            refresh = f"1//{secrets.token_urlsafe(60)}"
            self._refresh[refresh] = (grant.client_id, grant.scope)
            answer["refresh_token"] = refresh
        return answer

    def _renew(self, form: dict[str, str], now_s: float) -> dict[str, Any]:
        known = self._refresh.get(form.get("refresh_token", ""))
        if known is None or known[0] != form["client_id"]:
            raise OAuthRefusal(400, "invalid_grant", "Token has been expired or revoked.")
        return self._issue(*known, now_s)

    def _issue(self, client_id: str, scope: str, now_s: float) -> dict[str, Any]:
        access = f"ya29.{secrets.token_urlsafe(80)}"
        self._access[access] = (now_s + ACCESS_LIFE_S, scope)
        answer = {"access_token": access, "expires_in": ACCESS_LIFE_S, "scope": scope, "token_type": "Bearer"}
        return answer | {"id_token": _id_token(client_id, now_s)}

    def revoke(self, token: str) -> None:
        """Forget a token.

        Raises:
            OAuthRefusal: 400 invalid_token, nobody has it (inferred wording).
        """
        if token in self._refresh:
            del self._refresh[token]
        elif token in self._access:
            del self._access[token]
        else:
            raise OAuthRefusal(400, "invalid_token", "Token expired or revoked")

    def identity(self, token: str, now_s: float) -> str | None:
        """Whom a bearer token stands for; None when it is dead.

        Tokens that were issued here die with their time. Others are taken as they are, each an identity of its own,
        except those that begin with `bad-`.
        """
        known = self._access.get(token)
        if known is not None:
            return USER["email"] if now_s < known[0] else None  # type: ignore[return-value]
        if not token or token.startswith(("bad-", "ya29.")):
            return None
        return token


def _proves(grant: _Grant, verifier: str) -> bool:
    if grant.method == "plain":
        return hmac.compare_digest(grant.challenge, verifier)
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    return hmac.compare_digest(grant.challenge, digest)


def _id_token(client_id: str, now_s: float) -> str:
    """A JWT in shape; its signature is no real one."""
    claims = {
        "iss": "https://accounts.google.com",
        "aud": client_id,
        "sub": USER["id"],
        "email": USER["email"],
        "email_verified": True,
        "iat": int(now_s),
        "exp": int(now_s) + ACCESS_LIFE_S,
    }
    parts = [json.dumps(part).encode() for part in ({"alg": "RS256", "typ": "JWT"}, claims)]
    parts.append(hashlib.sha256(parts[1]).digest())
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
