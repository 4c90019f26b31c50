"""Breaks a response on the wire, which ASGI has no message for.

Rests on the pinned hypercorn: the `send` callable of an application is a method of its HTTP stream object, which leads
to the protocol and the socket. A test resets both an HTTP/1.1 and an HTTP/2 stream, so that an update that changes
this is noticed.
"""

from typing import Any, Final

from starlette.types import Send

#: RST_STREAM error code. Source: RFC 9113 section 7, INTERNAL_ERROR.
_INTERNAL_ERROR: Final = 0x2


async def reset_stream(send: Send) -> None:
    """Reset the response: RST_STREAM on HTTP/2, TCP abort on HTTP/1.1. Bytes sent before still go out first.

    Raises:
        RuntimeError: the server is not the hypercorn version that this knows.
    """
    stream, protocol = _objects(send)
    if hasattr(protocol, "stream_buffers"):
        await flushed(send)
        protocol.connection.reset_stream(stream.stream_id, error_code=_INTERNAL_ERROR)
        await protocol._flush()
        return
    server: Any = getattr(getattr(protocol, "send", None), "__self__", None)
    writer = getattr(server, "writer", None)
    if writer is None:
        raise RuntimeError("resetting a stream needs hypercorn's stream objects")
    await writer.drain()
    writer.transport.abort()


async def flushed(send: Send) -> None:
    """Wait until what was sent on an HTTP/2 stream has left, or the client has reset it; other forms do not wait.

    Hypercorn takes a body faster than the client's window lets it go, so an application can be done long before.
    """
    stream, protocol = _objects(send)
    buffer = getattr(protocol, "stream_buffers", {}).get(getattr(stream, "stream_id", None))
    if buffer is not None and buffer.buffer:
        await buffer.drain()


def _objects(send: Send) -> tuple[Any, Any]:
    """Hypercorn's stream object behind `send`, and its protocol; None where the server is another one."""
    stream: Any = getattr(send, "__self__", None)
    return stream, getattr(getattr(stream, "send", None), "__self__", None)
