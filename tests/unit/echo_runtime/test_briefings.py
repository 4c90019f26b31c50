"""What is sealed for a chat, when it is sealed anew, and whose words are in it."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from echo_aec import EchoAEC, Transient, parse_artifact
from echo_constants import ECHO_VERSION, LOCALES, Locale
from echo_core.draft import Draft
from echo_core.overlay import NO_OVERLAY, parse_overlay
from echo_core.usage import ContextStats
from echo_prompts import SHIPPED, PromptBook
from echo_protocol import Catalogue, convert_owui_tools
from echo_runtime import PipeCall, _owui_prompts, _resolve_placeholders
from echo_runtime._owui_prompts import KeptTemplates
from echo_runtime.breaks import BREAKS
from echo_runtime.briefings import Briefed, Briefings
from echo_runtime.history import Rebuilt
from echo_runtime.metering import CONTEXT_STATS_KEY
from echo_runtime.placeholders import MODEL_PLACEHOLDERS
from echo_runtime.settings import settings_of
from echo_runtime.templates import Templates
from echo_runtime.turn_context import DRAFT_KEY, OWN_CONTEXT, TurnContext
from echo_state_manager import MemoryShadowStore
from scripted import FakeClock

FOLDER = "Folder of {{USER_NAME}}."
MODEL = "Model."
CHAT = "Chat in {{USER_LOCATION}}."


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What Open WebUI's tables hold; only they are played."""
    texts = {"model": MODEL, "folder": FOLDER, "chat": CHAT}

    async def of_chat(model_id: str, chat_id: str) -> KeptTemplates:
        return KeptTemplates(model=texts["model"], chat=texts["chat"], folder="")

    async def of_user(model_id: str, chat_id: str, folder_id: str, user: Any) -> KeptTemplates:
        return KeptTemplates(model=texts["model"], chat="", folder=texts["folder"])

    for played in (of_chat, of_user):
        monkeypatch.setattr(_owui_prompts, played.__name__, played)
    return texts


VALVES = SimpleNamespace(
    MODEL_SELECTION="FLASH",
    ECHO_MAX_CONTEXT_SIZE=1_000_000,
    GEMINI_BASE_URL="",
    MAX_TOOL_ROUNDS=5,
    TOOL_TIMEOUT_S=9,
    SAFETY_THRESHOLD="default",
    KEEP_API_HISTORY=True,
    ENCRYPT_RECORDS=False,
    REMINDER_TURNS=20,
    REMINDER_FILL=30,
)


class Chat:
    """Asks again and again in one chat."""

    def __init__(self, **valves: Any) -> None:
        self.valves = SimpleNamespace(**(vars(VALVES) | valves))
        self.prompts = SHIPPED
        self.system = ""
        self.store = MemoryShadowStore()
        self.overlays: list[bytes] = []
        self.metadata: dict[str, Any] = {"chat_id": "c", "tool_ids": ["t"]}
        self.user: dict[str, Any] = {"id": "u", "name": "Ada"}
        self.tools = ["search"]
        self.asked = 0
        self.chain: list[str] = []

    async def ask(self, prompt: str = "", *, shared: bool = False, question: str | None = None) -> Briefed:
        self.asked += 1
        context = {"messages": [{"role": "system", "content": prompt}]}
        ids = {"user_message_id": question or f"u{self.asked}", "message_id": f"a{self.asked}"}
        metadata = self.metadata | ids | {"chat_context": context}
        messages = [{"role": "system", "content": self.system}] if self.system else []
        call = PipeCall(
            body={"model": "m", "messages": messages}, user=self.user, metadata=metadata, valves=self.valves, tools={}
        )
        call.shared.prompts = self.prompts
        specs = [{"name": name, "description": "", "parameters": {}} for name in self.tools]
        history = Rebuilt(
            contents=(), overlays=tuple(self.overlays), chain=(*self.chain, ids["user_message_id"]), shared=shared
        )
        briefings = Briefings(Templates(FakeClock()), "ai_studio")
        model = Catalogue.load().resolve("MODEL_FLASH", "ai_studio")
        settings = settings_of(call, "")
        briefed = await briefings.brief(call, self.store, history, convert_owui_tools(specs), model, settings)
        self.overlays.append(briefed.overlay)
        self.chain += [metadata["user_message_id"], metadata["message_id"]]
        return briefed


def system_of(briefed: Briefed) -> str:
    assert briefed.system is not None
    return str(json.loads(briefed.system)["parts"][0]["text"])


