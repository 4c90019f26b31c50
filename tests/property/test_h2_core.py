"""The HTTP/2 core against frames in any cut, and against noise."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from echo_http._frames import DroppedData, FrameSieve, GoAwayFrame
from echo_http._h2_core import H2Core, PeerBrokeProtocol

HEADERS = [(b":method", b"POST"), (b":scheme", b"http"), (b":authority", b"x"), (b":path", b"/")]


def frame(kind: int, stream_id: int, payload: bytes, flags: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream_id.to_bytes(4, "big") + payload


FRAMES = st.lists(
    st.one_of(
        st.builds(frame, st.just(0), st.sampled_from([1, 3, 5, 7, 9]), st.binary(max_size=40)),
        st.builds(frame, st.sampled_from([1, 3, 4, 6, 8, 0x20]), st.integers(0, 9), st.binary(max_size=40)),
        st.builds(
            lambda last, reason: frame(7, 0, last.to_bytes(4, "big") + bytes(4) + reason),
            st.integers(0, 9),
            st.binary(max_size=20),
        ),
    )
)


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in at)})
    return [data[start:end] for start, end in pairwise(places)]


def sieve(pieces: list[bytes]) -> tuple[bytes, list[object]]:
    one = FrameSieve({1, 5})
    one.opened(7)
    passed, kept = b"", []
    for piece in pieces:
        for part in one.push(piece):
            if isinstance(part, DroppedData | GoAwayFrame):
                kept.append(part)
            else:
                passed += bytes(part)
    return passed, kept


@given(FRAMES, st.lists(st.integers(0, 5_000)))
def test_the_sieve_keeps_back_the_same_frames_however_the_bytes_are_cut(frames: list[bytes], at: list[int]) -> None:
    passed, kept = sieve(cut(b"".join(frames), at))
    dropped = [one for one in frames if one[3] == 0 and one[8] in (3, 7)]
    goaways = [one for one in frames if one[3] == 7]
    assert passed == b"".join(one for one in frames if one not in dropped and one not in goaways)
    assert [part.size_bytes for part in kept if isinstance(part, DroppedData)] == [len(one) - 9 for one in dropped]
    assert [part.last_stream_id for part in kept if isinstance(part, GoAwayFrame)] == [one[12] for one in goaways]


@given(st.lists(st.binary(max_size=100)))
def test_noise_ends_a_connection_in_an_orderly_way(pieces: list[bytes]) -> None:
    core = H2Core()
    core.start()
    core.open(HEADERS, end=True)
    try:
        for piece in pieces:
            core.receive(piece)
    except PeerBrokeProtocol:
        assert core.free_slots == 0
        assert core.data_to_send()
