"""Which proxy leads to a host: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Proxies by the scheme of the target; URLs may hold `user:password@`, so they are never shown.

    Args:
        https: proxy URL for https targets, "" = direct.
        http: proxy URL for http targets, "" = direct.
        no_proxy: hosts that are reached directly: `*`, `example.com` (with its subdomains), `.example.com`, an address,
            a network such as `10.0.0.0/8`, each with an optional `:port`.
    """

    https: str = field(default="", repr=False)
    http: str = field(default="", repr=False)
    no_proxy: tuple[str, ...] = ()

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "ProxySettings":
        """Read the usual variables, lower case first.

        HTTP_PROXY in upper case is ignored where REQUEST_METHOD is set: in a CGI process a client can set it.
        """

        def read(name: str) -> str:
            return environ.get(name.lower()) or environ.get(name.upper()) or ""

        http = environ.get("http_proxy") or ("" if "REQUEST_METHOD" in environ else environ.get("HTTP_PROXY", ""))
        fallback = read("all_proxy")
        hosts = tuple(part.strip().lower() for part in read("no_proxy").split(",") if part.strip())
        return cls(
            https=_with_scheme(read("https_proxy") or fallback), http=_with_scheme(http or fallback), no_proxy=hosts
        )

    def proxy_for(self, scheme: str, host: str, port: int) -> str:
        """The proxy URL for a target, "" = direct."""
        proxy = self.https if scheme == "https" else self.http
        return "" if not proxy or self._is_direct(host.lower(), port) else proxy

    def _is_direct(self, host: str, port: int) -> bool:
        return any(_matches(rule, host, port) for rule in self.no_proxy)


def _with_scheme(url: str) -> str:
    return url if not url or "://" in url else f"http://{url}"


def _matches(rule: str, host: str, port: int) -> bool:
    if rule == "*":
        return True
    address = _address(host)
    if "/" in rule:
        try:
            return address is not None and address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    if _address(rule) is None:
        split = urlsplit(f"//{rule}")
        try:
            if split.port is not None and split.port != port:
                return False
        except ValueError:
            return False
        rule = split.hostname or ""
    if address is not None:
        return address == _address(rule)
    name = rule.lstrip("*").lstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
