"""What a reader sees when the model level changes inside a turn."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from echo_workers.gemini_sim.core import faults
from live import answers
from live.page import ASSISTANT, ChatPage
from live.stack import Live

PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"


@pytest.fixture(autouse=True)
def _auto(live: Live) -> Iterator[None]:
    live.sim.reset()
    with live.valves(MODEL_SELECTION="AUTO"):
        yield


def test_an_escalation_shows_its_line_and_its_plan(live: Live, lea_page: ChatPage) -> None:
    live.sim.script(answers.judged("LITE"), answers.handing_over("PRO", "théorème"))
    lea_page.next_chat()
    lea_page.ask("Démontre le théorème de Pythagore.")
    answer = lea_page.page.locator(ASSISTANT).last
    expect(answer.get_by_text("Niveau de modèle : LITE → PRO")).to_be_visible()
    expect(answer.get_by_text("new_cognitive_level").first).to_be_visible()
    lea_page.shot("level-escalation-fr")
    answer.get_by_text("new_cognitive_level").first.click()
    answer.get_by_role("button", name="Voir le résultat de new_cognitive_level").click()
    expect(answer.get_by_text("Goal: the proof.").first).to_be_visible()
    lea_page.shot("level-plan-fr")
    lea_page.assert_clean_console()


def test_a_cascade_says_which_level_answers_and_why(live: Live, ada_page: ChatPage) -> None:
    day = faults.quota_exhausted(answers.MODEL["PRO"], quota_id=PER_DAY)
    live.sim.script(answers.judged("PRO"), {**day, "match": {"model": answers.MODEL["PRO"]}})
    ada_page.next_chat()
    ada_page.ask("Prove the theorem of Pythagoras.")
    answer = ada_page.page.locator(ASSISTANT).last
    expect(answer.get_by_text("Model level: PRO → FLASH for this answer.")).to_be_visible()
    ada_page.shot("level-cascade-en")
    ada_page.assert_clean_console()
