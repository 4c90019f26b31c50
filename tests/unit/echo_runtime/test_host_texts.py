"""What Open WebUI adds to its system message is found beside the instructions, by name, and nothing is told twice."""

from typing import Any

import pytest

from echo_runtime.host_texts import MAX_HOST_CHARS, host_texts

SKILL = '<skill id="tea" name="Tea">\nBoil water.\n<skill-like>\nSupporting files:\na.md\n</skill>'
TERMINAL = '<skill name="deploy">\nPush.\n<directory>/x</directory>\n</skill>'
LISTED = "<available_skills>\n<skill>\n<id>a</id>\n</skill>\n</available_skills>"
MCP = 'MCP server "lab \\"1\\"" instructions:\nUse shout.\n\nSparingly.'
MEMORY = "<memory_context>\n[User Memory]\n- sails\n</memory_context>"


def texts(system: str, *templates: str, terminal: str = "", user: str = "Hello") -> dict[str, str]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    body = {"messages": [*messages, {"role": "user", "content": user}]}
    return host_texts(body, {"terminal_id": terminal}, templates)


def test_each_kind_is_named_and_the_rest_is_one_text() -> None:
    system = "\n".join(["Model.", "Folder.", "Mine.", MEMORY, "By a plugin.", SKILL, TERMINAL, LISTED, MCP, SKILL])
    assert texts(system, "Model.", "Folder.", "Mine.") == {
        "skill:tea": SKILL,
        "skill:terminal:deploy": TERMINAL,
        "available_skills": LISTED,
        'mcp:lab "1"': MCP,
        "text": "By a plugin.",
    }


@pytest.mark.parametrize(
    "system", ["", "Mine.", f"Model.\nMine.\n{MEMORY}", "Mine.\n[CONVERSATION SUMMARY]\nThey met."]
)
def test_where_nothing_was_added_there_is_nothing(system: str) -> None:
    templates = ["Mine.", "Model."] if "Model." in system else ["Mine."] if system else []
    assert texts(system, *templates) == {}


def test_two_servers_follow_each_other() -> None:
    other = 'MCP server "b" instructions:\nB.'
    assert texts(f"{MCP}\n{other}\n{LISTED}") == {'mcp:lab "1"': MCP, "mcp:b": other, "available_skills": LISTED}


def test_a_variable_filled_in_otherwise_is_still_the_instructions() -> None:
    assert texts("Now 10:05 AM, be brief.\nAdded.", "Now {{CURRENT_TIME}}, be brief.") == {"text": "Added."}


def test_instructions_that_are_not_found_are_never_told_again_as_somebody_elses() -> None:
    assert texts(f"Changed by a plugin.\n{SKILL}", "Mine.") == {"skill:tea": SKILL}


def test_the_terminals_own_instructions_are_found_where_a_terminal_is_chosen() -> None:
    assert texts("", terminal="t", user="# AGENTS.md\n\nBe safe.") == {"AGENTS.md": "# AGENTS.md\n\nBe safe."}
    assert texts("", user="# AGENTS.md\n\nBe safe.") == {}


def test_a_text_of_any_length_is_cut() -> None:
    [text] = texts("x" * (MAX_HOST_CHARS + 9)).values()
    assert len(text) < MAX_HOST_CHARS + 9
    assert text.endswith("\n…")
