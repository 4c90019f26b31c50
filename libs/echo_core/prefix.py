"""Why a request may begin with other bytes than the one before it."""

from enum import StrEnum


class PrefixBreak(StrEnum):
    """A reason, as it is logged and counted. Source: docs/design.md section 5, Prefix."""

    EDIT = "edit"
    DELETE = "delete"
    BRANCH = "branch"
    COLD_RECOVERY = "cold_recovery"
    SCOPE = "scope"
    LEVEL = "level"
    TOOL_SELECTION = "tool_selection"
    FIRST_TOOLS = "first_tools"
    SECOND_WRITER = "second_writer"
    COMPACTION = "compaction"
    CHECKPOINT_EDIT = "checkpoint_edit"
    FORGOTTEN = "forgotten"
