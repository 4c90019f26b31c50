"""The API client against a small real server: which answer becomes which error."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from echo_cli._account import NoAccountError, signed_in_admin
from echo_cli._owui_api import (
    NotAdminError,
    NotOpenWebuiError,
    OwuiAnswerError,
    OwuiApi,
    OwuiSignInError,
    OwuiUnreachableError,
    is_loopback,
)
from echo_cli._ports import free_port

ANSWERS = {
    "/api/version": (200, '{"version": "0.12.4"}'),
    "/api/v1/auths/": (200, '{"id": "u", "email": "ada@localhost", "role": "user"}'),
    "/api/v1/auths/signin": (400, '{"detail": "The email or password provided is incorrect."}'),
    "/expired": (401, '{"detail": "Your session has expired or the token is invalid. Please sign in again."}'),
    "/missing": (401, '{"detail": "We could not find what you are looking for"}'),
    "/page": (200, "<!doctype html>"),
    "/nothing": (200, ""),
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, text = ANSWERS.get(self.path.split("?")[0], (404, '{"detail": "Not Found"}'))
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_version_tells_that_it_is_open_webui(url: str) -> None:
    with OwuiApi(url + "/") as api:
        assert api.version() == "0.12.4"
        assert api.get("/nothing") is None


def test_errors_say_whether_the_account_or_the_request_is_wrong(url: str) -> None:
    with OwuiApi(url, token="t") as api:
        with pytest.raises(OwuiSignInError):
            api.get("/expired")
        with pytest.raises(OwuiAnswerError) as told:
            api.get("/missing")
        assert "401" in told.value.user_message("en") and "GET /missing" in told.value.user_message("fr")
        with pytest.raises(NotOpenWebuiError):
            api.get("/page")
        with pytest.raises(OwuiSignInError):
            api.sign_in("ada@localhost", "wrong")
        with pytest.raises(NotAdminError) as refused:
            api.require_admin()
        assert "ada@localhost" in refused.value.user_message("en")


def test_nobody_at_the_address_is_told_as_such() -> None:
    with OwuiApi(f"http://127.0.0.1:{free_port()}") as api, pytest.raises(OwuiUnreachableError):
        api.version()


def test_another_program_at_the_address_is_told_as_such(url: str) -> None:
    with OwuiApi(url + "/elsewhere") as api, pytest.raises(NotOpenWebuiError):
        api.version()


def test_an_account_is_needed() -> None:
    with pytest.raises(NoAccountError):
        signed_in_admin("http://127.0.0.1:1", email="ada@localhost")


@pytest.mark.parametrize(
    "address", ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:1", "http://a.localhost"]
)
def test_a_proxy_is_not_asked_for_this_machine(address: str) -> None:
    assert is_loopback(address)


def test_a_proxy_may_be_asked_for_other_machines() -> None:
    assert not is_loopback("http://example.org") and not is_loopback("http://10.0.0.1:3000")
