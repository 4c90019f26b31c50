"""Signatures: own ones are known again, anything else in the current turn is refused."""

import base64
import statistics
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echo_workers.gemini_sim.core.errors import GoogleRefusal
from echo_workers.gemini_sim.core.models import find_model
from echo_workers.gemini_sim.core.signatures import DUMMIES, Carrier, Signer, carrier_of
from echo_workers.gemini_sim.core.turns import check_signatures, check_turns

SIGNER = Signer(secret=b"test secret")
FLASH = find_model("gemini-3-flash-preview", "v1beta", "generateContent", with_retired=False)
LATER = find_model("gemini-3.8-flash", "v1beta", "generateContent", with_retired=False)
OLD = find_model("gemini-2.5-flash", "v1beta", "generateContent", with_retired=False)
CALL = Carrier(kind="functionCall", name="f", call_id="abc")
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def issue(carrier: Carrier, seed: bytes = b"seed", **more: Any) -> str:
    return SIGNER.issue(
        carrier, **{"scope": "gemini-chat", "backend": "ai_studio", "thought_tokens": 7, **more}, seed=seed
    )


def judge(signature: str, carrier: Carrier = CALL) -> str:
    return SIGNER.judge(signature, carrier, scope="gemini-chat", backend="ai_studio")


def test_an_issued_signature_is_valid_in_both_alphabets() -> None:
    signature = issue(CALL)
    assert judge(signature) == "valid"
    assert judge(signature.replace("+", "-").replace("/", "_")) == "valid"
    assert SIGNER.thought_tokens(signature) == 7


def test_a_part_without_id_is_matched_by_name() -> None:
    assert judge(issue(CALL), Carrier(kind="functionCall", name="f")) == "valid"
    assert judge(issue(CALL), Carrier(kind="functionCall", name="g")) == "moved"


@pytest.mark.parametrize(
    ("signature", "verdict"),
    [
        (issue(CALL, backend="code_assist"), "out_of_scope"),
        (issue(CALL, scope="gemini-image"), "out_of_scope"),
        (issue(Carrier(kind="functionCall", name="f", call_id="xyz")), "moved"),
        (issue(Carrier(kind="text")), "moved"),
        (
            Signer(secret=b"another").issue(
                CALL, scope="gemini-chat", backend="ai_studio", thought_tokens=0, seed=b"s"
            ),
            "tampered",
        ),
        (base64.b64encode(b"somebody else's blob").decode(), "foreign"),
        ("no base64!", "tampered"),
        ("", "tampered"),
        *((dummy, "dummy") for dummy in sorted(DUMMIES)),
    ],
)
def test_other_blobs_are_told_apart(signature: str, verdict: str) -> None:
    assert judge(signature) == verdict


def test_foreign_blobs_pass_only_in_replay_mode() -> None:
    trusting = Signer(secret=b"test secret", trust_foreign=True)
    foreign = base64.b64encode(b"from the real service").decode()
    assert trusting.judge(foreign, CALL, scope="gemini-chat", backend="ai_studio") == "valid"
    moved = issue(Carrier(kind="functionCall", name="g"))
    assert trusting.judge(moved, CALL, scope="gemini-chat", backend="ai_studio") == "moved"


