"""The harness itself, on the real thing: what other live tests rely on."""

from live.stack import Live


def test_a_question_over_http_is_answered_by_the_simulator_and_stored(live: Live) -> None:
    ada = live.new_user()
    live.sim.reset()
    turn = ada.turn("Say hello.")
    assert turn.text and not turn.error
    assert turn.message["done"] is True
    assert "Say hello." in live.sim.wait_requests(1, "GenerateContent")[0]["body"]
    following = ada.turn("And again?", chat_id=turn.chat_id, parent=turn.assistant_id)
    assert following.chat_id == turn.chat_id
    assert len(ada.messages(turn.chat_id)) == 4


def test_scripted_chunks_arrive_in_a_plain_api_stream(live: Live) -> None:
    chunks = list(live.new_user().stream([{"role": "user", "content": "hi"}]))
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c.get("choices"))
