"""Two plain users in the page: side by side, stopping, leaving and coming back, reading errors."""

import re

from playwright.sync_api import expect

from echo_protocol import Catalogue
from echo_workers.gemini_sim.core import faults
from live import answers
from live.client import Client
from live.page import ASSISTANT, COMPLETE, STOP, WAIT_MS, ChatPage
from live.stack import Live


def drip(marker: str, *texts: str, delay_ms: float = 150, **more: object) -> faults.Entry:
    """A slow answer to whoever says `marker`."""
    return {
        **answers.parts(*({"text": text} for text in texts), delay_ms=delay_ms, **more),
        "match": answers.saying(marker),
    }


def test_two_plain_users_chat_at_once_and_never_meet(live: Live, ada_page: ChatPage, lea_page: ChatPage) -> None:
    pieces = range(12)
    live.sim.script(
        drip("herons", *(f"heron {n} " for n in pieces)), drip("loutres", *(f"loutre {n} " for n in pieces))
    )
    for page in (ada_page, lea_page):
        expect(page.page.locator("#model-selector-model-button")).to_have_text("ECHO")
    ada_page.send("Tell me about herons")
    lea_page.send("Parle-moi des loutres")
    for page, own, foreign in [(ada_page, "heron", "loutre"), (lea_page, "loutre", "heron")]:
        page.wait_done()
        shown = page.messages()[-1][1]
        assert shown.endswith(" ".join(f"{own} {n}" for n in pieces))
        assert foreign not in shown
        page.assert_clean_console()
    bodies = [request["body"] for request in live.sim.wait_requests(2, "streamGenerateContent")]
    assert ["herons" in body for body in bodies] != ["loutres" in body for body in bodies]
    assert all(("herons" in body) != ("loutres" in body) for body in bodies)


def test_each_next_turn_carries_only_its_own_conversation(live: Live, ada_page: ChatPage, lea_page: ChatPage) -> None:
    for page, question in [(ada_page, "And their nests?"), (lea_page, "Et leurs terriers ?")]:
        page.send(question)
    for page in (ada_page, lea_page):
        page.wait_done()
    for request in live.sim.wait_requests(2, "streamGenerateContent"):
        ours, theirs = ("heron", "loutre") if "nests" in request["body"] else ("loutre", "heron")
        assert f"{ours} 11" in request["body"]
        assert theirs not in request["body"]
    for page in (ada_page, lea_page):
        expect(page.page.locator("[data-sonner-toast]")).to_have_count(0)


def test_stop_keeps_the_partial_text_and_the_next_turn_carries_it(live: Live, ada_page: ChatPage, ada: Client) -> None:
    live.sim.script(drip("glaciers", "Ice flows. ", "It carves. ", end="hang", delay_ms=50))
    ada_page.next_chat()
    ada_page.send("Tell me about glaciers")
    expect(ada_page.page.locator(ASSISTANT).last).to_contain_text("It carves.")
    ada_page.stop()
    live.sim.wait_ended("glaciers", "reset_by_client")
    assert ada_page.messages()[-1][1].endswith("Ice flows. It carves.")
    answer = ada_page.ask("And then?")
    assert answer
    assert "It carves." in live.sim.requests("streamGenerateContent")[-1]["body"]
    assert live.sim.requests("streamGenerateContent")[-1]["status"] == 200
    ada_page.open_chat(ada_page.chat_id)
    assert ada_page.messages()[1][1].endswith("Ice flows. It carves.")
    ada_page.assert_clean_console()


def test_a_page_that_was_closed_shows_the_whole_answer_later(live: Live, ada_page: ChatPage, ada: Client) -> None:
    live.sim.script(drip("volcanoes", *(f"lava {n} " for n in range(8))))
    ada_page.next_chat()
    ada_page.send("Tell me about volcanoes")
    expect(ada_page.page.locator(ASSISTANT).last).to_contain_text("lava 0")
    chat_id = ada_page.chat_id
    ada_page.page.goto("about:blank")
    live.sim.wait_ended("volcanoes", "complete")
    ada_page.open_chat(chat_id)
    expect(ada_page.page.locator(ASSISTANT).last.locator(COMPLETE)).to_be_attached()
    expect(ada_page.page.locator(STOP)).to_have_count(0)
    assert ada_page.messages()[-1][1].endswith(" ".join(f"lava {n}" for n in range(8)))


def test_an_error_is_shown_in_the_readers_language_beside_what_had_come(live: Live, lea_page: ChatPage) -> None:
    live.sim.script(
        {**faults.mid_stream_error("La moitié de ", "la réponse.", times=-1), "match": answers.saying("marées")}
    )
    lea_page.next_chat()
    lea_page.send("Explique les marées")
    told = re.compile(
        r"Gemini est surchargé : ce modèle n'a plus de capacité pour le moment\. Réessayez dans un instant, ou "
        r"choisissez un autre modèle\. \([0-9a-f]{8}\)"
    )
    answer = lea_page.page.locator(ASSISTANT).last
    expect(answer.get_by_text(told)).to_be_visible(timeout=WAIT_MS)
    expect(answer).to_contain_text("La moitié de la réponse.")
    lea_page.shot("error-fr")
    lea_page.open_chat(lea_page.chat_id)
    expect(answer.get_by_text(told)).to_be_visible()
    expect(answer).to_contain_text("La moitié de la réponse.")
    lea_page.assert_clean_console()


def test_a_wait_is_shown_while_it_lasts(live: Live, lea_page: ChatPage) -> None:
    live.sim.script({**faults.quota_exhausted(retry_s=2), "match": answers.saying("nuages")})
    lea_page.next_chat()
    lea_page.send("Explique les nuages")
    answer = lea_page.page.locator(ASSISTANT).last
    expect(answer).to_contain_text("La limite par minute de Gemini est atteinte. Nouvel essai dans 3 s.")
    lea_page.shot("waiting-fr")
    lea_page.wait_done()
    expect(answer).to_contain_text("Attente de Gemini : 3 s.")
    expect(answer).not_to_contain_text("Nouvel essai")


def test_a_users_own_valves_are_in_the_panel_and_count(live: Live, lea_page: ChatPage, lea: Client) -> None:
    lea_page.next_chat()
    lea_page.page.locator("#model-valves-button").click()
    panel = lea_page.page.get_by_role("dialog")
    for described in ("Niveau du modèle", "Montrer le résumé des réflexions", "Temps de réflexion"):
        expect(panel.get_by_text(described)).to_be_visible()
    panel.locator("button[type=button]").first.click()  # "Default" becomes a choice
    panel.get_by_role("combobox").select_option("PRO")
    panel.locator("button[type=submit]").click()
    lea_page.page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    lea_page.ask("Bonjour")
    pro = Catalogue.load().resolve("MODEL_PRO", "ai_studio").backend_id("ai_studio")
    assert f"/{pro}:" in live.sim.requests("streamGenerateContent")[0]["path"]
    lea.post("/api/v1/functions/id/echo_orchestrator/valves/user/update", {})
    lea_page.assert_clean_console()
