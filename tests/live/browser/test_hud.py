"""The HUD in a real page: where it is, what it says, and that it covers nothing."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Route, expect
from playwright.sync_api import Error as PlaywrightError

from echo_workers.gemini_sim.core import faults
from live import answers
from live.client import HELIOTROPE, Client
from live.page import ChatPage
from live.stack import Live

WINDOW = 1_000_000
BAR = "#echo-hud"
PHONE = {"width": 360, "height": 740}
PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"

#: Labels of visible controls of Open WebUI that something else lies over.
_COVERED = """bar => [...document.querySelectorAll("button, a[href], [role=button], #chat-input")]
    .filter(control => !control.closest(bar))
    .filter(control => control.checkVisibility({visibilityProperty: true, opacityProperty: true}))
    .filter(control => {
        const box = control.getBoundingClientRect();
        const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return box.width && hit && hit.closest(bar);
    })
    .map(control => control.outerHTML.slice(0, 120))"""

OpenAs = Callable[..., ChatPage]


@pytest.fixture(autouse=True)
def _window(live: Live) -> Iterator[None]:
    with live.valves(ECHO_MAX_CONTEXT_SIZE=WINDOW, MODEL_SELECTION="FLASH"):
        yield


@pytest.fixture
def page_of(live: Live, browser: Browser) -> Iterator[OpenAs]:
    """Opens a tab of somebody, in a size and theme."""
    opened: list[ChatPage] = []

    def open_as(client: Client, *, theme: str = "light", **size: int) -> ChatPage:
        page = ChatPage(browser, live.url, language=client.language, **size)
        opened.append(page)
        page.context.add_init_script(f"if (window === top) localStorage.setItem('theme', '{theme}')")
        page.enter(client)
        return page

    yield open_as
    for page in opened:
        page.assert_clean_console()
        page.context.close()


def filled(share: float) -> answers.Entry:
    """An answer after which the context is that full."""
    prompt = int(share * WINDOW) - 1_000
    return answers.counted("The context grows.", prompt=prompt, cached=prompt // 2, answered=1_000)


def chat_at(live: Live, client: Client, share: float) -> str:
    live.sim.script(filled(share))
    return client.turn("How full are we?").chat_id


def gauge(page: ChatPage) -> Locator:
    return page.page.locator(f"{BAR} button.gauge")


def test_nothing_at_the_sign_in_page_and_for_other_models(live: Live, browser: Browser) -> None:
    page = ChatPage(browser, live.url)
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.page.goto("/auth")
    expect(page.page.locator("input[type=email]")).to_be_visible()
    assert any("/static/loader.js" in url for url in asked)
    assert [url for url in asked if "/echo/" in url] == []
    expect(page.page.locator(BAR)).to_have_count(0)
    page.context.close()


@pytest.mark.deep
def test_an_administrators_own_loader_runs_beside_the_hud(live: Live, ada: Client, page_of: OpenAs) -> None:
    loader = live.data / "static" / "loader.js"
    shipped = loader.read_bytes()
    loader.write_text("window.theirs = 'it ran' // no newline at the end")
    try:
        page = page_of(ada)
        page.open_chat(chat_at(live, ada, 0.2))
        expect(gauge(page)).to_contain_text("20%")
        assert page.page.evaluate("window.theirs") == "it ran"
    finally:
        loader.write_bytes(shipped)


def test_nobody_reads_somebody_elses_figures(live: Live, ada: Client, lea: Client) -> None:
    chat_id = chat_at(live, ada, 0.2)
    own = ada.get("/echo/api/hud", model="ECHO", chat_id=chat_id)
    assert own["gauge"]["fill_tokens"] == 200_000
    for reader in (lea, live.admin):
        foreign = reader.get("/echo/api/hud", model="ECHO", chat_id=chat_id)
        assert foreign == reader.get("/echo/api/hud", model="ECHO", chat_id="nobody")
        assert foreign["gauge"] is None
    for chat in ("../../identity", "temporary:someone", "\0", chat_id + "/.."):
        assert lea.get("/echo/api/hud", chat_id=chat)["gauge"] is None
    assert lea.get("/echo/api/hud", model="Somebody else")["is_echo"] is False


def test_the_gauge_follows_a_chat_from_its_first_answer_on(live: Live, page_of: OpenAs) -> None:
    page = page_of(live.new_user())  # whose quota no other test has used up
    page.new_chat()
    expect(gauge(page)).to_have_text("Context empty")
    live.sim.script(filled(0.1))
    page.ask("How full are we?")
    expect(gauge(page)).to_contain_text("10%")
    expect(gauge(page)).to_have_accessible_name("Context 10% full: 100,000 of 1,000,000 tokens. FLASH. Show details")
    page.shot("hud-10")
    live.sim.script(filled(0.45))
    page.ask("And now?")
    expect(gauge(page)).to_contain_text("45%")
    page.shot("hud-45")
    live.sim.script(filled(0.9))
    page.ask("And now at last?")
    expect(gauge(page)).to_contain_text("Context almost full")
    page.shot("hud-90")
    page.reload()
    expect(gauge(page)).to_contain_text("90%")
    gauge(page).click()
    expect(page.page.get_by_role("dialog", name="Context")).to_contain_text("FLASH is chosen in the settings.")
    page.shot("hud-panel")


@pytest.mark.deep
def test_figures_that_were_asked_for_before_a_turn_ended_never_replace_those_of_its_end(
    live: Live, ada: Client, page_of: OpenAs
) -> None:
    page = page_of(ada)
    page.new_chat()
    held: list[Route] = []
    page.page.route("**/echo/api/hud?*chat_id=*", lambda route: held.append(route))
    live.sim.script(filled(0.1))
    page.ask("How full are we?")
    expect(gauge(page)).to_contain_text("10%")
    assert held, "the page asks for a new chat's figures while its first turn runs"
    for route in held:
        with suppress(PlaywrightError):  # the page no longer waits for it
            route.fulfill(json={"display": "page", "is_echo": True, "gauge": None})
    assert [route.request.url for route in held if route.request.failure is None] == []


@pytest.mark.deep
def test_quota_that_is_used_up_is_told_with_its_end(live: Live, page_of: OpenAs) -> None:
    lea = live.new_user("Léa", language="fr-FR")
    chat_id = chat_at(live, lea, 0.3)  # below the share at which the next turn would condense first
    live.sim.script(faults.quota_exhausted(answers.MODEL["FLASH"], quota_id=PER_DAY, limit=250))
    parent = next(m["id"] for m in lea.messages(chat_id).values() if m["role"] == "assistant")
    assert lea.turn("Encore ?", chat_id=chat_id, parent=parent).error
    page = page_of(lea, theme="dark")
    page.open_chat(chat_id)
    expect(gauge(page)).to_contain_text("Quota épuisé")
    page.shot("hud-quota-fr-dark")
    gauge(page).click()
    dialog = page.page.get_by_role("dialog", name="Contexte")
    expect(dialog).to_contain_text("Google a refusé une requête : limite par jour.")
    expect(dialog).to_contain_text("0 / 250")
    dialog.get_by_text("Quota", exact=True).scroll_into_view_if_needed()
    page.shot("hud-quota-panel-fr-dark")


@pytest.mark.deep
def test_charts_can_be_read_as_pictures_and_as_a_table(live: Live, ada: Client, page_of: OpenAs) -> None:
    live.sim.script(*(filled(share) for share in (0.05, 0.1, 0.2, 0.3)))
    turn = ada.turn("How full are we?")
    for _ in range(3):
        turn = ada.turn("And now?", chat_id=turn.chat_id, parent=turn.assistant_id)
    page = page_of(ada)
    page.open_chat(turn.chat_id)
    gauge(page).click()
    dialog = page.page.get_by_role("dialog", name="Context")
    expect(dialog.get_by_role("img")).to_have_count(3)
    dialog.get_by_role("img").first.scroll_into_view_if_needed()
    page.shot("hud-charts")
    dialog.get_by_text("The figures").first.click()
    expect(dialog.get_by_role("row", name="Answer 4")).to_contain_text("150k")
    dialog.get_by_role("img").nth(2).scroll_into_view_if_needed()
    page.shot("hud-charts-cache")


@pytest.mark.deep
def test_the_drawer_switches_the_model_level_and_exports(live: Live, page_of: OpenAs) -> None:
    user = live.new_user("Dora")
    chat_id = chat_at(live, user, 0.1)
    page = page_of(user)
    page.open_chat(chat_id)
    page.page.get_by_role("button", name="Quick actions").click()
    dialog = page.page.get_by_role("dialog", name="Quick actions")
    dialog.get_by_label("Model level").select_option("PRO")
    expect(dialog.get_by_role("status")).to_have_text("Saved.")
    page.shot("hud-drawer")
    assert user.get("/api/v1/functions/id/echo_orchestrator/valves/user")["MODEL_SELECTION"] == "PRO"
    with page.page.expect_download() as saved:
        dialog.get_by_role("button", name="Export this chat").click()
    assert chat_id in saved.value.suggested_filename
    dialog.get_by_role("button", name="Documents").click()
    expect(dialog).to_have_count(0)
    expect(page.page.locator("#chat-input")).to_have_text(re.compile("^Which documents do you have in this chat"))
    page.page.locator("#chat-input").fill("")
    page.page.get_by_role("button", name="Quick actions").click()
    dialog.get_by_label("Where this is shown").select_option("line")
    expect(dialog.get_by_role("status")).to_have_text("Saved.")
    page.reload()
    expect(page.page.locator(BAR)).to_have_count(0)
    live.sim.script({**filled(0.2), "match": {"model": answers.MODEL["PRO"]}})
    page.ask("And now as a line?")
    expect(page.page.get_by_text("Context 20% (200k of 1M tokens)")).to_be_visible()
    page.shot("hud-line")


@pytest.mark.deep
def test_on_a_phone_it_fits_covers_nothing_and_works_by_keyboard(live: Live, lea: Client, page_of: OpenAs) -> None:
    chat_id = chat_at(live, lea, 0.92)
    page = page_of(lea, theme="dark", **PHONE)
    page.open_chat(chat_id)
    expect(gauge(page)).to_contain_text("92")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.page.evaluate(_COVERED, BAR) == []
    page.shot("hud-phone-dark")
    gauge(page).focus()
    page.page.keyboard.press("Enter")
    dialog = page.page.get_by_role("dialog", name="Contexte")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("img")).to_have_count(3)
    page.shot("hud-phone-panel-dark")
    page.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(gauge(page)).to_be_focused()
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    expect(page.page.get_by_role("dialog", name="Actions rapides")).to_be_visible()
    page.shot("hud-phone-drawer-dark")


@pytest.mark.deep
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(live: Live, ada: Client, page_of: OpenAs, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = page_of(ada, theme=theme)
    page.open_chat(chat_at(live, ada, 0.95))
    expect(gauge(page)).to_contain_text("95%")
    found = [(theme, "strip", *fault) for fault in serious(axe, page)]
    gauge(page).click()
    expect(page.page.get_by_role("dialog").get_by_role("img")).to_have_count(3)
    found += [(theme, "panel", *fault) for fault in serious(axe, page)]
    page.page.keyboard.press("Escape")
    page.page.get_by_role("button", name="Quick actions").click()
    expect(page.page.get_by_label("Model level")).to_be_enabled()
    found += [(theme, "drawer", *fault) for fault in serious(axe, page)]
    assert found == []


def serious(axe: Any, page: ChatPage) -> list[tuple[str, str]]:
    """Rules of axe that the HUD breaks, with where."""
    told = axe.run(page.page, context=BAR, options={}).response
    assert len(told["passes"]) > 5  # it has looked
    return [
        (fault["id"], fault["nodes"][0]["html"][:120])
        for fault in told["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


@pytest.mark.deep
def test_the_action_shows_the_same_without_any_script_in_the_page(live: Live, ada: Client, page_of: OpenAs) -> None:
    page = page_of(ada)
    page.open_chat(chat_at(live, ada, 0.3))
    page.page.get_by_role("button", name="Context and cost").last.click()
    frame = page.page.frame_locator("iframe").last
    expect(frame.get_by_text("Context 30% full: 300,000 of 1,000,000 tokens.")).to_be_visible()
    expect(frame.get_by_role("img")).to_have_count(3)
    whole = frame.locator("html").evaluate("root => root.getBoundingClientRect().height")
    expect(page.page.locator("iframe").last).to_have_css("height", re.compile(f"{whole:.0f}"))
    page.shot("hud-embed")


@pytest.mark.deep
def test_a_condensed_chat_shows_its_checkpoint_and_the_way_back(live: Live, page_of: OpenAs) -> None:
    user = live.new_user("Cora")
    turn = user.turns(*HELIOTROPE)
    page = page_of(user)
    page.open_chat(turn.chat_id)
    page.page.get_by_role("button", name="Quick actions").click()
    drawer = page.page.get_by_role("dialog", name="Quick actions")
    drawer.get_by_role("button", name="Condense this chat now").click()
    expect(drawer.get_by_role("status")).to_contain_text("Conversation condensed")
    page.page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    page.reload()
    expect(gauge(page)).to_contain_text("%")
    gauge(page).click()
    dialog = page.page.get_by_role("dialog", name="Context")
    expect(dialog).to_contain_text("Last on")
    dialog.get_by_text("Look at the checkpoint").click()
    expect(dialog.get_by_label("Checkpoint")).to_be_visible()
    expect(dialog.locator(".checkpoint")).to_contain_text("Heliotrope")
    page.shot("hud-checkpoint")
    dialog.get_by_label("Checkpoint").fill("Heliotrope ships on Monday.")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status").first).to_contain_text("Saved.")
    page.page.keyboard.press("Escape")
    page.page.get_by_role("button", name="Quick actions").click()
    drawer.get_by_role("button", name="Pin the last answer").click()
    expect(drawer.get_by_role("status")).to_have_text("Pinned messages: 1.")
    page.page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    live.sim.reset()
    page.ask_further("And now?", "You wrote: “And now?”")
    sent = live.sim.requests("streamGenerateContent")[-1]["body"]
    assert "<note>Heliotrope ships on Monday.</note>" in sent
    gauge(page).click()
    dialog.get_by_role("button", name="Undo the condensing").click()
    expect(dialog.get_by_role("status").first).to_contain_text("Undone.")
    page.page.keyboard.press("Escape")
    live.sim.reset()
    page.ask_further("And then?", "You wrote: “And then?”")
    sent = live.sim.requests("streamGenerateContent")[-1]["body"]
    assert "AEC_context_checkpoint" not in sent
    assert "must ship on Friday" in sent
