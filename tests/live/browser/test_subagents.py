"""Sub-agents in the page: cards that tell what they do, results that stay, and a stop that reaches them."""

import json
import re

import pytest
from playwright.sync_api import expect

from echo_cli._model_record import ECHO_MODEL_ID
from echo_workers.gemini_sim.core import faults
from live.client import Client
from live.page import ASSISTANT, WAIT_MS, ChatPage
from live.stack import Live

pytestmark = pytest.mark.deep

TOOL = "delegate_to_subagent"
WEIGH, FORECAST = 'call weigh {"what": "gold"}', 'call forecast {"city": "Lyon"}'
OF_AGENT = "(?=.*sub-agent of ECHO)"


def delegate(task: str) -> str:
    return f"call {TOOL} {json.dumps({'task': task})}"


def test_two_sub_agents_work_at_once_and_their_cards_tell_what_they_do(
    live: Live, ada_page: ChatPage, toolkit: str
) -> None:
    """`forecast` answers only while `weigh` runs: one sub-agent after the other would hang."""
    page = ada_page
    page.new_chat(f"{ECHO_MODEL_ID}&tools={toolkit},echo_subagent")
    slow = {"match": {"body_regex": f"{OF_AGENT}(?=.*functionResponse)"}, "times": 2}
    live.sim.script(faults.stream("Gold and ", "the sky ", "were looked at.", delay_ms=900, **slow))
    page.watch()
    page.send(f"Please {delegate(WEIGH)} and {delegate(FORECAST)}.")
    answer = page.page.locator(ASSISTANT).last
    expect(answer).to_contain_text(re.compile(r"(Explor|Execut)ing"))
    running = answer.get_by_text(re.compile("Exploring")).first
    running.click()
    expect(answer).to_contain_text(f"Executing {TOOL}: writing (1)...")
    answer.get_by_text(f"Executing {TOOL}: writing (1)...").first.click()
    expect(answer).to_contain_text(re.compile(r"1\. (weigh|forecast)"))
    page.shot("subagents-running")
    page.wait_done()
    page.open_chat(page.chat_id)
    assert_results(page)
    page.assert_clean_console()


def assert_results(page: ChatPage) -> None:
    answer = page.page.locator(ASSISTANT).last
    answer.get_by_text(re.compile("Explored")).click()
    expect(answer.get_by_text(f"View Result from {TOOL}")).to_have_count(2)
    answer.get_by_text(f"View Result from {TOOL}").first.click()
    expect(answer).to_contain_text("Gold and the sky were looked at.")
    expect(answer).to_contain_text(re.compile(r"\[Sub-agent, FLASH: 2 requests, 1 tool calls, \d+ tokens\."))
    page.shot("subagents-done")


def test_stop_ends_the_sub_agent_and_the_chat_goes_on(live: Live, ada: Client, ada_page: ChatPage) -> None:
    page = ada_page
    page.new_chat(f"{ECHO_MODEL_ID}&tools=echo_subagent")
    live.sim.script(faults.stream("I begin. ", finish=None, end="hang", match={"body_regex": OF_AGENT}))
    page.send(f"Please {delegate('Look for the needle.')}")
    expect(page.page.locator(ASSISTANT).last).to_contain_text(f"{TOOL}: writing", timeout=WAIT_MS)
    page.stop()
    live.sim.wait_ended("sub-agent of ECHO", "reset_by_client")
    page.ask("Please say Done.")
    assert [r["status"] for r in live.sim.requests("streamGenerateContent")] == [200] * 3
    page.shot("subagent-stopped")
