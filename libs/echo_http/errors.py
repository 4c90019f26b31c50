"""What the transport raises: httpx's tree, with the differences that decide about sending again.

httpx.ConnectError, ConnectTimeout, ProxyError, PoolTimeout: nothing was sent.
httpx.ConnectError
└── TlsSetupError         our own TLS settings do not work
httpx.ReadTimeout
├── FirstByteTimeout      the answer did not begin
├── IdleTimeout           the answer (or the upload) stopped moving
httpx.RemoteProtocolError
├── RequestNotProcessed   the server said that it did not touch the request; sending again is safe
├── StreamResetByPeer     the server gave up this stream
httpx.ReadError
└── ConnectionLost        the connection went away under the stream; whether the request ran is not known
"""

import httpx


class RequestNotProcessed(httpx.RemoteProtocolError):
    """The server did not process the request (GOAWAY below its id, or RST_STREAM REFUSED_STREAM).

    Source: RFC 9113 sections 6.8 and 8.7.
    """


class TlsSetupError(httpx.ConnectError):
    """The CA file cannot be read."""


class FirstByteTimeout(httpx.ReadTimeout):
    """Nothing of the answer's body arrived in `first_byte_s`."""


class IdleTimeout(httpx.ReadTimeout):
    """Nothing moved on the stream for `idle_s`."""


class StreamResetByPeer(httpx.RemoteProtocolError):
    """The server sent RST_STREAM.

    Args:
        code: HTTP/2 error code. Source: RFC 9113 section 7.
    """

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class ConnectionLost(httpx.ReadError):
    """The connection ended while the stream was open."""
