"""The bundle in the real admin panel of an Open WebUI that has never heard of ECHO."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from echo_cli._bundle_build import Bundle, build_bundle
from live.bare import BareOpenWebui
from live.page import SCREENSHOTS, ChatPage

pytestmark = [pytest.mark.owui, pytest.mark.browser, pytest.mark.timeout(400), pytest.mark.deep]

WAIT_MS = 60_000


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return build_bundle()


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[BareOpenWebui]:
    server = BareOpenWebui(tmp_path)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def panel(bare: BareOpenWebui, browser: Browser) -> Iterator[Page]:
    """The administrator's tab, signed in by the form as a person would."""
    tab = ChatPage(browser, bare.url)
    tab.login(bare.email, bare.password)
    tab.page.get_by_role("button", name="Okay, Let's Go!").click()  # what is new in this version
    yield tab.page
    tab.context.close()


def open_functions(page: Page) -> None:
    page.goto("/admin/functions")
    expect(page.locator("#documents-import-input")).to_be_attached(timeout=WAIT_MS)


def row(page: Page, function_id: str) -> Locator:
    return page.locator(f"div.group:has(a[href$='id={function_id}'])")


def switch_on(page: Page, function_id: str) -> None:
    switch = row(page, function_id).get_by_role("switch")
    expect(switch).not_to_be_checked()
    with page.expect_response(re.compile(rf"/functions/id/{function_id}/toggle$")) as answer:
        switch.click()
    assert answer.value.ok


def import_bundle(page: Page, path: Path) -> None:
    open_functions(page)
    page.set_input_files("#documents-import-input", path)
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Functions imported successfully")).to_be_visible(timeout=WAIT_MS)


def test_an_administrator_with_only_the_panel_gets_echo_running(
    bundle: Bundle, bare: BareOpenWebui, panel: Page, browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "echo.json"
    path.write_text(bundle.text, encoding="utf-8")
    import_bundle(panel, path)
    stored = {item["id"]: item for item in bare.admin.get("/api/v1/functions/export")}
    written = {form["id"]: form["content"] for form in json.loads(bundle.text)}
    assert {name: stored[name]["content"] for name in bundle.function_ids} == written, "the database took it whole"
    for function_id in bundle.function_ids:
        expect(row(panel, function_id)).to_be_visible()
    assert list((tmp_path / "echo" / "wheels").iterdir()), "the libraries are unpacked at the import"
    expect(row(panel, "echo_lifecycle")).to_contain_text("Switch this function on first")

    switch_on(panel, "echo_lifecycle")
    open_functions(panel)
    expect(row(panel, "echo_lifecycle")).to_contain_text("Left to do: switch on ")
    expect(row(panel, "echo_lifecycle")).to_contain_text("echo_orchestrator")
    for function_id in bundle.function_ids[1:]:
        switch_on(panel, function_id)
    for function in bare.admin.get("/api/v1/functions/export"):
        if function["type"] == "filter":
            bare.admin.post(f"/api/v1/functions/id/{function['id']}/toggle/global")
    open_functions(panel)
    expect(row(panel, "echo_lifecycle")).to_contain_text("ECHO is set up")
    panel.screenshot(path=screenshot("bundle_panel"))

    toolkits = {item["id"]: len(item["specs"]) for item in bare.admin.get("/api/v1/tools/export")}
    assert set(toolkits) == set(bundle.tool_ids) and all(toolkits.values()), "the importer takes none, ECHO brings them"
    assert_a_plain_user_can_chat(bare, browser)
    bare.stop()
    shutil.rmtree(tmp_path / "echo" / "wheels")  # as when a volume was not kept: they come back by themselves
    bare.start()
    assert_a_plain_user_can_chat(bare, browser)
    assert [item["id"] for item in bare.admin.get("/api/v1/functions/export") if not item["is_active"]] == []


def screenshot(name: str) -> Path:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return SCREENSHOTS / f"{name}.png"


def assert_a_plain_user_can_chat(bare: BareOpenWebui, browser: Browser) -> None:
    bare.sim.reset()
    tab = ChatPage(browser, bare.url)
    tab.enter(bare.new_user())
    tab.new_chat()
    answer = tab.ask("Say hello.")
    arrived = bare.sim.requests("GenerateContent")
    assert answer and any("Say hello." in request["body"] for request in arrived), (answer, bare.log()[-3000:])
    tab.context.close()