def test_sizes_follow_the_recorded_distribution() -> None:
    sizes = [len(issue(CALL, seed=bytes([at, at // 256]))) for at in range(256)]
    assert 550 < statistics.median(sizes) < 800
    assert max(sizes) > 2_000
    image = len(issue(Carrier(kind="inlineData")))
    assert 1_000_000 < image < 2_950_000


@given(st.binary(min_size=1, max_size=8), st.sampled_from(["functionCall", "text", "toolCall", "executableCode"]))
def test_every_signature_is_whole_base64_without_padding(seed: bytes, kind: Any) -> None:
    signature = issue(Carrier(kind=kind), seed=seed)
    assert len(signature) % 4 == 0
    assert not signature.endswith("=")
    assert judge(signature, Carrier(kind=kind)) == "valid"


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """An earlier turn with a call, then a current turn of one to three steps of one to three parallel calls."""
    contents: list[dict[str, Any]] = []
    number = 0
    for steps in (draw(st.integers(0, 2)), draw(st.integers(1, 3))):
        contents.append({"role": "user", "parts": [{"text": "go"}]})
        for _ in range(steps):
            calls, answers = [], []
            for at in range(draw(st.integers(1, 3))):
                number += 1
                call = {"name": draw(st.sampled_from(["f", "g"])), "args": {}, "id": f"id{number}"}
                part: dict[str, Any] = {"functionCall": call}
                if at == 0:
                    part["thoughtSignature"] = issue(carrier_of(part), seed=number.to_bytes(2, "big"))
                calls.append(part)
                answers.append({"functionResponse": {"name": call["name"], "id": call["id"], "response": {}}})
            contents += [{"role": "model", "parts": calls}, {"role": "user", "parts": answers}]
    return contents


def signed(contents: list[dict[str, Any]], *, current: bool) -> list[dict[str, Any]]:
    opened = max(at for at, content in enumerate(contents) if "text" in content["parts"][0])
    chosen = contents[opened:] if current else contents[:opened]
    return [part for content in chosen for part in content["parts"] if "thoughtSignature" in part]


def refused(contents: list[dict[str, Any]]) -> str:
    check_turns(contents, FLASH)
    with pytest.raises(GoogleRefusal) as caught:
        check_signatures(contents, FLASH, SIGNER, "ai_studio")
    assert caught.value.http_status == 400
    return caught.value.text


@given(conversations())
def test_an_untouched_conversation_is_accepted(contents: list[dict[str, Any]]) -> None:
    check_turns(contents, LATER)
    check_signatures(contents, LATER, SIGNER, "ai_studio")


@given(conversations(), st.data())
def test_a_tampered_signature_in_the_current_turn_is_refused(
    contents: list[dict[str, Any]], data: st.DataObject
) -> None:
    part = data.draw(st.sampled_from(signed(contents, current=True)))
    old = part["thoughtSignature"]
    at = data.draw(st.integers(0, len(old) - 1))
    new = data.draw(st.sampled_from([letter for letter in ALPHABET if letter != old[at]]))
    part["thoughtSignature"] = old[:at] + new + old[at + 1 :]
    assert refused(contents) == "Corrupted thought signature."


@given(conversations(), st.data())
def test_a_shortened_or_lengthened_signature_is_refused(contents: list[dict[str, Any]], data: st.DataObject) -> None:
    part = data.draw(st.sampled_from(signed(contents, current=True)))
    old = part["thoughtSignature"]
    cut = data.draw(st.integers(1, 30))
    part["thoughtSignature"] = data.draw(st.sampled_from([old[: -4 * cut], old + "AAAA" * cut, old[4 * cut :]]))
    assert refused(contents) == "Corrupted thought signature."


@given(conversations(), st.data())
def test_a_signature_moved_to_another_part_is_refused(contents: list[dict[str, Any]], data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(signed(contents, current=True)))
    carriers = [part for content in contents for part in content["parts"] if "functionCall" in part]
    donor = data.draw(st.sampled_from(carriers))
    moved = issue(carrier_of(donor), seed=b"donor")
    target["thoughtSignature"] = moved
    if donor["functionCall"]["id"] == target["functionCall"]["id"]:
        check_signatures(contents, FLASH, SIGNER, "ai_studio")
    else:
        assert refused(contents) == "Corrupted thought signature."


@given(conversations(), st.data())
def test_a_missing_signature_is_named_with_its_call_and_place(
    contents: list[dict[str, Any]], data: st.DataObject
) -> None:
    part = data.draw(st.sampled_from(signed(contents, current=True)))
    del part["thoughtSignature"]
    place = next(at for at, content in enumerate(contents) if any(other is part for other in content["parts"]))
    text = refused(contents)
    assert text.startswith("Function call is missing a thought_signature in functionCall parts.")
    assert f"function call `default_api:{part['functionCall']['name']}` , position {place + 1}." in text


@given(conversations())
def test_earlier_turns_and_texts_are_never_judged(contents: list[dict[str, Any]]) -> None:
    changed = deepcopy(contents)
    for part in signed(changed, current=False):
        part["thoughtSignature"] = "AAAA"
    changed.insert(0, {"role": "model", "parts": [{"text": "hi", "thoughtSignature": "AAAA"}]})
    check_signatures(changed, FLASH, SIGNER, "ai_studio")


@given(conversations(), st.sampled_from(sorted(DUMMIES)))
def test_dummies_stand_in_for_any_signature(contents: list[dict[str, Any]], dummy: str) -> None:
    for part in signed(contents, current=True):
        part["thoughtSignature"] = dummy
    check_signatures(contents, FLASH, SIGNER, "ai_studio")


@given(conversations())
def test_another_backends_signatures_are_refused_in_the_current_turn(contents: list[dict[str, Any]]) -> None:
    with pytest.raises(GoogleRefusal, match="Corrupted thought signature"):
        check_signatures(contents, FLASH, SIGNER, "code_assist")
    with pytest.raises(GoogleRefusal, match="Invalid thought signature"):
        check_signatures(contents, LATER, SIGNER, "code_assist")


@given(conversations())
def test_models_before_three_do_not_ask_for_signatures(contents: list[dict[str, Any]]) -> None:
    for part in signed(contents, current=True):
        del part["thoughtSignature"]
    check_signatures(contents, OLD, SIGNER, "ai_studio")
