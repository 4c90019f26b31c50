"""ECHO's own toolkits in a real Open WebUI: kept across chats, seen by stock Git, and nobody else's."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from codex_kit import Git
from echo_cli._model_record import ECHO_MODEL_ID
from live.client import Client, Turn
from live.moves import Conversation
from live.stack import Live

OWN = ["echo_skills", "echo_codex"]


def talk_of(live: Live, client: Client) -> Conversation:
    return Conversation(client, live.sim, tool_ids=OWN)


def use(talk: Conversation, tool: str, **args: Any) -> Any:
    """Let the model use a tool; returns what the tool answered."""
    return result_of(talk.ask(f"Please call {tool} {json.dumps(args)}"))


def result_of(turn: Turn) -> Any:
    (item,) = (item for item in turn.output if item.get("type") == "function_call_output")
    told = json.loads(item["output"][0]["text"])
    return told["results"] if told.keys() == {"results"} else told  # as Open WebUI wraps a list


def test_a_skill_made_in_one_chat_is_used_in_another_and_only_by_its_owner(
    live: Live, ada: Client, lea: Client
) -> None:
    forged = use(
        talk_of(live, ada),
        "forge_skill",
        name="haiku-report",
        description="Reports as haiku. Use for weekly reports.",
        instructions="Write three lines.",
        files={"refs/form.md": "5-7-5"},
    )
    assert forged["files"] == ["SKILL.md", "refs/form.md"]
    later = talk_of(live, ada)
    assert [entry["name"] for entry in use(later, "search_skill", query="weekly report")] == ["haiku-report"]
    assert "Write three lines." in use(later, "read_skill", name="haiku-report")["text"]
    assert use(later, "read_skill", name="haiku-report", file="refs/form.md")["text"] == "5-7-5"
    others = talk_of(live, lea)
    assert use(others, "search_skill", query="haiku") == []
    for name in ("haiku-report", f"../../{ada.id}/skills/haiku-report", f"../{ada.id}"):
        refused = use(others, "read_skill", name=name)["error"]
        assert refused["code"] == "skill_missing"
        assert "compétence" in refused["message"] or "skill" in refused["message"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_commit_of_the_model_is_seen_by_stock_git_and_no_other_user(
    live: Live, ada: Client, lea: Client, tmp_path: Path
) -> None:
    talk, others = talk_of(live, ada), talk_of(live, lea)
    use(talk, "codex_create", workspace="novel")
    use(talk, "codex_write", workspace="novel", path="ch/1.md", text="It was a dark night.")
    made = use(talk, "codex_commit", workspace="novel", message="Begin the novel")
    (tree,) = live.data.rglob(f"users/{ada.id}/codex/novel")
    git = Git(tmp_path / "home")
    assert git(tree, "log", "--format=%H %an %s").strip() == f"{made['hash']} {ada.name} Begin the novel"
    assert git(tree, "status", "--porcelain") == ""
    assert use(others, "codex_workspaces") == []
    for name in ("novel", f"../../{ada.id}/codex/novel", str(tree)):
        assert "error" in use(others, "codex_read", workspace=name, path="ch/1.md")
        assert "error" in use(others, "codex_create", workspace="mine", source=name)
    for path in ("../../../secret", ".git/hooks/post-commit", "/etc/passwd", ".GIT/config", "git~1/config"):
        assert use(talk, "codex_write", workspace="novel", path=path, text="x")["error"]["code"] == "codex_unsafe_path"


def test_open_webuis_own_skills_are_seen_by_those_who_may(live: Live, ada: Client, lea: Client) -> None:
    form = {"id": "native-tea", "name": "Native tea", "description": "Brews tea.", "content": "Boil water first."}
    grant = {"principal_type": "user", "principal_id": ada.id, "permission": "read"}
    live.admin.post("/api/v1/skills/create", form | {"access_grants": [grant]})
    try:
        assert [entry["source"] for entry in use(talk_of(live, ada), "search_skill", query="tea")] == ["open-webui"]
        assert "Boil water" in use(talk_of(live, ada), "read_skill", name="native-tea")["text"]
        assert use(talk_of(live, lea), "search_skill", query="tea") == []
        assert "error" in use(talk_of(live, lea), "read_skill", name="native-tea")
    finally:
        live.admin.delete("/api/v1/skills/id/native-tea/delete")


def test_api_callers_who_choose_no_tools_get_those_of_the_model(live: Live, ada: Client) -> None:
    def tools_of(question: str, **chosen: str) -> set[str]:
        """The tools that Gemini was told of for a question over the API."""
        body = {"model": ECHO_MODEL_ID, "messages": [{"role": "user", "content": question}], "stream": False}
        answer = ada.post("/api/chat/completions", body | chosen)
        assert answer["choices"][0]["message"]["content"]
        sent = next(request for request in live.sim.requests("streamGenerateContent") if question in request["body"])
        groups = json.loads(sent["body"]).get("tools", [])
        return {tool["name"] for group in groups for tool in group.get("functionDeclarations", [])}

    assert {"codex_workspaces", "search_skill"} <= tools_of("What can I use?")
    assert not {"codex_workspaces", "search_skill"} & tools_of("What without tools?", tool_choice="none")
