"""Skills and the codex as a user has them in the page: asked for in words, shown as cards, there in another chat."""

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from codex_kit import Git
from live.client import Client
from live.page import ASSISTANT, ChatPage
from live.stack import Live

pytestmark = pytest.mark.deep

STEPS = {
    "name": "make-haiku",
    "description": "Weekly reports as haiku. Use when a report is asked for.",
    "instructions": "Write three lines: 5, 7 and 5 syllables.",
}


def last_result(live: Live) -> str:
    """What the model read last from a tool."""
    body = json.loads(live.sim.requests("streamGenerateContent")[-1]["body"])
    return json.dumps(body["contents"][-1], ensure_ascii=False)


def test_a_skill_is_made_from_a_chat_and_used_in_another(live: Live, ada_page: ChatPage) -> None:
    ada_page.new_chat()
    live.sim.reset()
    ada_page.ask("A good report has three lines of 5, 7 and 5 syllables.")
    ada_page.ask(f"Make a skill from this: call forge_skill {json.dumps(STEPS)}")
    card = ada_page.page.locator(ASSISTANT).last.get_by_text("forge_skill").first
    expect(card).to_be_visible()
    assert "SKILL.md" in last_result(live)
    ada_page.shot("skill-made")
    made_in = ada_page.chat_id

    ada_page.next_chat()
    ada_page.ask('Is there a skill for a weekly report? Call search_skill {"query": "weekly report"}')
    assert "make-haiku" in last_result(live)
    ada_page.ask('Use it: call read_skill {"name": "make-haiku"}')
    assert ada_page.chat_id != made_in
    assert "5, 7 and 5 syllables" in last_result(live)
    expect(ada_page.page.locator(ASSISTANT).last.get_by_text("read_skill").first).to_be_visible()
    ada_page.shot("skill-used")
    ada_page.assert_clean_console()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_commit_asked_for_in_the_page_is_seen_by_stock_git(
    live: Live, ada: Client, ada_page: ChatPage, tmp_path: Path
) -> None:
    ada_page.new_chat()
    ada_page.ask('Call codex_create {"workspace": "diary"}')
    ada_page.ask('Call codex_write {"workspace": "diary", "path": "day1.md", "text": "It rained."}')
    ada_page.ask('Call codex_commit {"workspace": "diary", "message": "Begin the diary"}')
    expect(ada_page.page.locator(ASSISTANT).last.get_by_text("codex_commit").first).to_be_visible()
    ada_page.shot("codex-commit")
    (tree,) = live.data.rglob(f"users/{ada.id}/codex/diary")
    git = Git(tmp_path / "home")
    assert git(tree, "log", "--format=%an %s").strip() == f"{ada.name} Begin the diary"
    assert git(tree, "show", "HEAD:day1.md").strip() == "It rained."
    assert git(tree, "status", "--porcelain") == ""
