"""Large strings leave the rows and come back byte for byte, each stored once."""

import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_constants.limits import BLOB_THRESHOLD_BYTES
from echo_core.records import Seal
from echo_paths import EchoPaths
from echo_state_manager import SessionStore, SessionStores
from echo_state_manager._blobs import cut_json, cut_whole, fill, refs_json, refs_of, wanted
from store_kit import CHAT, USER, ManualClock, sealed, shadow, signature

small = st.text(max_size=30)
large = st.builds(lambda text, n: (text or "x") * n, small, st.integers(20_000, 50_000))
scalars = st.none() | st.booleans() | st.integers() | small | large
documents = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(small, inner, max_size=4))


@given(documents, st.booleans())
def test_a_cut_document_is_json_and_fills_up_to_the_same_bytes(value: object, ascii_only: bool) -> None:
    document = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    rest, cuts = cut_json("f", document)
    json.loads(rest)
    column = refs_json(cuts)
    assert fill("f", rest, column, {cut.sha256: cut.data for cut in cuts}.__getitem__) == document
    assert all(len(cut.data) > BLOB_THRESHOLD_BYTES for cut in cuts)
    longest_left = max((len(text) for text in rest.split(b'"')), default=0)
    assert not cuts or longest_left <= BLOB_THRESHOLD_BYTES + 100


@given(st.binary(max_size=200), st.integers(0, 600))
def test_any_bytes_survive_even_when_they_are_not_json(noise: bytes, repeat: int) -> None:
    document = b'"' + noise * repeat + b'"' + noise
    rest, cuts = cut_json("f", document)
    assert fill("f", rest, refs_json(cuts), {cut.sha256: cut.data for cut in cuts}.__getitem__) == document


def test_only_the_string_above_the_limit_is_cut() -> None:
    at, above = "a" * BLOB_THRESHOLD_BYTES, "b" * (BLOB_THRESHOLD_BYTES + 1)
    document = json.dumps([at, {"k": above}]).encode()
    rest, cuts = cut_json("f", document)
    assert rest == json.dumps([at, {"k": ""}]).encode()
    assert [cut.data for cut in cuts] == [above.encode()]
    assert cut_whole("f", at.encode()) == (at.encode(), [])
    assert cut_whole("f", above.encode())[0] == b""


def test_cuts_of_several_values_share_a_column() -> None:
    _, first = cut_whole("a", b"x" * 40_000)
    rest, second = cut_json("b", json.dumps(["y" * 40_000, "z" * 40_000]).encode())
    column = refs_json([*first, *second])
    assert [ref[0] for ref in refs_of(column)] == ["a", "b", "b"]
    assert wanted([column, "", column]) == [cut.sha256 for cut in (*first, *second)]
    blobs = {cut.sha256: cut.data for cut in (*first, *second)}
    assert fill("a", b"", column, blobs.__getitem__) == b"x" * 40_000
    assert fill("b", rest, column, blobs.__getitem__) == json.dumps(["y" * 40_000, "z" * 40_000]).encode()
    assert refs_json([]) == ""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return EchoPaths(tmp_path).session_db(USER, CHAT)


@pytest.fixture
async def store(tmp_path: Path, path: Path) -> AsyncIterator[SessionStore]:
    stores = SessionStores(EchoPaths(tmp_path), ManualClock())
    async with stores.open_file(path) as opened:
        yield opened
    await stores.close()


def stored_blobs(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    sizes = [row[0] for row in connection.execute("SELECT length(data) FROM blobs ORDER BY 1")]
    connection.close()
    return sizes


async def test_an_image_and_its_signature_are_stored_once_however_often_they_are_sealed(
    store: SessionStore, path: Path
) -> None:
    """The signature is in the part and in `cognitive_signatures`, the image in several messages and versions."""
    image, anchor = "i" * 3_000_000, "s" * 3_100_000
    part = {"inlineData": {"mimeType": "image/png", "data": image}, "thoughtSignature": anchor}
    document = json.dumps([{"role": "model", "parts": [part]}]).encode()
    for message_id in ("m1", "m2"):
        for text in ("first", "second"):
            made = shadow(message_id, text, contents_json=document)
            await store.seal(
                Seal(shadow=made, signatures=(signature(message_id, value=anchor),), tool_io_json=document)
            )
    assert stored_blobs(path) == [3_000_000, 3_100_000]
    assert (await store.get_message_shadows(["m1"]))["m1"].contents_json == document
    assert [row.thought_signature for row in await store.get_signatures("m2")] == [anchor]
    rows = sqlite3.connect(path)
    assert rows.execute("SELECT max(length(full_parts_json)) FROM message_shadows").fetchone()[0] < 200
    rows.close()


async def test_what_stays_in_a_row_can_be_read_as_json_by_sqlite(store: SessionStore, path: Path) -> None:
    await store.seal(sealed("m1", "x" * 50_000))
    rows = sqlite3.connect(path)
    query = "SELECT json_extract(CAST(full_parts_json AS TEXT), '$[0].parts[0].text') FROM message_shadows"
    assert rows.execute(query).fetchone() == ("",)
    rows.close()
