import base64

import pytest

from echo_protocol import user_parts

PNG = base64.b64encode(b"\x89PNG fine").decode()


def sent(url: str) -> dict[str, object]:
    [part] = user_parts([{"type": "image_url", "image_url": {"url": url}}])
    return part.wire


@pytest.mark.parametrize("data", ["!!!", "AAAAA", "", "===="])
def test_data_that_is_none_becomes_a_note_and_never_poisons_the_chat(data: str) -> None:
    assert "left out" in str(sent(f"data:image/png;base64,{data}").get("text"))


@pytest.mark.parametrize("blank", [" ", "\n", "\r\n", "\t"])
def test_blanks_in_the_data_are_taken_out(blank: str) -> None:
    broken = PNG[:5] + blank + PNG[5:]
    assert sent(f"data:image/png;base64,{broken}") == {"inlineData": {"mimeType": "image/png", "data": PNG}}


def test_url_safe_data_is_written_in_the_standard_alphabet() -> None:
    url_safe = base64.urlsafe_b64encode(bytes(range(248, 256)) * 3).decode()
    standard = base64.b64encode(bytes(range(248, 256)) * 3).decode()
    assert sent(f"data:image/png;base64,{url_safe}") == {"inlineData": {"mimeType": "image/png", "data": standard}}