def all_notes_of(briefed: Briefed) -> list[str]:
    return [note for entry in parse_overlay(briefed.overlay) for note in entry.notes]


def notes_of(briefed: Briefed) -> list[str]:
    """Those that are not in every chat's first message."""
    return [note for note in all_notes_of(briefed) if parse_artifact(note).id != "AEC_init"]


def kinds_of(briefed: Briefed) -> list[str]:
    return [parse_artifact(note).id for note in all_notes_of(briefed)]


async def test_the_instructions_of_all_stand_in_their_order_behind_echos_own() -> None:
    briefed = await Chat().ask("User's own.")
    assert system_of(briefed).startswith("# Who you are")
    assert system_of(briefed).endswith("Model.\n\nFolder of Ada.\n\nUser's own.")
    assert notes_of(briefed) == []


async def test_names_of_what_changes_stay_and_their_values_are_told() -> None:
    chat = Chat()
    chat.metadata["variables"] = {"{{CURRENT_DATE}}": "2026-11-30", "{{USER_LANGUAGE}}": "en-US"}
    first = await chat.ask("{{CURRENT_DATE}} {{USER_LANGUAGE}} {{NOBODY_KNOWS}} {{ CURRENT_DATE }}")
    assert system_of(first).endswith("{{CURRENT_DATE}} en-US {{NOBODY_KNOWS}} {{ CURRENT_DATE }}")
    [note] = map(parse_artifact, notes_of(first))
    assert [(item.attributes["name"], item.text) for item in note.items] == [("CURRENT_DATE", "2026-11-30")]


async def test_the_date_comes_from_the_clock_when_the_page_sends_none() -> None:
    chat = Chat()
    chat.user["timezone"] = "Pacific/Auckland"
    [note] = map(parse_artifact, notes_of(await chat.ask("{{CURRENT_WEEKDAY}} {{CURRENT_TIMEZONE}}"))[1:])
    assert [item.text for item in note.items] == ["Pacific/Auckland"]


async def test_later_words_are_told_and_the_sealed_bytes_stay(kept: dict[str, str]) -> None:
    chat = Chat()
    first = await chat.ask("One.")
    kept["model"] = ""
    second = await chat.ask("Two.")
    assert (second.system, second.tools) == (first.system, first.tools)
    [note] = map(parse_artifact, notes_of(second))
    assert note.items[0].text == "Folder of Ada.\n\nTwo."
    assert notes_of(await chat.ask("Two.")) == []


async def test_all_answers_to_a_question_are_told_the_same() -> None:
    chat = Chat()
    await chat.ask("One.")
    first = await chat.ask("Two.", question="same")
    chat.overlays.pop()
    again = await chat.ask("Three.", question="same")
    assert again.overlay == first.overlay


async def test_a_tool_whose_server_fell_stays_declared_until_the_user_selects() -> None:
    chat = Chat()
    chat.tools = ["search", "count"]
    first = await chat.ask()
    chat.tools = ["count"]
    fallen = await chat.ask()
    assert fallen.tools == first.tools
    assert fallen.names["search"] == "search"
    [note] = map(parse_artifact, notes_of(fallen))
    assert [dict(item.attributes) for item in note.items] == [{"name": "search", "change": "removed"}]
    before = BREAKS.counts().get("tool_selection", 0)
    chat.metadata["tool_ids"] = ["t", "other"]
    selected = await chat.ask()
    assert "search" not in str(selected.tools)
    assert notes_of(selected) == []
    assert BREAKS.counts()["tool_selection"] == before + 1
    assert (await chat.ask()).tools == selected.tools


async def test_a_browsers_tool_server_that_is_gone_is_no_selection_but_a_new_one_is() -> None:
    chat = Chat()
    chat.metadata["tool_servers"] = [{"url": "http://one"}]
    first = await chat.ask()
    chat.metadata["tool_servers"] = []
    chat.tools = []
    assert (await chat.ask()).tools == first.tools
    chat.metadata["tool_servers"] = [{"url": "http://two"}]
    chat.tools = ["two"]
    assert "two" in str((await chat.ask()).tools)


async def test_the_first_tools_of_a_chat_are_declared_when_they_come() -> None:
    chat = Chat()
    chat.tools = []
    assert (await chat.ask()).tools is None
    chat.tools = ["search"]
    came = await chat.ask()
    assert "search" in str(came.tools)
    assert notes_of(came) == []


