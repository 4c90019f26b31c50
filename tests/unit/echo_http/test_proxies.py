import pytest

from echo_http import ProxySettings


def settings(**environ: str) -> ProxySettings:
    return ProxySettings.from_env(environ)


def test_the_scheme_of_the_target_chooses_and_lower_case_wins() -> None:
    proxies = settings(HTTPS_PROXY="http://upper:1", https_proxy="http://lower:1", HTTP_PROXY="plain:2")
    assert proxies.proxy_for("https", "example.com", 443) == "http://lower:1"
    assert proxies.proxy_for("http", "example.com", 80) == "http://plain:2"
    assert settings(ALL_PROXY="http://all:1").proxy_for("https", "x", 443) == "http://all:1"
    assert settings().proxy_for("https", "x", 443) == ""


def test_a_cgi_client_cannot_set_our_proxy() -> None:
    assert settings(HTTP_PROXY="http://evil", REQUEST_METHOD="GET").proxy_for("http", "x", 80) == ""


@pytest.mark.parametrize(
    ("rule", "host", "direct"),
    [
        ("*", "anything", True),
        ("example.com", "example.com", True),
        ("example.com", "api.example.com", True),
        (".example.com", "api.example.com", True),
        ("*.example.com", "api.example.com", True),
        ("example.com", "notexample.com", False),
        ("EXAMPLE.com", "Example.COM", True),
        ("example.com:443", "example.com", True),
        ("example.com:8443", "example.com", False),
        ("example.com:nonsense", "example.com", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.0.0.0/99", "10.1.2.3", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1:443", "127.0.0.1", True),
        ("::1", "::1", True),
        ("fd00::/8", "fd12::1", True),
    ],
)
def test_no_proxy_rules(rule: str, host: str, direct: bool) -> None:
    proxies = settings(https_proxy="http://p:1", no_proxy=f"other.org, {rule}")
    assert (proxies.proxy_for("https", host, 443) == "") == direct


def test_a_password_in_a_proxy_url_is_not_shown() -> None:
    assert "hunter2" not in repr(settings(https_proxy="http://me:hunter2@p:1"))
