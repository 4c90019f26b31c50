"""The exit codes are an interface: the page, the table and the error tree must agree."""

import re
from pathlib import Path

from echo_cli._exit_codes import MEANINGS, ExitCode, exit_code_of
from echo_cli._ports import PortBusyError
from echo_constants import AuthError, EchoError, LimitError, ModelFeedbackError, StateError, UpstreamError
from echo_prompts import PromptRefusedError, UnknownPromptError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "echoctl.md"


def test_the_page_shows_exactly_the_table() -> None:
    rows = re.findall(r"^\| `(\d+)` \| (\w+) \| (.+) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(str(int(code)), code.name, text.en, text.fr) for code, text in MEANINGS.items()]
    assert set(MEANINGS) == set(ExitCode)


def test_an_error_ends_with_the_code_of_its_branch_unless_it_names_one() -> None:
    assert exit_code_of(AuthError()) is ExitCode.AUTH
    assert exit_code_of(LimitError()) is ExitCode.LIMIT
    assert exit_code_of(StateError()) is ExitCode.STATE
    assert exit_code_of(UpstreamError()) is ExitCode.UPSTREAM
    assert exit_code_of(PortBusyError()) is ExitCode.PORT_BUSY
    assert exit_code_of(PromptRefusedError()) is exit_code_of(UnknownPromptError()) is ExitCode.CONFIG
    assert exit_code_of(EchoError()) is exit_code_of(ModelFeedbackError()) is ExitCode.INTERNAL
