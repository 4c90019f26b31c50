"""One class of behaviour for all stores: the SQLite file, plain and encrypted, and its twin in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from echo_aec import Asking, EchoAEC, Transient
from echo_core.ports import ShadowStore
from echo_core.records import Resource, Seal, VersionLock
from echo_paths import EchoPaths
from echo_state_manager import MemoryShadowStore, SessionStores
from store_kit import CHAT, SECRET, USER, ManualClock, contents, seal, shadow, signature

BIG = "A" * 40_000


@pytest.fixture(params=["sqlite", "encrypted", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ShadowStore]:
    stores = SessionStores(EchoPaths(tmp_path), ManualClock(), SECRET)
    chat_id = "temporary:socket" if request.param == "memory" else CHAT
    async with stores.open(USER, chat_id, encrypted=request.param == "encrypted") as opened:
        yield opened
    await stores.close()
    assert (tmp_path / "users").exists() == (request.param != "memory")


LOCK = VersionLock(updated_at_s=7, fingerprint="sha256:f", provisional=False)


class TestShadowStore:
    async def test_what_was_sealed_comes_back_identical(self, store: ShadowStore) -> None:
        one = shadow("m1", "hé\u0000llo", overlay_json=b'[{"k":null}]', state="stopped", lock=LOCK, client_hash="c")
        await store.seal(Seal(shadow=one))
        await store.seal(seal("m2", "other"))
        assert await store.get_message_shadows(["m2", "m1", "nobody"]) == {"m1": one, "m2": shadow("m2", "other")}

    async def test_settings_are_found_by_how_their_keys_begin(self, store: ShadowStore) -> None:
        for key, value in (("figures:a", "1"), ("figures:b_%", "2"), ("figure", "3"), ("x figures:", "4")):
            await store.save_setting(key, value)
        assert await store.settings_beginning("figures:") == {"figures:a": "1", "figures:b_%": "2"}
        await store.save_setting("figures:0", "5")
        assert list(await store.settings_beginning("figures:")) == ["figures:a", "figures:b_%", "figures:0"]
        assert await store.settings_beginning("figures:b_") == {"figures:b_%": "2"}
        assert await store.settings_beginning("nothing") == {}

    async def test_a_message_waits_for_the_session_memory_until_it_is_noted_and_again_when_it_changes(
        self, store: ShadowStore
    ) -> None:
        one = replace(shadow("m1", "one"), invariant_hash="sha256:1")
        await store.seal_many([Seal(shadow=one), seal("m2", "two"), Seal(shadow=shadow("m3", "…", state="streaming"))])
        waiting = [message_id for message_id in await store.unembedded() if message_id != "m3"]
        assert waiting == ["m2", "m1"]
        await store.mark_embedded([one])
        if isinstance(store, MemoryShadowStore):  # what leaves nothing on the disk always waits
            return
        assert await store.unembedded() == ["m2"]
        await store.seal(Seal(shadow=one))
        assert await store.unembedded() == ["m2"], "sealed again as it was"
        changed = replace(one, invariant_hash="sha256:2")
        await store.seal(Seal(shadow=changed))
        await store.mark_embedded([one])
        assert sorted(await store.unembedded()) == ["m1", "m2"], "what was embedded is not what it is now"

    async def test_no_ids_give_nothing(self, store: ShadowStore) -> None:
        assert await store.get_message_shadows([]) == {}

    @pytest.mark.parametrize(
        "document",
        [
            contents(BIG),
            contents(BIG, "small", BIG, BIG + "\\u00e9"),
            contents("x", thoughtSignature="S" * 3_000_000),
            b'[{"role":"model","parts":[{"text":"'
            + b'\\"\\\\\\n' * 20_000
            + b'"},{"text":"'
            + b"z" * 33_000
            + b'"}]}]',
            contents('["parts", 4, "e3b0c442"]' * 3000, role="blob"),
            ('["' + "é" * 40_000 + '"]').encode(),
            b"[]",
        ],
        ids=["one", "several", "signature", "escapes", "looks-like-ours", "two-byte", "empty"],
    )
    async def test_large_values_come_back_byte_for_byte(self, store: ShadowStore, document: bytes) -> None:
        one = shadow(contents_json=document, overlay_json=document, visible_text=document.decode())
        await store.seal(Seal(shadow=one, tool_io_json=document))
        assert (await store.get_message_shadows(["m1"]))["m1"] == one
        assert await store.get_message_shadow("m1") == one
        assert await store.get_tool_io(one.cumulative_hash) == document

    async def test_strings_that_utf8_cannot_hold_survive(self, store: ShadowStore) -> None:
        for text in ("broken \ud83d end", "\ud83d" * 40_000):
            one = shadow(visible_text=text)
            await store.seal(Seal(shadow=one, settings={"k": text}))
            assert (await store.get_message_shadows(["m1"]))["m1"].visible_text == text
            assert await store.get_setting("k") == text

    async def test_resources_come_back_by_kind_in_order(self, store: ShadowStore) -> None:
        one = Resource(id="p1", name="Plan", kind="plan", payload="# é", anchor_message_id="m1")
        for resource in (one, Resource(id="f1", name="f", kind="file", payload=""), replace(one, id="p2")):
            await store.save_resource(resource)
        await store.save_resource(replace(one, payload="new", status="done"))
        assert await store.get_resources("plan") == [replace(one, payload="new", status="done"), replace(one, id="p2")]
        assert await store.get_resources("media") == []

    async def test_sealing_again_replaces_the_shadow_and_keeps_the_former(self, store: ShadowStore) -> None:
        for text in ("first", "second", "first", "third"):
            await store.seal(seal("m1", text))
        assert (await store.get_message_shadows(["m1"]))["m1"] == shadow("m1", "third")
        assert list(await store.get_former_shadows("m1")) == [shadow("m1", "second"), shadow("m1", "first")]

    async def test_large_values_of_a_former_shadow_are_kept(self, store: ShadowStore) -> None:
        former = shadow("m1", BIG, lock=LOCK)
        await store.seal(Seal(shadow=former))
        await store.seal(seal("m1", "edited"))
        assert list(await store.get_former_shadows("m1")) == [former]

    async def test_a_relinked_or_streaming_message_is_not_a_former_one(self, store: ShadowStore) -> None:
        await store.seal(seal("m1", "draft", state="streaming", cumulative_hash=""))
        await store.seal(seal("m1", "done"))
        await store.seal(seal("m1", "done", parent_hash="p", cumulative_hash="sha256:elsewhere"))
        assert list(await store.get_former_shadows("m1")) == []

    async def test_signatures_come_back_in_the_order_of_parts(self, store: ShadowStore) -> None:
        rows = (signature(place=(2, 0), value="b" * 50_000), signature(place=(0, 1)), signature(place=(0, 0)))
        await store.seal(Seal(shadow=shadow(), signatures=rows))
        assert list(await store.get_signatures("m1")) == [rows[2], rows[1], rows[0]]
        assert list(await store.get_signatures("m2")) == []

    async def test_signatures_follow_the_content(self, store: ShadowStore) -> None:
        await store.seal(Seal(shadow=shadow("m1", "first"), signatures=(signature(value="one"),)))
        await store.seal(Seal(shadow=shadow("m1", "second"), signatures=(signature(value="two"),)))
        assert [row.thought_signature for row in await store.get_signatures("m1")] == ["two"]
        await store.seal(seal("m1", "third"))
        assert list(await store.get_signatures("m1")) == []

    async def test_a_relinked_message_keeps_bytes_signatures_and_tool_journal(self, store: ShadowStore) -> None:
        big = signature(place=(0, 1), value="b" * 50_000)
        before = shadow("m1", BIG, lock=LOCK, visible_text="v")
        await store.seal(Seal(shadow=before, signatures=(signature(), big), tool_io_json=contents(BIG)))
        await store.seal(seal("m2"))
        after = replace(before, parent_hash="sha256:p", cumulative_hash="sha256:new")
        await store.relink_many([after, shadow("nobody")])
        assert await store.get_message_shadows(["m1", "nobody"]) == {"m1": after}
        assert list(await store.get_signatures("m1")) == [signature(), big]
        assert await store.get_tool_io("sha256:new") == contents(BIG)
        again = replace(after, cumulative_hash="sha256:newer")
        await store.seal(Seal(shadow=again))
        assert list(await store.get_signatures("m1")) == [signature(), big]
        assert await store.get_tool_io("sha256:newer") == contents(BIG)

    async def test_sealing_many_is_sealing_each_in_turn(self, store: ShadowStore) -> None:
        first = seal("m1", "streaming", state="streaming", cumulative_hash="")
        middle = [Seal(shadow=shadow(f"n{n}", f"t{n}", parent_hash=f"p{n}"), settings={"n": str(n)}) for n in range(20)]
        last = Seal(shadow=shadow("m1", "b"), signatures=(signature(),))
        await store.seal(seal("m1", "0"))
        await store.append_turn_log("n3", [b"x"])
        await store.seal_many([first, seal("m1", "a"), *middle, last])
        found = await store.get_message_shadows(["m1", *(f"n{n}" for n in range(20))])
        assert found == {"m1": last.shadow} | {f"n{n}": middle[n].shadow for n in range(20)}
        assert list(await store.get_former_shadows("m1")) == [shadow("m1", "0"), shadow("m1", "a")]
        assert list(await store.get_signatures("m1")) == [signature()]
        assert await store.get_setting("n") == "19"
        assert list(await store.read_turn_log("n3")) == []
        await store.seal_many([])

    async def test_many_messages_are_locked_at_once(self, store: ShadowStore) -> None:
        await store.seal_many([seal("m1"), seal("m2", "b")])
        await store.lock_many({"m1": LOCK, "m2": replace(LOCK, updated_at_s=8), "nobody": LOCK})
        found = await store.get_message_shadows(["m1", "m2", "nobody"])
        assert {key: found[key].lock for key in found} == {"m1": LOCK, "m2": replace(LOCK, updated_at_s=8)}

    async def test_what_was_read_once_is_read_anew_after_a_write(self, store: ShadowStore) -> None:
        ids = [f"m{n}" for n in range(600)]
        await store.seal_many([seal(key, key) for key in ids])
        assert await store.get_message_shadows(ids) == {key: shadow(key, key) for key in ids}
        await store.seal(seal("m5", "other"))
        await store.lock("m6", LOCK)
        expected = {key: shadow(key, key) for key in ids} | {
            "m5": shadow("m5", "other"),
            "m6": shadow("m6", "m6", lock=LOCK),
        }
        assert await store.get_message_shadows(ids) == expected
        assert await store.get_message_shadows(ids[:7]) == {key: expected[key] for key in ids[:7]}

    async def test_other_parts_with_the_same_content_have_their_own_signatures(self, store: ShadowStore) -> None:
        """Two ways to say nothing visible have one content hash: a signed empty text, and no part at all."""
        signed = shadow(contents_json=contents("", thoughtSignature="s"))
        await store.seal(Seal(shadow=signed, signatures=(signature(value="s"),), tool_io_json=b"[1]"))
        bare = replace(signed, contents_json=b"[]")
        await store.seal(Seal(shadow=bare))
        assert list(await store.get_signatures("m1")) == []
        assert list(await store.get_former_shadows("m1")) == [signed]
        assert await store.get_tool_io(signed.cumulative_hash) == b"[1]"
        await store.seal(Seal(shadow=signed, signatures=(signature(value="s"),)))
        await store.seal(seal("m1", "edited"))
        assert list(await store.get_former_shadows("m1")) == [bare, signed]

    async def test_the_version_lock_decides_whether_a_shadow_is_given(self, store: ShadowStore) -> None:
        await store.seal(seal())
        assert await store.get_message_shadow("m1", 7) is None
        await store.lock("m1", replace(LOCK, provisional=True))
        assert await store.get_message_shadow("m1", 7) is None
        await store.lock("m1", LOCK)
        assert await store.get_message_shadow("m1", 8) is None
        assert await store.get_message_shadow("m1", 7) == shadow(lock=LOCK)
        assert await store.get_message_shadow("m2", 7) is None

    async def test_locking_an_unknown_message_does_nothing(self, store: ShadowStore) -> None:
        await store.lock("nobody", LOCK)
        assert await store.get_message_shadows(["nobody"]) == {}

    async def test_the_turn_log_lasts_until_the_message_is_sealed(self, store: ShadowStore) -> None:
        await store.append_turn_log("m1", [b"a", b"b"])
        await store.append_turn_log("m2", [b"x"])
        await store.append_turn_log("m1", [])
        await store.append_turn_log("m1", [b"", b"c" * 70_000])
        assert list(await store.read_turn_log("m1")) == [b"a", b"b", b"", b"c" * 70_000]
        await store.seal(seal("m1"))
        assert list(await store.read_turn_log("m1")) == []
        assert list(await store.read_turn_log("m2")) == [b"x"]

    async def test_only_a_streaming_message_is_recovered(self, store: ShadowStore) -> None:
        await store.seal(seal("m1", state="streaming", cumulative_hash=""))
        await store.append_turn_log("m1", [b"a", b"b"])
        await store.append_turn_log("m2", [b"x"])
        assert list(await store.streaming_messages()) == ["m1"]
        assert list(await store.recover_streaming("m1") or ()) == [b"a", b"b"]
        assert await store.recover_streaming("m2") is None
        await store.seal(seal("m1", state="failed"))
        assert await store.recover_streaming("m1") is None
        assert list(await store.streaming_messages()) == []

    async def test_the_first_to_claim_a_setting_decides_for_all(self, store: ShadowStore) -> None:
        claimed = await asyncio.gather(*(store.claim_setting("k", f"{n} é\ud800") for n in range(8)))
        assert len(set(claimed)) == 1
        assert await store.get_setting("k") == claimed[0]
        await store.save_setting("k", "")
        assert await store.claim_setting("k", "late") == ""

    async def test_several_settings_are_claimed_where_there_is_none(self, store: ShadowStore) -> None:
        await store.save_setting("kept", "1")
        await store.claim_settings({"kept": "2", "new é": "\ud800"})
        await store.claim_settings({})
        assert await store.get_settings(["new é", "absent", "kept"]) == {"kept": "1", "new é": "\ud800"}
        assert await store.get_settings([]) == {}

    async def test_changes_of_one_setting_are_made_one_after_the_other(self, store: ShadowStore) -> None:
        def one_more(held: str | None) -> str:
            return f"{held or ''}é"

        await asyncio.gather(*(store.update_setting("k", one_more) for _ in range(8)))
        assert await store.get_setting("k") == "é" * 8

    async def test_settings_are_written_alone_and_with_a_seal(self, store: ShadowStore) -> None:
        assert await store.get_setting("k") is None
        await store.save_setting("k", "1")
        await store.seal(Seal(shadow=shadow(), settings={"k": "2", "turn_origin_model:m1": "é"}))
        assert await store.get_setting("k") == "2"
        assert await store.get_setting("turn_origin_model:m1") == "é"

    async def test_api_sessions_are_found_by_their_client_hash(self, store: ShadowStore) -> None:
        await store.seal(seal("m1", "a", client_hash="h1"))
        await store.seal(seal("m2", "b", client_hash="h2"))
        await store.seal(seal("m3", "c", client_hash="h2"))
        await store.seal(seal("m4", "d"))
        found = await store.find_by_client_hash(["h2", "h3", ""])
        assert {key: found[key].message_id for key in found} == {"h2": "m3"}

    async def test_many_at_once_lose_nothing(self, store: ShadowStore) -> None:
        await asyncio.gather(*(store.seal(seal(f"m{n}", f"text {n}")) for n in range(50)))
        ids = [f"m{n}" for n in range(50)]
        assert await store.get_message_shadows(ids) == {f"m{n}": shadow(f"m{n}", f"text {n}") for n in range(50)}

    async def test_a_fresh_store_has_no_notices(self, store: ShadowStore) -> None:
        assert tuple(store.take_notices()) == ()

    async def test_a_kept_tool_result_is_read_in_ranges(self, store: ShadowStore) -> None:
        whole = "".join(f"{n:06d}é" for n in range(30_000))
        await store.keep_tool_output("m1", "call_1_0", whole)
        for start, end in ((0, 10), (65_530, 65_550), (100_000, 200_000), (-7, None), (209_990, 999_999), (5, 5)):
            kept = await store.read_tool_output("m1", "call_1_0", start, end)
            assert kept is not None
            assert (kept.text, kept.total_chars) == (whole[start:end], len(whole))
            assert whole[kept.start :].startswith(kept.text)
        assert await store.read_tool_output("m1", "call_1_1", 0, 10) is None
        assert await store.read_tool_output("m2", "call_1_0", 0, 10) is None

    async def test_a_kept_tool_result_of_the_same_call_is_replaced(self, store: ShadowStore) -> None:
        await store.keep_tool_output("m1", "c", "x" * 200_000)
        await store.keep_tool_output("m1", "c", "short")
        kept = await store.read_tool_output("m1", "c", 0, None)
        assert kept is not None and (kept.text, kept.total_chars) == ("short", 5)


def event(transient_id: str, anchor: str = "", at_s: int = 5, name: str = "tool_finished") -> Transient:
    return Transient(
        id=transient_id, type="aec_event", name=name, payload=f"<{transient_id}>", created_at_s=at_s,
        anchor_message_id=anchor,
    )  # fmt: skip


def joined(drained: Sequence[Transient]) -> bytes:
    return json.dumps([transient.payload for transient in drained]).encode()


def asking(question: str, answer: str, *chain: str, model: str = "m") -> Asking:
    return Asking(question_id=question, answer_id=answer, model_id=model, chain=(*chain, question))


class TestDirectiveStore:
    async def test_what_waits_is_told_once_on_a_chain_in_the_order_it_came(self, store: ShadowStore) -> None:
        for transient in (event("late", at_s=9), event("first"), event("second"), event("first")):
            await store.push_transient(transient)
        assert await store.drain(asking("u1", "a1"), joined) == b'["<first>", "<second>", "<late>"]'
        await store.push_transient(event("new"))
        assert await store.drain(asking("u2", "a2", "u1", "a1"), joined) == b'["<new>"]'
        assert await store.drain(asking("u3", "a3", "u1", "a1", "u2", "a2"), joined) == b"[]"

    async def test_all_answers_to_a_question_get_the_same_and_another_branch_gets_it_too(
        self, store: ShadowStore
    ) -> None:
        await store.push_transient(event("one"))
        first = await store.drain(asking("u1", "a1"), joined)
        await store.push_transient(event("two"))
        assert await store.drain(asking("u1", "b1"), joined) == first
        assert await store.drain(asking("u1", "c1", model="other"), joined) == first
        assert await store.drain(asking("u2", "a2", "u1", "b1"), joined) == b'["<two>"]'
        assert await store.drain(asking("branch", "x"), joined) == b'["<one>", "<two>"]'

    async def test_the_first_overlay_for_a_model_stands(self, store: ShadowStore) -> None:
        assert await store.drain(asking("u1", "a1"), lambda _: b"[1]") == b"[1]"
        assert await store.drain(asking("u1", "a2"), lambda _: b"[2]") == b"[1]"
        assert await store.drain(asking("u1", "a3", model="other"), lambda _: b"[3]") == b"[3]"

    async def test_what_belongs_to_a_message_is_told_only_below_it(self, store: ShadowStore) -> None:
        await store.push_transient(event("one", anchor="a1"))
        assert await store.drain(asking("elsewhere", "x", "u1"), joined) == b"[]"
        assert await store.drain(asking("u2", "a2", "u1", "a1"), joined) == b'["<one>"]'

    async def test_orphans_go_and_what_is_older_elsewhere_or_of_a_document_stays(self, store: ShadowStore) -> None:
        aec = EchoAEC(store)
        for transient in (
            event("gone", anchor="a1", at_s=10),
            event("older", anchor="a1", at_s=9),
            event("elsewhere", anchor="b1", at_s=10),
            event("chat", at_s=10),
            event("file", anchor="a1", at_s=10, name="document_indexed"),
        ):
            await aec.push(transient)
        assert await store.transient_anchors() == {"a1", "b1"}
        assert await aec.purge_orphaned_events(10, lost=()) == 0
        assert await aec.purge_orphaned_events(10, lost={"a1", "a2"}) == 1
        told = await aec.drain_pending_directives(asking("u2", "a2", "u1", "a1", "b1"), joined)
        assert json.loads(told) == ["<older>", "<elsewhere>", "<chat>", "<file>"]

    async def test_answers_that_begin_at_once_get_the_same(self, store: ShadowStore) -> None:
        for number in range(5):
            await store.push_transient(event(f"e{number}"))
        told = await asyncio.gather(*(store.drain(asking("u1", f"a{n}"), joined) for n in range(8)))
        assert len(set(told)) == 1
        for number in range(8):
            assert await store.drain(asking("u2", "x", "u1", f"a{number}"), joined) == b"[]"