async def test_with_several_writers_nothing_of_one_person_is_sent() -> None:
    chat = Chat()
    alone = await chat.ask("Ada's own.")
    chat.overlays.clear()
    together = await chat.ask("Ada's own.", shared=True)
    assert "Ada" in system_of(alone)
    assert "Ada" not in system_of(together) + together.overlay.decode()
    assert system_of(together).endswith("Model.\n\nChat in {{USER_LOCATION}}.")
    chat.user = {"id": "v", "name": "Bob", "info": {"location": "Lyon"}}
    later = await chat.ask("Bob's own.", shared=True)
    assert (later.system, later.tools, later.overlay) == (together.system, together.tools, NO_OVERLAY)


async def test_another_writer_who_answers_an_earlier_question_again_is_not_told_what_its_writer_was() -> None:
    chat = Chat()
    await chat.ask("One.")
    alone = await chat.ask("Ada's later prompt.", question="same")
    assert b"Ada's later prompt." in alone.overlay
    chat.overlays.clear()
    assert b"Ada's" not in (await chat.ask(shared=True, question="same")).overlay
    assert (await chat.ask("Ada's later prompt.", question="same")).overlay == alone.overlay


async def test_two_answers_that_begin_at_once_seal_one_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = Chat()

    async def nothing_yet(key: str) -> None:
        return None

    first = await chat.ask("One.")
    monkeypatch.setattr(chat.store, "get_setting", nothing_yet)
    assert (await chat.ask("Two.")).system == first.system


async def test_what_waits_is_told_beside_the_question_with_its_placeholders_filled() -> None:
    chat = Chat()
    for kind, text in (
        ("aec_event", "It said ##MODEL_ID##."),
        ("aec_directive", "Be ##MODEL_ID## of ##MODEL_ORIGIN##."),
    ):
        await EchoAEC(chat.store).push(
            Transient(id=kind, type=kind, name="x", payload=text, created_at_s=1)  # type: ignore[arg-type]
        )
    [entry] = parse_overlay((await chat.ask()).overlay)
    model_id = Catalogue.load().resolve("MODEL_FLASH", "ai_studio").id
    assert entry.directives == (f"Be {model_id} of Google AI Studio.",)
    assert entry.events == ("It said ##MODEL_ID##.",)
    assert (await chat.ask()).overlay == NO_OVERLAY


async def test_what_a_draft_brings_is_told_before_what_waits() -> None:
    chat = Chat()
    event = Transient(id="e", type="aec_event", name="x", payload="second", created_at_s=1)
    await EchoAEC(chat.store).push(event)
    chat.metadata[DRAFT_KEY] = Draft(directives=("By ##MODEL_ORIGIN##.",), events=("first ##MODEL_ID##",))
    [entry] = parse_overlay((await chat.ask()).overlay)
    assert entry.directives == ("By Google AI Studio.",)
    assert entry.events == ("first ##MODEL_ID##", "second")
    assert (await chat.ask(shared=True)).overlay == NO_OVERLAY


async def test_a_model_is_named_once_until_another_answers() -> None:
    chat = Chat()
    first = await chat.ask()
    overlay = first.naming("<a/>")
    assert [entry.notes for entry in parse_overlay(overlay)] == [("<a/>",)]
    chat.overlays.append(overlay)
    second = await chat.ask()
    assert second.naming("<a/>") == NO_OVERLAY
    assert second.naming("<b/>") != NO_OVERLAY


async def test_where_it_is_switched_off_nothing_of_echos_own_is_told() -> None:
    chat = Chat()
    await chat.ask("Mine.")
    await EchoAEC(chat.store).push(Transient(id="e", type="aec_event", name="x", payload="news", created_at_s=1))
    chat.metadata |= {"_echo": TurnContext(stages={OWN_CONTEXT: "off"}), DRAFT_KEY: Draft(directives=("d",))}
    off = await chat.ask("Mine.")
    [note] = map(parse_artifact, notes_of(off))
    assert [(item.tag, item.text) for item in note.items] == [("echo", "")]
    assert off.naming("<a/>") == NO_OVERLAY
    [entry] = parse_overlay(off.overlay)
    assert (entry.directives, entry.events) == ((), ())
    chat.metadata.pop("_echo")
    chat.metadata.pop(DRAFT_KEY)
    [back] = parse_overlay((await chat.ask("Mine.")).overlay)
    assert back.events == ("news",)


