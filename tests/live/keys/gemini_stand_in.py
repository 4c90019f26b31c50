"""Answers `models` as Gemini does for a known, a wrong and an exhausted key."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD_KEY = "good-key-for-the-tests-8Kd2"
EXHAUSTED_KEY = "exhausted-key-for-the-tests-3Lm5"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        key = self.headers.get("x-goog-api-key", "")
        if self.path != "/v1beta/models?pageSize=1":
            status, answer = 404, {}
        elif key == GOOD_KEY:
            status, answer = 200, {"models": [{"name": "models/gemini-3-flash-preview"}]}
        elif key == EXHAUSTED_KEY:
            status, answer = 429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}
        else:
            status, answer = (
                400,
                {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid."}},
            )
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Quiet."""


@contextmanager
def gemini_stand_in() -> Iterator[str]:
    """The base URL of a running stand-in."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
