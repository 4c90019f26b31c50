import logging

import pytest

from echo_utils.secrets import SecretMaskingFilter, mask_secrets

SECRET = "Zz9-" + "abcdefghijklmnop"


@pytest.mark.parametrize(
    "text",
    [
        f"Permission denied: Consumer 'api_key:AIza{SECRET}' has been suspended.",
        f"GET /v1beta/models?pageSize=1&key={SECRET}&x=1",
        f"authorization: Bearer {SECRET}",
        f"[(b'x-goog-api-key', b'{SECRET}')]",
        f"{{'x-goog-api-key': '{SECRET}'}}",
        f"token ya29.{SECRET} expired",
        f"AQ.{SECRET}",
        f"proxy http://user:{SECRET}@proxy.example:3128 refused",
    ],
)
def test_credentials_of_every_form_are_masked(text: str) -> None:
    masked = mask_secrets(text)
    assert SECRET not in masked
    assert "***" in masked


def test_known_secrets_are_masked_wherever_they_stand() -> None:
    assert mask_secrets("x-plain-word-x", ["plain-word"]) == "x-***-x"
    assert mask_secrets("a cat", ["cat"]) == "a cat", "too short to be told from text"


def test_ordinary_text_stays() -> None:
    text = "models/gemini-3-flash is not found. Call ListModels at https://ai.google.dev/api?lang=fr for keys."
    assert mask_secrets(text) == text


def test_the_log_filter_masks_arguments_too(caplog: pytest.LogCaptureFixture) -> None:
    masking = SecretMaskingFilter()
    caplog.handler.addFilter(masking)
    logging.getLogger("somebody.else").warning("sent %s", {"x-goog-api-key": SECRET})
    caplog.handler.removeFilter(masking)
    assert SECRET not in caplog.text
    assert "***" in caplog.text