async def test_a_chat_that_begins_switched_off_has_only_its_own_instructions(kept: dict[str, str]) -> None:
    chat = Chat()
    chat.metadata["_echo"] = TurnContext(stages={OWN_CONTEXT: "off"})
    assert system_of(await chat.ask("Mine.")) == "Model.\n\nFolder of Ada.\n\nMine."
    kept |= {"model": "", "folder": ""}
    bare = Chat()
    bare.metadata["_echo"] = TurnContext(stages={OWN_CONTEXT: "off"})
    assert (await bare.ask()).system is None


@pytest.mark.parametrize("locale", LOCALES)
def test_the_sealed_prompt_names_no_model_and_leaves_no_placeholder(locale: Locale) -> None:
    assert not any(name in SHIPPED.text("pis", locale) for name in MODEL_PLACEHOLDERS)
    assert "##" not in _resolve_placeholders(SHIPPED.text("pis", locale)).replace("\n# ", "")
    assert ECHO_VERSION in _resolve_placeholders(SHIPPED.text("pis", locale))


async def test_a_chat_is_opened_once_and_on_each_branch_that_begins_anew() -> None:
    chat = Chat()
    assert kinds_of(await chat.ask()) == ["AEC_init"]
    assert (await chat.ask()).overlay == NO_OVERLAY
    chat.overlays, chat.chain = [], []
    assert kinds_of(await chat.ask(question="edited")) == ["AEC_init"]


async def test_the_rules_are_recalled_every_twenty_turns_of_the_chain() -> None:
    chat = Chat()
    told = [kinds_of(await chat.ask()) for _ in range(41)]
    assert [n for n, kinds in enumerate(told, 1) if "AEC_reminder" in kinds] == [20, 40]


@pytest.mark.parametrize(("every", "expected"), [(3, [3, 6, 9]), (0, [])])
async def test_the_administrator_says_how_often(every: int, expected: list[int]) -> None:
    chat = Chat(REMINDER_TURNS=every)
    told = [kinds_of(await chat.ask()) for _ in range(10)]
    assert [n for n, kinds in enumerate(told, 1) if "AEC_reminder" in kinds] == expected


async def test_a_full_context_brings_one_reminder_and_none_when_switched_off() -> None:
    for at, expected in ((30, [3]), (0, [])):
        chat = Chat(REMINDER_FILL=at)
        told = []
        for fill_tokens in (0, 299_999, 300_000, 310_000, 450_000):
            await chat.store.save_setting(CONTEXT_STATS_KEY, ContextStats(prompt_tokens=fill_tokens).to_json())
            told.append(kinds_of(await chat.ask()))
        assert [n for n, kinds in enumerate(told, 1) if "AEC_reminder" in kinds] == expected


async def test_another_prompt_of_the_administrator_reaches_a_living_chat_as_an_upgrade_and_not_its_sealed_one() -> None:
    chat = Chat()
    first = await chat.ask()
    chat.prompts = PromptBook({("pis", "en"): "Be a pirate, ##ECHO_VERSION##."})
    second = await chat.ask()
    assert second.system == first.system
    [upgrade] = map(parse_artifact, notes_of(second))
    assert upgrade.id == "AEC_upgrade"
    [item] = upgrade.items
    assert (item.tag, item.text) == ("echo", f"Be a pirate, {ECHO_VERSION}.")
    assert (await chat.ask()).overlay == NO_OVERLAY
    chat.prompts = SHIPPED
    [back] = map(parse_artifact, notes_of(await chat.ask()))
    assert back.items[0].text.startswith("# Who you are")
    fresh = Chat()
    fresh.prompts = PromptBook({("pis", "en"): "Be a pirate."})
    assert system_of(await fresh.ask()).startswith("Be a pirate.")


async def test_what_the_host_adds_is_told_once_and_again_when_it_changes_or_goes() -> None:
    chat = Chat()

    async def told(added: str) -> list[tuple[str, str, str]]:
        chat.system = "\n".join(["Model.", "Folder of Ada.", "Mine.", added])
        notes = map(parse_artifact, notes_of(await chat.ask("Mine.")))
        return [(i.attributes["name"], i.attributes["change"], i.text) for note in notes for i in note.items]

    skill = '<skill id="tea" name="Tea">\nBoil.\n</skill>'
    assert await told(skill) == [("skill:tea", "added", skill)]
    assert await told(skill) == []
    hot = skill.replace("Boil.", "Boil twice.")
    assert await told(f"{hot}\nBe kind.") == [("skill:tea", "changed", hot), ("text", "added", "Be kind.")]
    assert await told("Be kind.") == [("skill:tea", "removed", "")]
    assert await told("") == [("text", "removed", "")]
    assert await told("") == []
