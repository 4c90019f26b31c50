from echo_runtime import _owui


async def test_a_picture_that_an_older_release_stored_in_the_message_is_read_as_it_is() -> None:
    assert await _owui.image_data_uri("data:image/png;base64,AAAA", {"id": "u"}) == "data:image/png;base64,AAAA"
